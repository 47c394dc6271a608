"""Ranking: which unit a message is of, and what of a context is kept longest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.content.calls import Calls
from ctxkit.core.item_names import Name
from ctxkit.cut.rank.ranking import Ranking
from ctxkit.cut.trim_plan import TrimRank
from tests.cli.runner import lines
from tests.cut.test_trim import opened, step

AGENTS = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
REMINDER = "<system-reminder>\nThe date has changed.\n</system-reminder>"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def ranks(log: Log, keep: int = 5) -> dict[Name, TrimRank]:
    calls = Calls(log, log.names())
    units = Ranking(log, calls, keep).units(dict.fromkeys(log.names(), 1))
    return {name: unit.rank for unit in units for name in unit.names}


def groups(log: Log) -> list[list[Any]]:
    return Ranking(log, Calls(log, log.names()), 5).groups


def of(found: dict[Name, TrimRank], rank: TrimRank) -> list[Name]:
    return [name for name, one in found.items() if one == rank]


def test_what_is_never_given_up() -> None:
    """The system prompt, instructions in whatever role and place, what is protected with its step, the current task."""
    rows: Iterable[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."}, user("First."), said("Yes."), user(AGENTS),
        {"role": "developer", "content": "Use spaces."}, *step(1, "bash", {}, "ok"), user("Mend it."), said("Done."),
        user(REMINDER), said("Noted."),
    ]  # fmt: skip
    log = opened(lines(*rows))
    log.protect("7")
    found = ranks(log)
    assert of(found, TrimRank.SYSTEM) == [1] and of(found, TrimRank.PROTECTED) == [2, 6, 7]
    assert of(found, TrimRank.INSTRUCTION) == [4, 5] and of(found, TrimRank.TASK) == [8]
    assert of(found, TrimRank.LATEST) == [3, 9, 10] and of(found, TrimRank.ANSWER) == [11]


@pytest.mark.parametrize(
    "after",
    [
        user(REMINDER),
        user(AGENTS),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c9", "content": "ok"}]},
        user("[Request interrupted by user]"),
        {"role": "tool", "tool_call_id": "c9", "content": "ok"},
    ],
)
def test_the_current_task_is_what_somebody_asked(after: dict[str, Any]) -> None:
    """Not a result, a reminder or instructions that came later in the user's role."""
    call = {"id": "c9", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    log = opened(lines(user("First."), said("Yes."), user("Mend it."), said("", tool_calls=[call]), after))
    assert of(ranks(log), TrimRank.TASK) == [3]


def test_the_task_that_an_edit_brought_in() -> None:
    """A literal is a message like any other; a summary is never the task."""
    log = opened(lines(user("First."), said("Yes."), user("Mend it.")))
    op = {"ctxkit": "edit", "v": 1, "id": "e1", "ts": "2026-02-01T10:00:00Z", "at": {"messages": 3},
          "items": [{"n": 1}, {"n": 2}, {"message": user("Mend all of it."), "from": 3}]}  # fmt: skip
    log = opened(lines(user("First."), said("Yes."), user("Mend it."), op))
    assert [str(name) for name in of(ranks(log), TrimRank.TASK)] == ["e1.3"]
    op = {"ctxkit": "compact", "v": 1, "id": "e2", "at": {"messages": 4}, "ids": "2-3", "text": "What was said."}
    log = opened(lines(user("First."), said("Yes."), user("Mend it."), said("Done."), op))
    found = ranks(log)
    assert of(found, TrimRank.TASK) == [] and [str(name) for name in of(found, TrimRank.SUMMARY)] == ["e2.1"]


def test_steps_that_an_edit_brought_in() -> None:
    """A call and its result are one unit, whoever brought either of them in."""
    call, result = step(1, "bash", {}, "ok")
    rows = [user("Go."), call, result, said("Done.")]
    both = {"ctxkit": "edit", "v": 1, "id": "e1", "at": {"messages": 4}, "ts": "2026-02-01T10:00:00Z",
            "items": [{"n": 1}, {"message": call}, {"message": result}, {"n": 4}]}  # fmt: skip
    one = {**both, "items": [{"n": 1}, {"message": call, "from": 2}, {"n": 3}, {"n": 4}]}
    for op in (both, one):
        assert [len(group) for group in groups(opened(lines(*rows, op)))] == [1, 2, 1]


def test_parallel_calls_are_one_unit() -> None:
    """With all their results, also where something stands between."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "bash", "arguments": "{}"}} for n in (1, 2)]
    answers = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in (1, 2)]
    log = opened(lines(user("Go."), said("", tool_calls=calls), answers[0], user(REMINDER), answers[1], said("Done.")))
    assert groups(log) == [[1], [2, 3, 5], [4], [6]]


def test_a_call_that_stands_twice() -> None:
    """Copies of a history, which take turns: a result is of the step of the log, and answers the nearest call."""
    call, result = step(1, "bash", {}, "ok")
    op = {"ctxkit": "restore", "v": 1, "id": "r1", "at": {"messages": 4}, "ts": "2026-02-01T10:00:00Z",
          "mode": "append", "items": [{"message": call}, {"n": 3}]}  # fmt: skip
    assert [len(group) for group in groups(opened(lines(user("Go."), call, result, said("Done."), op)))] == [1, 3, 1]


def test_what_a_command_printed_is_of_the_step() -> None:
    """Where an agent has no tools but words: as mini-swe-agent marks outputs, and as SWE-agent records actions."""
    printed = "<returncode>0</returncode>\n<output>\nok\n</output>"
    mini = lines(user("Go."), said("```bash\nls\n```"), user(printed), said("```bash\nmake\n```"), user(printed))
    assert groups(opened(mini)) == [[1], [2, 3], [4, 5]]
    swe = lines(user("Go."), said("Let us look.", action="ls", thought="Let us look."), user("a.py"), said("So."))
    assert groups(opened(swe)) == [[1], [2, 3], [4]]
    assert of(ranks(opened(swe)), TrimRank.TASK) == []  # the first message, which is protected


def test_files_being_edited() -> None:
    """Written in the newest 30 steps: what was read of them last, and all since; no other file."""
    rows = [user("Go.")]
    rows += step(0, "Write", {"file_path": "old.py", "content": "x"}, "ok")
    for n in range(1, 39):
        rows += step(n, "bash", {"command": "make"}, "ok")
    rows += step(39, "Read", {"file_path": "a.py"}, "an older text")
    rows += step(40, "Read", {"file_path": "a.py"}, "text")
    rows += step(41, "Read", {"file_path": "b.py"}, "text")
    rows += step(42, "Edit", {"file_path": "a.py"}, "ok")
    rows += step(43, "bash", {"command": "make"}, "ok")
    log = opened(lines(*rows))
    assert of(ranks(log), TrimRank.EDITED) == [82, 83, 86, 87]


def test_files_being_edited_by_exchange() -> None:
    """Written in the newest 5 exchanges, however many steps ago that is."""
    rows: list[dict[str, Any]] = []
    for n in range(7):
        rows += [user(f"Go {n}."), *step(n, "Write", {"file_path": f"{n}.py", "content": "x"}, "ok")]
        rows += [one for k in range(20) for one in step(100 * n + k + 50, "bash", {}, "ok")]
    found = of(ranks(opened(lines(*rows))), TrimRank.EDITED)
    assert found == [n * 43 + k for n in range(2, 7) for k in (2, 3)]


def test_old_exchanges_and_the_latest() -> None:
    """The newest `keep` of them; what stands before the first is old."""
    log = opened(lines(said("Hello."), *(one for n in range(4) for one in (user(f"{n}?"), said(f"{n}.")))))
    found = ranks(log, keep=2)
    assert of(found, TrimRank.EXCHANGE) == [2, 3, 4, 5] and of(found, TrimRank.LATEST) == [6, 7]
    assert of(found, TrimRank.TASK) == [8] and of(found, TrimRank.ANSWER) == [9]


def test_the_newest_step_and_the_last_answer() -> None:
    """The model's newest words without a call, whatever came after them, and its newest step."""
    call, result = step(1, "bash", {}, "ok")
    talk = [user("Go."), said("Yes."), said("So be it."), user("Now.")]
    for rows, answer, newest in (
        ([*talk, call, result], [3], [5, 6]), ([*talk, call, result, said(" ")], [3], [7]),
        ([*talk, call, result, said("Done."), user(REMINDER)], [7], []), (talk[:2], [2], []),
        ([user("Go."), call, result], [], [2, 3]), ([user("Go.")], [], []),
    ):  # fmt: skip
        found = ranks(opened(lines(*rows)))
        assert (of(found, TrimRank.ANSWER), of(found, TrimRank.STEP)) == (answer, newest)


def test_a_step_that_a_window_shows_in_part_stays() -> None:
    """It could leave in part only."""
    call, result = step(1, "bash", {}, "ok")
    rows = [
        user("Go."),
        said("Hm."),
        {**call, "agent": "one"},
        {**result, "agent": "two"},
        said("Done."),
        user("More."),
    ]
    log = opened(lines(*rows))
    log.lens_agent = "one"
    assert of(ranks(log), TrimRank.PROTECTED) == [1, 3]
