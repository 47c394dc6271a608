"""The independent scorers, on small sessions that are made up."""

from __future__ import annotations

import ast
import sys

import pytest

from ctxkit.core.messages import Call, Content, Result, Text
from tests.bench.compaction import honest
from tests.bench.compaction.honest import Said, common, facts, failing, items, kept, later, recall, said
from tests.shared import HERE


def test_shares_nothing_with_the_selector() -> None:
    """It imports nothing of ours: only what Python has."""
    tree = ast.parse((HERE / "bench/compaction/honest.py").read_text(encoding="utf-8"))
    modules = {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/deep/in/here/load_rows.go:12", {("path", "in/here/load_rows.go"), ("name", "load_rows")}),
        (r"C:\work\site\theme.json", {("path", "work/site/theme.json")}),
        ("ValueError at v1.2.3, commit 3f9a1bc, ENT-96", {("code", "ValueError"), ("name", "ValueError"),
         ("figure", "v1.2.3"), ("figure", "3f9a1bc"), ("figure", "ENT-96")}),
        ("parseRows --dry-run", {("name", "parseRows"), ("name", "--dry-run")}),
        ("Go on. A sentence, e.g. this one.", set()),
    ],
)  # fmt: skip
def test_items(text: str, found: set[honest.Item]) -> None:
    """Paths by their last three components, names, figures and codes."""
    assert items(text) == found


def test_needed_before_it_is_shown() -> None:
    """What the agent writes again counts; what a result showed before does not; lines are those of arguments."""
    prefix = [
        Said("call", 0, "def load_rows(path):\n    return read_all(path)", "new_string"),
        Said("result", 1, "merge_rows"),
    ]
    suffix = [
        Said("result", 0, "here is merge_rows"), Said("agent", 1, "merge_rows and load_rows"),
        Said("call", 1, "    return read_all(path)\nelse", "new_string"),
    ]  # fmt: skip
    found = later(prefix, suffix)
    assert {item[1] for item in found.items} == {"load_rows", "read_all"}
    assert found.lines == []  # too short to be a line that somebody writes again by memory
    longer = "    return read_all(path, encoding)"
    again = later(
        [Said("call", 0, longer, "new_string")], [Said("agent", 0, longer), Said("call", 1, longer, "new_string")]
    )
    assert again.lines == [longer.strip()]


def test_recall_needs_the_line() -> None:
    """A name by itself is not kept in its context, a path is."""
    prefix = [Said("agent", 0, "we call load_rows with the whole page\nsrc/a/page.go")]
    asked = later(prefix, [Said("agent", 0, "load_rows in src/a/page.go")])
    nothing: frozenset[honest.Item] = frozenset()
    assert recall(asked, nothing, "load_rows\nsrc/a/page.go")[0] == (1, 2)
    assert recall(asked, nothing, "we call load_rows with the page\nsrc/a/page.go")[0] == (2, 2)
    assert recall(asked, nothing, "preload_rows_now with the whole page we call")[0] == (0, 2)
    assert recall(asked, frozenset(items("load_rows")), "src/a/page.go")[0] == (1, 1)
    assert recall(honest.paths(asked), nothing, "we call load_rows with the page\npage.go")[0] == (0, 1)


@pytest.mark.parametrize(
    "line",
    [
        "--- FAIL: TestLoad (0.00s)", "FAIL\texample.org/pkg 0.1s", "(fail) rows > merge [2ms]",
        "    Error Trace: a_test.go:12", "panic: runtime error: index", "a.go:12:3: undefined: rows",
        "src/a.ts(3,4): error TS2345: no", "E       assert 1 == 2", "FAILED tests/test_a.py::test_b - assert",
        "error[E0308]: mismatched types", "make: *** [all] Error 2", "Exit code 1", "        expected: 12",
    ],
)  # fmt: skip
def test_failures(line: str) -> None:
    """Lines of many runners."""
    assert failing(f"ok  example.org/other 0.1s\nall is well here\n{line}") == [line.strip()]


def test_last_run_counts() -> None:
    """What a later run of the command passed is no open error, but still an error."""

    def run(at: int, output: str) -> list[Said]:
        return [Said("call", at, "go test ./...", "command"), Said("result", at + 1, output)]

    found = facts([*run(0, "--- FAIL: TestA (0.00s)"), *run(2, "ok  example.org/pkg 0.1s")])
    assert found["errors"] == ["--- FAIL: TestA (0.00s)"] and found["open errors"] == []
    found = facts([*run(0, "ok  example.org/pkg 0.1s"), *run(2, "--- FAIL: TestA (0.00s)")])
    assert found["open errors"] == ["--- FAIL: TestA (0.00s)"]
    assert kept(found, "FAIL: TestA (0.00s)")["open errors"] == (1, 1)
    assert kept(found, "FAIL: TestB here")["open errors"] == (0, 1)


def test_texts_of_messages() -> None:
    """Who said what; line numbers that a tool added are left out."""
    some = [
        Content("assistant", [Text("I read"), Call("1", "Read", {"file_path": "/a.go", "limit": 3})]),
        Content("tool", [Result("1", "  1→package a\n  2→\n", is_error=True)]),
    ]
    assert said(some) == [
        Said("agent", 0, "I read"), Said("call", 0, "/a.go", "file_path", tool="Read"),
        Said("call", 0, "3", "limit", tool="Read"), Said("result", 1, "package a\n\n", "", True, "Read"),
    ]  # fmt: skip


def test_what_all_have_in_common() -> None:
    """An item of three repositories says nothing of any."""
    held = [(name, [Said("agent", 0, "load_rows " + name)]) for name in ("one_place", "two_places", "three_places")]
    assert common(held) == {("name", "load_rows")}
