"""The heads of a line: of a diff its file and hunk, of a list the line above it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.content.line_heads import LONGEST, DiffLine, LineHeads

GIT = """\
On branch main
diff --git a/src/rows.py b/src/rows.py
index 1f2e3d4..5a6b7c8 100644
--- a/src/rows.py
+++ b/src/rows.py
@@ -10,3 +10,4 @@ def load():
 rows = []
-rows.sort()
+rows.sort(key=order)
+check(rows)

@@ -40 +41 @@ def save():
--- a list in markdown
+++ a list in markdown
diff --git a/b.py b/b.py
deleted file mode 100644
done"""
PATCH = """\
*** Begin Patch
*** Update File: src/rows.py
@@ def load():
 rows = []
--- of SQL
+rows.sort(key=order)
*** Add File: src/order.py
+def order(row): ...
*** End Patch
done"""


def roles(text: str, *, is_change: bool = False) -> list[str]:
    """What each line is to a diff, with the numbers of its heads."""
    reader = LineHeads(text, is_change=is_change)
    found, number = [], 0
    for line in text.split("\n"):
        role, heads = reader.read(line, number + 1)
        number += bool(line.strip())
        found.append(" ".join([role.name.lower(), *(str(head) for head, _ in heads)]))
    return found


def test_a_diff_of_git() -> None:
    """Lines of a hunk are counted, so that they may look like anything; a blank one without its sign counts too."""
    assert roles(GIT) == [
        "none", "file 2", "noise", "noise", "noise", "hunk 2 6", "same 2 6", "old 2 6", "new 2 6", "new 2 6",
        "same 2 6", "hunk 2 11", "old 2 11", "new 2 11", "file 14", "noise", "none",
    ]  # fmt: skip


def test_a_patch_of_codex() -> None:
    assert roles(PATCH) == [
        "noise", "file 2", "hunk 2 3", "same 2 3", "old 2 3", "new 2 3", "file 7", "new 7", "noise", "none",
    ]  # fmt: skip


def test_what_follows_a_diff_is_no_part_of_it() -> None:
    """Failures of go, what `set -x` prints, a row of signs: they name a file only between its head and its hunk."""
    after = ["--- FAIL: TestMerge (0.00s)", "    m_test.go:3: got 1, want 2", "+++ ls", "=" * 70, "-5 rows"]
    text = "\n".join(
        ["diff --git a/x b/x", "index 1..2 100644", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b", *after]
    )
    assert roles(text)[7:] == ["none"] * 5


def test_diffs_of_other_programs() -> None:
    """The line of the new file is the head, where no other line is."""
    text = "--- a.py\t2026\n+++ a.py\t2026\n@@ -1 +1 @@\n-a\n+b\n--- c.py\t2026\n+++ c.py\t2026\n@@ -1 +1 @@\n-a\n+b"
    assert roles(text) == [
        "noise", "file 2", "hunk 2 3", "old 2 3", "new 2 3", "none", "file 7", "hunk 7 8", "old 7 8", "new 7 8",
    ]  # fmt: skip


def test_all_of_a_patch_is_read() -> None:
    """A file that moves, or ends; a file that is removed is one more."""
    moved = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ f\n-x\n+y\n*** End of File"
    assert roles(f"{moved}\n*** Delete File: c\n*** End Patch", is_change=True) == [
        "noise", "file 2", "noise", "hunk 2 4", "old 2 4", "new 2 4", "noise", "file 8", "noise",
    ]  # fmt: skip


def test_ends_of_lines_of_windows() -> None:
    assert roles("@@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+c\r\n\\ No newline at end of file\r\nend")[1:] == [
        "same 1", "same 1", "old 1", "new 1", "noise", "none",
    ]  # fmt: skip


def test_a_line_of_blanks_takes_linear_time() -> None:
    began = time.process_time()
    reader = LineHeads("", is_prose=True)
    for _ in range(20):
        reader.read(" " * 100_000 + "x", 1)
    assert time.process_time() - began < 2


def test_the_file_of_a_call_is_in_its_heading() -> None:
    """One file of a patch is no head again; of two each is."""
    one = PATCH.replace("*** Add File: src/order.py\n", "")
    assert roles(one, is_change=True)[1:4] == ["file", "hunk 3", "same 3"]
    assert roles(PATCH, is_change=True)[1] == "file 2"


@pytest.mark.parametrize("text", ["a = b\n- c\n+ d", "- one\n- two", "--- a\n+++ b", "x @@ -1 +1 @@"])
def test_signs_alone_make_no_diff(text: str) -> None:
    assert set(roles(text)) == {"none"}


def test_a_hunk_ends_where_its_lines_do() -> None:
    assert roles("@@ -1,2 +1,2 @@\n-a\n+b\nNo more.\n- an item") == ["hunk 1", "old 1", "new 1", "none", "none"]


LIST = """\
## Next steps

- the order of the rows
- the tests:
  - of the merge
  - of the lock
    with two writers
1. the docs
Done so far.
- without a head"""


def test_a_list_has_the_line_above_it() -> None:
    """An item under an item has that one. A line between two lists ends the first."""
    reader = LineHeads(LIST, is_prose=True)
    found, number = [], 0
    for line in LIST.split("\n"):
        _, heads = reader.read(line, number + 1)
        number += bool(line.strip())
        found.append([text.strip() for _, text in heads])
    top, tests = ["## Next steps"], ["- the tests:"]
    assert found == [top, [], top, top, tests, tests, [], top, [], []]


def test_a_long_line_is_no_head() -> None:
    reader = LineHeads("", is_prose=True)
    assert reader.read("x" * LONGEST + ":", 1)[1] == () and reader.read("- item", 2)[1] == ()


def test_what_has_neither_is_not_read() -> None:
    assert not LineHeads("a\n- b").is_needed and LineHeads(GIT).is_needed


LINES = st.sampled_from(["@@ -1,2 +1,3 @@", "-a", "+b", " c", "", "diff --git a/x b/x", "*** Begin Patch",
    "*** Update File: x", "@@", "@@ f", "- item", "Head:", "  - inner", "--- a/x", "+++ b/x", "text"])  # fmt: skip


@given(st.lists(LINES | st.text(max_size=20), max_size=30), st.booleans(), st.booleans())
def test_heads_stand_above_and_are_lines_of_the_text(lines: list[str], is_prose: bool, is_change: bool) -> None:
    """In order, none below its line, each word for word."""
    lines = [line.replace("\n", " ") for line in lines]
    reader = LineHeads("\n".join(lines), is_prose=is_prose, is_change=is_change)
    there: dict[int, str] = {}
    for line in lines:
        number = len(there) + 1
        role, heads = reader.read(line, number)
        if line.strip():
            there[number] = line.rstrip()
        elif role != DiffLine.NONE:
            heads = tuple(head for head in heads if head[0] != number)
        assert [number for number, _ in heads] == sorted({number for number, _ in heads})
        assert all(there.get(number) == text for number, text in heads)
