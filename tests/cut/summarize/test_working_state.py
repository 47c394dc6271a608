"""The present of a session: the newest search, the working tree."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call, Content, Result
from ctxkit.cut.summarize.tasks import MadeCall, TaskReader
from ctxkit.cut.summarize.working_state import WorkingState
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, all_pieces

Step = tuple[str, dict[str, Any], str]
"""A tool, its arguments, and its result."""


def said(*steps: Step, covered: Names | None = None) -> list[str]:
    """What is said of the present behind these calls. Step n is messages 2n - 1 and 2n."""
    messages: list[tuple[Name, Content]] = []
    for n, (tool, given, result) in enumerate(steps, start=1):
        messages.append((2 * n - 1, Content("assistant", [Call(f"c{n}", tool, given)])))
        messages.append((2 * n, Content("tool", [Result(f"c{n}", result, is_error=result.startswith("Error"))])))
    state, reader = WorkingState(), TaskReader()
    for place, piece in enumerate(all_pieces(messages)):
        if piece.is_script and piece.kind == SegmentKind.INPUT:
            state.starts(piece.text)
        if (call := reader.add(place, piece)) is not None:
            state.add(call)
    whole = Names.of({name for name, _ in messages}) if covered is None else covered
    return [line for part in state.lines(whole, lambda name: f"#{name}") for line in part]


def bash(command: str, result: str) -> Step:
    """A call of a shell."""
    return "Bash", {"command": command}, result


HITS = "src/cart.py:12: def total\nsrc/cart.py:40: total()\ndocs/cart.md:3: total"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([("Grep", {"pattern": "total"}, HITS)], "#2 total → src/cart.py:12,40, docs/cart.md:3"),
        ([bash("cd shop && rg -n total", HITS)], "#2 cd shop && rg -n total → src/cart.py:12,40, docs/cart.md:3"),
        (
            [("Grep", {"pattern": "a"}, "a.py:1: x"), ("Glob", {"pattern": "*.md"}, "a.md\nb.md")],
            "#4 *.md → a.md, b.md",
        ),
        ([("Grep", {"pattern": "a"}, "a.py:1: x"), ("Grep", {"pattern": "b"}, "No matches found")], None),
        ([("Grep", {"pattern": "a"}, "a.py:1: x"), bash("git log && grep b a.py", "c.py:1: b")], None),
        ([("Grep", {"pattern": "a"}, "a.py:1: x\n.git/hooks/commit-msg:3: x")], "#2 a → a.py:1"),
        ([("Grep", {"pattern": "a" * 70}, "a.py:1: x")], f"#2 {'a' * 60} … → a.py:1"),
        ([("Grep", {"pattern": "a"}, "\n".join(f"f{n}.py:1: x" for n in range(99)))], None),
        ([bash("pytest -q", HITS)], None),
    ],
)
def test_search(steps: list[Step], line: str | None) -> None:
    """The newest one with hits, all its places; a long list is no list that somebody works through."""
    found = [one for one in said(*steps) if one.startswith("Found")]
    assert found == ([] if line is None else [f"Found last: {line}"])


def test_the_working_tree() -> None:
    """Branch, last commit, pull request, and what is changed since; a commit ends the list."""
    status = bash("git status", "On branch fix/cart\nChanges not staged for commit:\n\tmodified:   src/cart.py\n\n"
                  "Untracked files:\n  (use \"git add\")\n\tnew.py\n")  # fmt: skip
    assert said(status) == ["Working tree: branch fix/cart #2", "Git status: modified src/cart.py, ?? new.py #2"]
    short = bash("git status -sb", "## main...origin/main\n M a.py\n?? b.py")
    assert said(short) == ["Working tree: branch main #2", "Git status: M a.py, ?? b.py #2"]
    commit = bash("git commit -qam x && git push", "[fix/cart 1a2b3c4] Mend the cart\n 1 file changed")
    assert said(status, commit)[0] == "Working tree: branch fix/cart #4; last commit 1a2b3c4 Mend the cart #4"
    for moved in ("git reset --soft HEAD~1", "git rebase main", "git pull --rebase"):
        assert said(commit, bash(moved, "done")) == ["Working tree: branch fix/cart #2"]
    pushed = bash("git push", "   84d24cc0..343d64a8  fix/cart -> fix/cart")
    assert said(commit, bash("git rebase main", "done"), pushed)[0] == (
        "Working tree: branch fix/cart #2; last commit 343d64a8 fix/cart #6"
    )
    assert said(short, bash("git stash", "")) == ["Working tree: branch main #2"]
    pull = bash("gh pr create --fill", "https://github.com/o/r/pull/7\n")
    assert said(pull)[0] == "Working tree: https://github.com/o/r/pull/7 #2"
    assert said(bash("git checkout -b next", "Switched")) == ["Working tree: branch next #2"]
    assert said(bash("git checkout -- a.py", "")) == []


def test_places_in_a_file_that_is_edited_since() -> None:
    """They may be others now."""
    state = WorkingState()
    state.add(MadeCall(1, 0, {"pattern": "total"}, TextSegment(2, SegmentKind.RESULT, HITS, "Grep")))
    state.edits("/work/other.py")
    assert [*state.lines(Names.of({1, 2}), str)]
    state.edits("/work/src/cart.py")
    assert not [*state.lines(Names.of({1, 2}), str)]


def test_another_checkout() -> None:
    """What is known is of the checkout in which git ran last, which is named if a call names it."""
    one = bash("cd /w/one && git commit -qam x", "[fix/cart 1a2b3c4] Mend the cart")
    other = "Bash", {"command": "git status -sb", "workdir": "/w/other"}, "## main...origin/main"
    assert said(one) == ["Working tree /w/one: branch fix/cart #2; last commit 1a2b3c4 Mend the cart #2"]
    assert said(one, other) == ["Working tree /w/other: branch main #4"]
    pushed = bash("git -C /w/one push", "   84d24cc..1a2b3c4  fix/cart -> fix/cart")
    assert said(one, pushed) == ["Working tree /w/one: branch fix/cart #2; last commit 1a2b3c4 Mend the cart #2"]


def test_only_what_is_covered() -> None:
    """What a message says that stays in the context is not said again."""
    steps = [bash("git checkout main", "Switched to branch 'main'"), ("Grep", {"pattern": "total"}, HITS)]
    assert said(*steps, covered=Names.of({1, 2})) == ["Working tree: branch main #2"]
    assert said(*steps, covered=Names.of({3, 4})) == ["Found last: #4 total → src/cart.py:12,40, docs/cart.md:3"]
