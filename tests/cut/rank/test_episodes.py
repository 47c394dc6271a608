"""Episodes: which steps are done with, by what calls do and how runs end."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.item_names import Name
from ctxkit.core.strategies import EPISODES
from ctxkit.cut.trim import Trimming, TrimRequest
from ctxkit.cut.trim_plan import TrimRank
from ctxkit.errors import Usage
from tests.cli.runner import lines
from tests.cut.test_trim import opened, run, step

Rows = list[dict[str, Any]]
GREEN, RED = "12 passed in 0.1s", "E   ValueError: no\nFAILED tests/test_a.py::test_b"
numbers = itertools.count()


def asks(text: str) -> Rows:
    return [{"role": "user", "content": text}]


def says(text: str) -> Rows:
    return [{"role": "assistant", "content": text}]


def edit(path: str) -> Rows:
    n = next(numbers)
    return step(n, "Edit", {"file_path": path, "old_string": f"{n}", "new_string": f"{n}{n}"}, "The file was updated.")


def read(path: str) -> Rows:
    return step(next(numbers), "Read", {"file_path": path}, "def it(): ...\n" * 9)


def ran(result: str, *more: str) -> Rows:
    return step(next(numbers), "Bash", {"command": " ".join(("pytest -q", *more))}, result)


def todo(*status: str) -> Rows:
    some = [{"content": f"Do {n}", "status": one} for n, one in enumerate(status)]
    return step(next(numbers), "TodoWrite", {"todos": some}, "ok")


def later(path: str = "other.py") -> Rows:
    """So many steps that no file from before counts as being edited."""
    return asks("Go on.") + [row for n in range(32) for row in step(next(numbers), "Glob", {"pattern": f"{n}"}, path)]


def ranked(*parts: Rows) -> tuple[Log, dict[TrimRank, list[Name]]]:
    log = opened(lines(*asks("Begin."), *says("Yes."), *(row for part in parts for row in part)))
    found: dict[TrimRank, list[Name]] = {}
    for unit in Trimming(log, TrimRequest(10, strategy=EPISODES)).units:
        found.setdefault(unit.rank, []).extend(unit.names)
    return log, found


def finished(*parts: Rows) -> list[Name]:
    return ranked(*parts)[1].get(TrimRank.FINISHED, [])


def test_what_was_edited_and_passed_is_finished() -> None:
    """The steps, whole; what was asked and said stays with the others."""
    _, found = ranked(asks("Mend a.py."), read("a.py"), edit("a.py"), ran(GREEN), says("Done."), later())
    assert found[TrimRank.FINISHED] == [4, 5, 6, 7, 8, 9]
    assert 3 in found[TrimRank.LATEST] and found[TrimRank.ANSWER] == [10]


def test_files_being_edited_stay() -> None:
    """The steps on them have the rank that they have by default, though the run passed."""
    _, found = ranked(asks("Mend it."), edit("a.py"), ran(GREEN), says("Done."), asks("Well."), says("Yes."))
    assert found[TrimRank.FINISHED] == [6, 7] and found[TrimRank.EDITED] == [4, 5]


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("nothing passed", [edit("a.py"), later()]),
        ("it passed before", [ran(GREEN), edit("a.py"), later()]),
        ("the run failed", [edit("a.py"), ran(RED), later()]),
        ("a task is open", [todo("in_progress"), edit("a.py"), ran(GREEN), later()]),
        ("nothing was edited", [read("a.py"), ran(GREEN), later()]),
        ("it is the newest", [later(), edit("a.py"), ran(GREEN)]),
    ],
)
def test_what_is_not_finished(what: str, parts: list[Rows]) -> None:
    assert finished(asks("Mend it."), *parts) == [], what


def test_a_failure_that_was_mended() -> None:
    """A later run of the same command supersedes it: one that failed first is finished with the edit that mended it."""
    assert len(finished(asks("Mend it."), edit("a.py"), ran(RED), edit("a.py"), ran(GREEN), later())) == 8


def test_what_was_written_over() -> None:
    """An episode whose files are edited again by a later one is finished without a run; the later one is not."""
    found = finished(asks("Mend it."), edit("a.py"), says("So."), asks("Again."), edit("a.py"), later())
    assert found == [4, 5]


def test_an_edit_that_failed_wrote_nothing() -> None:
    """So it writes nothing over."""
    failed = edit("a.py")
    failed[-1]["is_error"] = True
    assert finished(asks("Mend it."), edit("a.py"), says("So."), asks("Again."), failed, later()) == []


def test_a_run_that_passed_and_fails_again() -> None:
    """What it found right is not finished any more: the failure that is open now may be of that."""
    parts = asks("Mend it."), edit("a.py"), ran(GREEN), says("Done."), asks("Sure?"), ran(RED)
    assert finished(*parts, later()) == [] and finished(*parts, ran(GREEN), later()) != []


def test_a_task_that_was_done() -> None:
    """The newest list of tasks counts alone."""
    parts = asks("Mend it."), todo("in_progress"), edit("a.py"), ran(GREEN), todo("completed"), later()
    assert finished(*parts) == [4, 5, 6, 7, 8, 9]


def test_a_run_that_passed_ends_an_episode() -> None:
    """In one exchange: what comes after it is work of its own."""
    assert finished(asks("Mend it."), edit("a.py"), ran(GREEN), edit("b.py"), later()) == [4, 5, 6, 7]


def test_superseded() -> None:
    """A read of what is read again or edited later, a call that is made again, an older list of tasks."""
    look = step(next(numbers), "Bash", {"command": "git status"}, "clean")
    again = step(next(numbers), "Bash", {"command": "git status"}, "clean")
    _, found = ranked(read("a.py"), look, todo("pending"), read("a.py"), again, todo("completed"), says("So."), later())
    assert found[TrimRank.SUPERSEDED] == [3, 4, 5, 6, 7, 8]


def test_what_is_done_with_leaves_first() -> None:
    """Finished steps, then superseded ones, the oldest first, before any result is shortened; the reasons say so."""
    long = step(next(numbers), "Grep", {"pattern": "it"}, "a line of a result\n" * 200)
    parts = [long, asks("A."), edit("a.py"), ran(GREEN, "a"), asks("B."), edit("b.py"), ran(GREEN, "b"),
             read("c.py"), read("c.py"), later()]  # fmt: skip
    log, found = ranked(*parts)
    done = found[TrimRank.FINISHED] + found[TrimRank.SUPERSEDED]
    sizes = Trimming(log, TrimRequest(10)).tokens
    total, gone = sizes.total, 0
    for one, other in zip(done[::2], done[1::2], strict=True):
        gone += sizes[one] + sizes[other]
        op = log.trim(total - gone, strategy=EPISODES)
        assert op is not None and not op.stubs  # type: ignore[union-attr]
        assert {*map(int, op.reasons)} == {*done[: done.index(other) + 1]}  # type: ignore[union-attr]
        log.undo()
    assert {"finished, its effect is in the files", "superseded by a later step"} == {*op.reasons.values()}  # type: ignore[union-attr]
    op = log.trim(total - gone - 10, strategy=EPISODES)
    assert op is not None and op.stubs  # type: ignore[union-attr]


def test_where_nothing_is_done_with() -> None:
    """It is the default, to the byte of the op's cuts."""
    one, other = opened(run()), opened(run())
    found = [log.trim(9000, strategy=name) for log, name in ((one, "oldest"), (other, EPISODES))]
    assert found[0].reasons == found[1].reasons and found[0].stubs == found[1].stubs  # type: ignore[union-attr]


def test_protected_steps_stay() -> None:
    log, found = ranked(asks("Mend it."), edit("a.py"), ran(GREEN), later())
    log.protect("4")
    found = {}
    for unit in Trimming(log, TrimRequest(10, strategy=EPISODES)).units:
        found.setdefault(unit.rank, []).extend(unit.names)
    assert found[TrimRank.FINISHED] == [6, 7] and {4, 5} <= {*found[TrimRank.PROTECTED]}


def test_no_such_strategy() -> None:
    with pytest.raises(Usage, match="'newest' is not a strategy of trim"):
        TrimRequest(10, strategy="newest")
