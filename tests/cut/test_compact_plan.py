"""What a compact makes of a context, measured, on logs in memory."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.core.select import Selection
from ctxkit.core.strategies import OFFLINE
from ctxkit.cut.compact_plan import CompactGoal, CompactionPlan, plan_compact, whole
from ctxkit.cut.rank.candidates import KeptTail
from ctxkit.errors import NothingChanges
from tests.bench import logs
from tests.cli.runner import lines
from tests.cut.test_trim import run, step


def opened(raw: bytes) -> Log:
    return Log.open(io.BytesIO(raw), env={})


def condensing(log: Log, **wish: Any) -> CompactionPlan:
    return plan_compact(log, whole(log), CompactGoal(**{"percent": 30, "strategy": "truncate", **wish}))


def test_a_run_with_one_user_message_is_cut_at_steps() -> None:
    """System and task stay, and the newest steps as far as 30 % of the rest of the budget goes; no pair is split."""
    found = condensing(opened(run()))
    assert str(found.ids).startswith("3-") and found.ids.numbers.last() % 2 == 0
    tail = sum(unit.tokens for unit in found.units[found.tail :])
    assert 0 < tail <= 0.3 * found.goal < tail + found.units[found.tail - 1].tokens


@pytest.mark.full("300 steps")
def test_300_steps() -> None:
    """Compacted like any other session; the target is reached, and the newest steps are there, whole."""
    log = opened(run(300, 40))
    made = condensing(log, strategy="extract", percent=30).carry_out()
    names = made.seen.names()
    assert made.reached and 0.2 * made.before < made.after and names[:2] == [1, 2] and names[-1] == 602
    steps = [name for name in names[3:] if isinstance(name, int)]
    assert len(steps) > 12 and steps == list(range(steps[0], 603)) and steps[0] % 2


@pytest.mark.parametrize(("keep", "last"), [(KeptTail(0), 42), (KeptTail(None, 3), 36), (KeptTail(None, 0), 42)])
def test_what_is_kept_on_request(keep: KeptTail, last: int) -> None:
    """Newest steps whole, whatever their size."""
    assert str(condensing(opened(run()), keep=keep).ids) == f"3-{last}"


def test_the_newest_call_waits_for_its_result() -> None:
    """What comes in for it later must find it."""
    call = step(99, "bash", {"command": "make"}, "")[0]
    found = condensing(opened(run() + lines(call)), keep=KeptTail(0))
    assert str(found.ids) == "3-42"
    answered = opened(run() + lines(call, {"role": "user", "content": "stop"}, *step(100, "bash", {}, "x")))
    assert str(condensing(answered, keep=KeptTail(0)).ids) == "3-46"


def test_instructions_stay() -> None:
    """System messages wherever they stand, and what programs put into the user's role, as with trim."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": f"question {n} " * 20} for n in range(6)]
    rows[2] = {"role": "system", "content": "From now on be brief."}
    rows[4] = {"role": "user", "content": "<user_instructions>Use tabs.</user_instructions>"}
    assert str(condensing(opened(lines(*rows)), keep=KeptTail(0)).ids) == "2,4,6"


def test_an_earlier_summary_is_made_of_the_originals() -> None:
    """Never of its words; what was protected since is back, and counts among what stays."""
    log = opened(run())
    log.compact(target=60, strategy="truncate")
    told = Names.parse(str(log.ledger.entries[-1].body["ids"]))
    log.protect("5")
    found = condensing(log, keep=KeptTail(0), percent=20)
    assert str(found.ids) == "3-4,7-42" and found.ids - told
    assert {piece.name for piece in found.pieces} >= {3, 4, 5, 7, 8}
    assert not any("left out" in piece.text for piece in found.pieces)
    made = found.carry_out()
    seen = made.seen.names()
    assert {1, 2, 5, 6} <= set(seen) and made.after < made.before
    [summary] = [name for name in seen if not isinstance(name, int)]
    assert seen.index(summary) == 2  # after system and first message


@pytest.mark.parametrize("strategy", OFFLINE)
def test_what_is_protected_stays(strategy: str) -> None:
    """With its step, by every strategy, as it is; the first message too, until that is taken from it."""
    log = opened(run())
    log.protect("8")
    made = condensing(log, strategy=strategy, keep=KeptTail(0), percent=1).carry_out()
    assert not {1, 2, 7, 8} & set(made.replaced) and {1, 2, 7, 8} <= set(made.seen.names())
    assert made.seen.text(8) == log.text(8)
    log.unprotect("2,8")
    assert {7, 2} <= set(condensing(log, keep=KeptTail(0), percent=1).ids)


def test_a_protected_summary_stays() -> None:
    """And what it tells stays told (replay 32)."""
    log = opened(run())
    log.compact("3-20", target=60)
    log.protect("1.1")
    found = condensing(log, keep=KeptTail(0), percent=1)
    assert str(found.ids) == "21-42"
    assert next(name for name in found.carry_out().seen.names() if not isinstance(name, int)) == log.names()[2]


def test_a_shortened_message_is_told_whole() -> None:
    """A trim or mask before it: the summary is made of what the log has."""
    log = opened(run())
    log.compact(target=10, strategy="mask", keep_last=0)
    found = condensing(log, keep=KeptTail(0))
    assert any("result 3 result 3" in piece.text for piece in found.pieces)


def test_mask_stubs_results_alone() -> None:
    """The oldest until the goal is reached; calls and words stay; nothing is replaced."""
    log = opened(run())
    made = condensing(log, strategy="mask", percent=50).carry_out()
    assert made.op.ids == "" and made.op.text is None and made.reached
    assert list(made.op.stubs)[:2] == ["4", "6"] and set(made.op.stubs.values()) == {"[bash: 1 line left out]"}
    assert 0.45 * made.before < made.after <= 0.5 * made.before
    log.config = log.config.given({"compact.cooldown": "off"})
    log.compact(target=50, strategy="mask")
    again = condensing(log, strategy="mask", percent=30).carry_out()
    assert again.op.stubs and not again.op.stubs.keys() & made.op.stubs.keys()


def test_mask_of_parallel_results() -> None:
    """Each says whose it was; what is no result stays."""
    calls = [{"id": key, "type": "function", "function": {"name": key, "arguments": "{}"}} for key in "ab"]
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "both", "tool_calls": calls},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x\n" * 99},
            {"type": "tool_result", "tool_use_id": "b", "content": "y\n" * 9, "is_error": True},
            {"type": "text", "text": "a remark"},
        ]},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip
    made = condensing(opened(lines(*rows)), strategy="mask", keep=KeptTail(0), percent=1).carry_out()
    text = made.seen.text(3)
    assert "[a: 99 lines left out]" in text and "[b failed: 9 lines left out]" in text and "a remark" in text


def test_would_not_be_smaller() -> None:
    """The words in their place are longer."""
    rows = [{"role": "user", "content": "hi"}] * 5
    with pytest.raises(NothingChanges, match="would not be smaller"):
        condensing(opened(lines(*rows)), strategy="given", text="long " * 99, keep=KeptTail(0)).carry_out()
    with pytest.raises(NothingChanges, match="no result that could be masked") as raised:
        condensing(opened(lines(*rows)), strategy="mask", keep=KeptTail(0)).carry_out()
    assert raised.value.hint is not None and "--target" not in raised.value.hint  # no target helps


def test_what_a_window_of_messages_hides_is_told_too() -> None:
    """It would come in for what leaves."""
    log = opened(run())
    log.config = log.config.given({"window.messages": 8})
    found = condensing(log, keep=KeptTail(None, 2))
    assert str(found.ids) == "3-38" or str(found.ids) == "2-38"
    assert len(found.carry_out().seen.names()) < 8


def test_a_part() -> None:
    """Of what was chosen; its share is of these alone, so that the rest stays."""
    log = opened(run())
    made = condensing(log, chosen=Names.parse("11-20"), part=True)
    assert str(made.ids) == "11-20" and made.goal > 0.7 * made.whole


def test_what_is_kept_is_counted() -> None:
    """By class, on the context as it is then."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    rows += step(0, "Edit", {"file_path": "/src/a.py", "old_string": "x", "new_string": "def f():\n    pass"}, "ok")
    rows += [{"role": "assistant", "content": f"word {n} " * 30} for n in range(9)]
    made = condensing(opened(lines(*rows)), strategy="given", text="def f():", keep=KeptTail(0)).carry_out()
    found = made.kept()
    assert found["code"] == (1, 1) and found["files edited"] == (0, 1)
    json.dumps(found)


@pytest.mark.parametrize(
    ("first", "stays"),
    [
        ({"role": "user", "content": "Fix the login."}, True),
        ({"role": "assistant", "content": "Fixed."}, False),
        (
            {"role": "user", "content": "This session is being continued from a previous conversation. Summary: x"},
            False,
        ),
    ],
)
def test_a_first_message_that_is_left_of_an_earlier_part_does_not_stay(first: dict[str, Any], stays: bool) -> None:
    rows = [first, *({"role": "user", "content": f"question {n}"} for n in range(5))]
    assert ("1" in str(condensing(opened(lines(*rows)), keep=KeptTail(0)).ids)) is not stays
    protected = opened(lines(*rows))
    protected.protect("1")
    assert str(condensing(protected, keep=KeptTail(0)).ids) == "2-6"


def test_what_a_window_hides_is_not_told() -> None:
    """Candidates are visible; a step of which a part is hidden stays whole."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go.", "ts": "2026-02-01T09:00:00Z"}]
    for n in range(10):
        for row in step(n, "bash", {"command": f"make {n}"}, f"result {n} " * 40):
            rows.append({**row, "ts": f"2026-02-01T10:{len(rows):02}:00Z"})
    log = opened(lines(*rows))
    log.config = log.config.given({"window.min": "1m"})
    log.set_window(660)  # from 10:10 on, whose message answers one of 10:09
    found = condensing(log, keep=KeptTail(None, 1))
    assert str(found.ids) == "12-19"
    assert all(name in found.tokens for name in found.ids)


def test_observations_are_masked() -> None:
    """What a command printed is in the user's role where an agent has no tools but words."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for n in range(6):
        rows.append({"role": "assistant", "content": f"I run it.\n```bash\nmake {n}\n```"})
        rows.append({"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{'x ' * 300}</output>"})
    made = condensing(opened(lines(*rows)), strategy="mask", keep=KeptTail(0), percent=1).carry_out()
    assert set(made.op.stubs) == {"3", "5", "7", "9", "11", "13"}
    assert made.seen.text(3).startswith("[output: ") and made.seen.text(2) == rows[1]["content"]


def test_pictures_are_masked() -> None:
    """They are the largest of all; the line says how many there were."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 99}}
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for n in range(4):
        call = {"type": "tool_use", "id": f"c{n}", "name": "shot", "input": {}}
        answer = {"type": "tool_result", "tool_use_id": f"c{n}", "content": [picture, picture]}
        rows += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    made = condensing(opened(lines(*rows)), strategy="mask", keep=KeptTail(0), percent=1).carry_out()
    assert set(made.op.stubs.values()) == {"[shot: 2 pictures left out]"} and made.after < made.before / 10


def test_one_agent_s_messages_between_another_s() -> None:
    """What stays is more than the target; the words still fit, and the line they begin with is no list of numbers."""
    rows = [
        {
            "role": "assistant",
            "content": f"{agent} {n}: we decided to use option_{n} instead of plan_{n}. " * 4,
            "agent": agent,
        }
        for n in range(40)
        for agent in ("ada", "bob")
    ]
    log = opened(lines({"role": "user", "content": "Plan it."}, *rows))
    selection = Selection(agent="ada")
    wish = {"strategy": "extract", "keep": KeptTail(0), "selection": selection, "chosen": log.select(selection)}
    made = condensing(log, **wish).carry_out()
    assert made.op.text is not None and made.op.text.startswith("[messages 2, 4, 6, 8, 10, 12, …, 80 in short")
    assert made.after < made.before and "bob" not in made.op.text and len(made.replaced) == 40


def test_a_summary_that_needs_more_than_the_least_gets_it() -> None:
    """Where the target is out of reach, a summary of some words is still shorter than the messages."""
    rows = [
        {"role": "user", "content": f"Please look at option_{n}" + " and the plan of today" * 11} for n in range(20)
    ]
    wish = {"strategy": "extract", "keep": KeptTail(0), "budget": 0, "percent": 0}
    made = condensing(opened(lines(*rows)), **wish).carry_out()
    assert not made.reached and made.after < made.before


def test_what_was_typed_first_stays_behind_instructions_and_notices() -> None:
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "<user_instructions>Use tabs.</user_instructions>"},
        {"role": "user", "content": "Fix the login."},
        *({"role": "assistant" if n % 2 else "user", "content": f"word {n} " * 20} for n in range(6)),
    ]
    assert str(condensing(opened(lines(*rows)), keep=KeptTail(0)).ids) == "3-8"
    free = opened(lines(*rows))
    free.protect("2")
    free.unprotect("2")
    assert str(condensing(free, keep=KeptTail(0)).ids) == "2-8"


@pytest.mark.full("memory growth")
def test_memory_is_some_numbers_a_message(tmp_path: Path) -> None:
    """Of a log with so many more, counted before, a compact takes less than 300 bytes more of each."""
    peaks = []
    for many in (1_000, 3_000):
        path = tmp_path / f"{many}.jsonl"
        logs.native(path, many * logs.MESSAGE)
        env = {"XDG_CACHE_HOME": str(tmp_path)}
        condensing(Log.open(path, env=env), strategy="given", text="x").carry_out()
        tracemalloc.start()
        made = condensing(Log.open(path, env=env), strategy="given", text="x", keep=KeptTail(0)).carry_out()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(made.replaced) > many - 5
    assert peaks[1] - peaks[0] < 300 * 2_000


def test_a_models_summary_at_the_start_is_summarized_however_long_it_is() -> None:
    """It does not stay, shortened, as what somebody typed first does."""
    told = "This session is being continued from a previous conversation that ran out of context.\n"
    rows = [f"{n}. Fact number {n} of what was done before." for n in range(300)]
    first = {"role": "user", "content": told + "\n".join(rows)}
    made = condensing(
        opened(lines(first, *step(1, "bash", {"command": "make"}, "ok\n" * 40))), strategy="extract", percent=20
    )
    assert 1 in made.carry_out().replaced
