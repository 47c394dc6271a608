"""Compact on logs: when it is time for it, what is said, one at a time, and the way back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.core.strategies import OFFLINE
from ctxkit.errors import BadConfig, BadSummary, CoolingDown, NothingChanges, UpdatedElsewhere, Usage
from tests.cli.runner import FOREIGN, SMALL, lines
from tests.cut.test_trim import run
from tests.effort import some
from tests.shared import transcripts

NOW = 1_800_000_000.0
SESSIONS = transcripts("claude-code", "codex", "pi", "mini-swe-agent", under=1_500_000)


def opened(raw: bytes = b"", *, at: float = NOW, **env: str) -> Log:
    return Log.open(io.BytesIO(raw or run()), env=env, clock=lambda: at)


def test_words_and_op() -> None:
    """The words, to the letter; the op says what it replaced, by which strategy, for which target and budget."""
    log = opened()
    op = log.compact(target=30)
    body = log.ledger.entries[-1].body
    assert op is not None and log.compacted is not None
    made = log.compacted.found
    assert log.said == f"Context condensed ({made.before:,} → {made.after:,} tokens)"
    assert (body["strategy"], body["target"]) == ("extract", "30%") and body["budget"] > 0
    assert body["before"] == {"messages": 42, "tokens": made.before, "counter": made.counter}
    assert body["after"]["tokens"] == made.after == log.status().tokens.used <= 0.3 * made.before
    report = log.compacted.as_json(body)
    assert json.loads(json.dumps(report))["tokens"]["after"] == made.after and 0 < report["seconds"] < 60


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({"target": 40}, {"ids", "text", "stubs", "strategy", "target", "budget"}),
        ({"target": 60, "strategy": "truncate"}, {"ids", "text", "strategy", "target"}),
        ({"target": 60, "strategy": "mask"}, {"ids", "stubs", "strategy", "target"}),
        ({"summary": "short"}, {"ids", "text", "strategy", "target"}),
    ],
)
def test_what_an_op_says(asked: dict[str, Any], keys: set[str]) -> None:
    """replay 42: exactly what is replaced, originals, steps whole; without a text nothing is inserted."""
    log = opened()
    log.compact(**asked)
    body = log.ledger.entries[-1].body
    assert body.keys() - {"ctxkit", "v", "id", "ts", "at", "before", "after", "by", "prev", "sum"} == keys
    gone = set(range(1, 43)) - set(log.names())
    assert gone == set(Names.parse(body["ids"])) and all(n + 1 in gone for n in gone if isinstance(n, int) and n % 2)
    assert ("text" in keys) == any(not isinstance(name, int) for name in log.names())


def test_same_log_same_text() -> None:
    """Byte for byte."""
    found = []
    for target in ("30", "30%", 30, 30.0):
        log = opened()
        log.compact(target=target)
        found.append({**log.ledger.entries[-1].body, "id": "", "sum": ""})
    assert found[1:] == found[:-1]


@pytest.mark.parametrize("path", SESSIONS[:12], ids=lambda path: str(path.name))
def test_real_sessions(path: Path, tmp_path: Path) -> None:
    """Smaller, steps whole, the protected there, the newest there; undo brings the context back byte for byte."""
    for strategy in some(OFFLINE, len(OFFLINE), SESSIONS.index(path)):
        compacted_and_back(path, strategy, tmp_path)


def compacted_and_back(path: Path, strategy: str, tmp_path: Path) -> None:
    """A file by one strategy."""
    log = Log.open(io.BytesIO(path.read_bytes()), env={"HOME": str(tmp_path)})
    before = list(log.export("chat").pieces) if log.names() else []
    try:
        op = log.compact(target=25, strategy=strategy)
    except NothingChanges:
        return
    if op is None:
        return
    assert log.compacted is not None
    made, state = log.compacted.found, log.state()
    assert made.after < made.before and log.names()[-1] == made.made_by.names[-1]
    assert op.after is not None and op.after.tokens == log.status().tokens.used
    ids, shown = Names.parse(log.ledger.entries[-1].body["ids"]), set(made.made_by.names)
    assert not any(state.guarded(name) for name in ids)
    assert {name for name in state.steps.close(ids) if name in shown} <= set(ids)
    log.undo()
    assert list(log.export("chat").pieces) == before


def test_a_rewind_brings_the_originals_back() -> None:
    """To a mark before it, and the same as undo: representation, not intent."""
    log = opened()
    before = list(log.export("chat").pieces)
    log.mark("here")
    log.compact(target=30)
    assert list(log.export("chat").pieces) != before
    log.rewind("here")
    assert list(log.export("chat").pieces) == before


def test_bare() -> None:
    """Only where the context is full; without a limit nobody knows."""
    log = opened()
    with pytest.raises(BadConfig, match="do not know this model's limit") as caught:
        log.compact()
    assert "--target" in caught.value.hint
    below = opened(CTXKIT_LIMIT="100000")
    assert below.compact() is None and "below the threshold of 80 %: nothing was changed" in below.said
    full = opened(CTXKIT_LIMIT="30000")
    assert full.compact() is not None
    earlier = opened(CTXKIT_LIMIT="100000", CTXKIT_COMPACT_THRESHOLD="20%")
    assert earlier.compact() is not None


@pytest.mark.parametrize(
    "asked", [{"target": 50}, {"budget": 9000}, {"summary": "short"}, {"force": True}, {"numbers": "3-20"}]
)
def test_what_asks_for_it(asked: dict[str, Any]) -> None:
    """Whether the context is full or not."""
    assert opened(CTXKIT_LIMIT="10M").compact(**asked) is not None


def test_a_budget_is_of_the_whole_context() -> None:
    """System, protected and tail included; what fits is left alone."""
    log = opened()
    log.compact(budget=5000)
    used = log.status().tokens.used
    assert used is not None and 4500 < used <= 5000
    same = opened()
    assert same.compact(budget=10**6) is None and "it fits, nothing was changed" in same.said


def test_a_target_that_cannot_be_reached() -> None:
    """The floor is said, and what could be done is done."""
    log = opened()
    log.protect("3-30")
    assert log.compact(target=10) is not None and log.compacted is not None
    assert not log.compacted.found.reached
    [note] = [note for note in log.notes if "cannot be reached" in note]
    assert f"{log.compacted.found.after:,} tokens, is the smallest possible result" in note and "10 %" in note


def test_nothing_to_condense() -> None:
    """Fewer than three messages that may go."""
    log = opened(SMALL)
    assert log.compact(keep_last=9, force=True) is None and "nothing to condense" in log.said
    assert opened(SMALL).compact("2-4", force=True) is None
    assert Log.open(io.BytesIO(b""), env={}).compact(force=True) is None


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"target": 30, "budget": 9}, "either a target or a budget"), ({"target": "x"}, "not a percentage"),
        ({"target": 101}, "not a percentage"), ({"target": 0.3}, "0.3 %"), ({"target": "0.3"}, "0.3 %"),
        ({"target": -1}, "not a percentage"), ({"target": True}, "not a percentage"),
        ({"budget": -1}, "whole number"), ({"keep_last": -1}, "whole number"), ({"keep_steps": 1.5}, "whole number"),
        ({"strategy": "model"}, "no strategy"), ({"strategy": "mask", "fast": True}, "asks no model"),
        ({"summary": "s", "summary_model": "m"}, "asks no model"),
        ({"summary_model": "m", "fast": True}, "two models"),
        ({"strategy": "mask", "summary": "s"}, "needs no strategy"),
    ],
)  # fmt: skip
def test_what_makes_no_sense(asked: dict[str, Any], error: str) -> None:
    """Said before anything is counted."""
    with pytest.raises(Usage, match=error):
        opened().compact(**asked)


def test_a_strategy_of_the_config() -> None:
    """It counts; one that asks a model needs the name of one."""
    assert opened(CTXKIT_COMPACT_STRATEGY="truncate").compact(force=True, keep_last=0).strategy == "truncate"  # type: ignore[union-attr]  # an op of this kind
    with pytest.raises(BadConfig, match="no model is named") as caught:
        opened(CTXKIT_COMPACT_STRATEGY="llm").compact(force=True)
    assert "set compact.model NAME" in caught.value.hint
    with pytest.raises(BadConfig, match="no model is named") as caught:
        opened(CTXKIT_COMPACT_MODEL="m").compact(force=True, fast=True)
    assert "set compact.fast_model NAME" in caught.value.hint


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_summary(text: str) -> None:
    """Stands for nothing."""
    with pytest.raises(BadSummary, match="empty"):
        opened().compact(summary=text)


def test_a_summary_that_is_given() -> None:
    """Stands where the first replaced message stood, and says what it tells; undone, all is back."""
    log = opened()
    log.compact(summary="All green.\n")
    names = log.names()
    assert names[:2] == [1, 2] and names[-1] == 42
    text = log.text(names[2])
    assert text.startswith("[Summary of messages 3-") and text.endswith("All green.")
    assert log.entries([names[2]]).__next__().role == "user"
    assert log.ledger.entries[-1].body["strategy"] == "given"


def test_cooldown() -> None:
    """30 s after the newest compact in force, by its time, also with force; an undone or rewound one does not count."""
    now = [NOW]
    log = Log.open(io.BytesIO(run()), env={}, clock=lambda: now[0])
    log.mark("before")
    log.compact(target=60)
    now[0] += 12
    for asked in ({"force": True}, {"force": True, "target": "60%"}, {}):
        with pytest.raises(CoolingDown, match=r"12 s ago: 18 s of the cooldown are left"):
            log.compact(**asked)  # type: ignore[arg-type]  # of any kind
    log.undo()
    assert log.compact(target=60) is not None
    log.rewind("before")
    assert log.compact(target=60) is not None
    now[0] += 30
    assert log.compact(force=True) is not None
    log.config = log.config.given({"compact.cooldown": "off"})
    assert log.compact(force=True, target=20) is not None


@pytest.mark.parametrize(
    "asked",
    [
        {"target": 40}, {"target": 40, "force": True}, {"budget": 9000}, {"summary": "s"}, {"numbers": "30-39"},
        {"force": True, "strategy": "truncate"}, {"force": True, "keep_last": 0}, {"role": "assistant", "target": 20},
    ],
)  # fmt: skip
def test_a_new_decision_does_not_wait(asked: dict[str, Any]) -> None:
    """Other arguments than the last compact's, numbers, criteria: somebody decided anew. An undo in between does."""
    log = opened()
    log.compact(target=60)
    log.compact(**asked)
    log = opened()
    log.compact(target=60)
    log.compact(target=50)
    log.undo()
    assert log.compact(force=True) is not None  # op 1 is as young, but the undo came since


@pytest.mark.parametrize("asked", [{"target": 60}, {"target": 1}, {"target": 5, "keep_last": 0}])
def test_the_same_target_again(asked: dict[str, Any]) -> None:
    """It is reached, or all that it comes to: the same is said within the cooldown and after it (A10)."""
    now = [NOW]
    log = Log.open(io.BytesIO(run()), env={}, clock=lambda: now[0])
    assert log.compact(**asked) is not None
    said = []
    for moment in (1, 31, 3600):
        now[0] = NOW + moment
        with pytest.raises(NothingChanges) as refused:
            log.compact(**asked)
        said.append(refused.value.message)
    assert len(set(said)) == 1 and len(log.ledger.entries) == 1


def test_the_arguments_of_the_last_compact_wait() -> None:
    """Also where they say how many of the newest stay; the same words, typed or by a hook."""
    log = opened()
    log.args = ("compact", "x.jsonl", "--force", "--keep-last", "0")
    log.compact(force=True, keep_last=0)
    with pytest.raises(CoolingDown):
        log.compact(force=True, keep_last=0)
    log.args = ("compact", "x.jsonl", "--force", "--keep-last", "1")
    log.compact(force=True, keep_last=1)


def test_a_target_counts_from_the_originals() -> None:
    """Three times the same target comes to it once: what a summary tells counts as it was (A10)."""
    log = opened()
    log.config = log.config.given({"compact.cooldown": "off"})
    assert log.compact(target=40) is not None
    ops, used = len(log.ledger.entries), log.status().tokens.used
    for _ in range(2):
        with pytest.raises(NothingChanges, match=r"the target is reached already: .* of the .* of the originals"):
            log.compact(target=40)
    assert len(log.ledger.entries) == ops and log.status().tokens.used == used
    assert log.compact(target=20) is not None and log.compacted is not None
    whole, after = opened().status().tokens.used, log.status().tokens.used
    assert whole and after and 0.185 * whole < after <= 0.2 * whole  # of the originals, not of what was left
    assert log.compact(target=20, force=True) is not None
    less = log.status().tokens.used
    assert less is not None and less < after / 2  # of what there is, where somebody insists


@pytest.mark.parametrize("asked", [{"numbers": "3-30"}, {"strategy": "mask", "target": 60}])
def test_the_originals_of_a_part_and_of_masks(asked: dict[str, Any]) -> None:
    """The same of numbers, and of results that a mask shortened."""
    log = opened()
    log.config = log.config.given({"compact.cooldown": "off"})
    assert log.compact(**asked) is not None
    with pytest.raises(NothingChanges, match="reached already"):
        log.compact(**asked)


@pytest.mark.parametrize(("shift", "waits"), [(-29, True), (-31, False), (29, True), (31, False)])
def test_cooldown_by_a_wrong_clock(shift: float, waits: bool) -> None:
    """A compact of another machine may be of a time to come: nobody waits longer than the cooldown for it."""
    log = opened()
    log.compact(target=60)
    log.clock = lambda: NOW - shift
    if not waits:
        assert log.compact(force=True) is not None
        return
    with pytest.raises(CoolingDown) as caught:
        log.compact(force=True)
    assert caught.value.hint.startswith("in 1 s" if shift < 0 else "in 30 s")


@pytest.mark.parametrize("raw", [run(), FOREIGN * 1], ids=["native", "claude-code"])
def test_two_at_once(raw: bytes, tmp_path: Path) -> None:
    """Both planned on the same log: the second is told so, nothing is appended."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(raw)
    asked: dict[str, Any] = {"keep_last": 0, "summary": "s"}
    if raw == FOREIGN:
        path.write_bytes(b"".join(line.replace(b"hello", b"hello " * 99) for line in foreign()))
    one, other = Log.open(path, env={}), Log.open(path, env={})
    assert one.compact(**asked) is not None
    kept = {file: file.read_bytes() for file in tmp_path.rglob("*.jsonl")}
    with pytest.raises(
        (CoolingDown, UpdatedElsewhere), match=r"compacted this log|changed the messages that this one names"
    ):
        other.compact(**asked)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.jsonl")} == kept


def foreign() -> list[bytes]:
    """A Claude Code session of six messages."""
    found, before = [], None
    for n in range(6):
        row = {
            "type": "user", "uuid": f"u{n}", "parentUuid": before, "sessionId": "s",
            "timestamp": f"2026-02-01T10:0{n}:00Z", "message": {"role": "user", "content": f"hello {n}"},
        }  # fmt: skip
        found.append(json.dumps(row).encode() + b"\n")
        before = f"u{n}"
    return found


def test_what_came_meanwhile(tmp_path: Path) -> None:
    """A message or a mark does not matter. Where a replaced message left or is protected, rules choose again; a text
    that was given for just these messages is refused.
    """
    path = tmp_path / "log.jsonl"
    for change, fits in (("add", True), ("mark", True), ("forget", False), ("protect", False), ("clear", False)):
        given = {} if fits else {"summary": "what stands for them"}
        path.write_bytes(run())
        log, other = Log.open(path, env={}), Log.open(path, env={})
        match change:
            case "add":
                other.add_message({"role": "user", "content": "more"})
            case "mark":
                other.mark("x")
            case "clear":
                other.clear()
            case _:
                getattr(other, change)("5")
        before = path.read_bytes()
        if fits:
            assert log.compact(target=30) is not None
            assert 5 not in log.names()
            continue
        with pytest.raises(UpdatedElsewhere, match="changed the messages that this one names"):
            log.compact(target=30, **given)
        assert path.read_bytes() == before
        slow = Log.open(path, env={})
        other.mark("y")
        op = slow.compact(target=30)
        assert (op is None) == (change == "clear")
        assert change != "protect" or 5 in slow.names()


def test_dry_run() -> None:
    """Nothing is appended; the op is the one that would be."""
    log = opened()
    log.dry_run = True
    op = log.compact(target=30)
    assert op is not None and not log.ledger.entries and log.compacted is not None


def test_only_an_agents_messages() -> None:
    """Nothing of another agent is told (replay 32), also where an earlier summary told it."""
    rows = [{"role": "user", "content": f"{agent} says {n} " * 30, "agent": agent} for n in range(8) for agent in "ab"]
    log = opened(lines(*rows))
    log.compact(keep_last=0, agent="b")
    body = log.ledger.entries[-1].body
    assert body["ids"] == "2,4,6,8,10,12,14,16" and "a says" not in body["text"] and "b says" in body["text"]
    assert [name for name in log.names() if isinstance(name, int)] == [1, 3, 5, 7, 9, 11, 13, 15]
    log = opened(lines(*rows))
    log.config = log.config.given({"compact.cooldown": "off"})
    log.compact(keep_last=5, force=True, strategy="truncate", target=1)
    log.compact(keep_last=0, agent="b", strategy="truncate", target=1)
    assert log.ledger.entries[-1].body["ids"] == "12,14,16" and log.names()[1].k == 1  # type: ignore[union-attr]  # an item


def test_selectors_compact_a_range() -> None:
    """Only what they select of what may be replaced, steps whole; what of it is among the newest is left in."""
    log = opened()
    log.compact("4-9", strategy="truncate", target=1)
    assert log.ledger.entries[-1].body["ids"] == "5-8"
    log = opened()
    assert log.compact(role="tool", target=1) is None and "nothing to condense" in log.said
    assert log.said.endswith(
        " A step is replaced only as a whole, and 20 of the chosen messages are only parts of a step."
    )
    assert log.compact("4", target=1) is None
    assert log.said.endswith("and 1 of the chosen messages is only a part of a step.")
    log.compact(tool="bash", keep_steps=4, strategy="truncate", target=1)
    assert log.ledger.entries[-1].body["ids"] == "3-34"
    log = opened()
    log.compact("30-", target=60)
    assert any("kept, because they are the newest:" in note for note in log.notes)


def test_a_sidechain() -> None:
    """`--thread` compacts what another thread of the log holds; the main thread is as it was."""
    rows: list[dict[str, Any]] = []
    for n in range(12):
        aside, role = n > 1, "assistant" if n % 2 else "user"
        content: Any = f"{role} {n} " * 30
        held = {"role": role, "content": [{"type": "text", "text": content}] if n % 2 else content}
        own = {"id": f"m{n}", "model": "claude-opus-4-5"} if n % 2 else {}
        rows.append({"type": role, "uuid": f"u{n}", "parentUuid": None if n in (0, 2) else f"u{n - 1}",
                     "isSidechain": aside, "sessionId": "s", "timestamp": f"2026-02-01T10:{n:02}:00Z",
                     "message": {**held, **own}})  # fmt: skip
    log = opened(lines(*rows))
    main = list(log.export("chat").pieces)
    [thread] = log.state().threads
    assert log.compact(thread=thread, keep_last=1) is not None
    assert log.ledger.entries[-1].body["ids"] == "4-10" and log.lens_thread is None
    log.lens_thread = thread
    assert [name if isinstance(name, int) else "s" for name in log.names()] == [3, "s", 11, 12]
    log.lens_thread = None
    assert list(log.export("chat").pieces) == main


def test_a_target_of_all_is_reached() -> None:
    log = opened()
    assert log.compact(target=100) is None
    assert "nothing was changed" in log.said


def test_a_focus() -> None:
    """The op records it, a repeated request with another one is new, and strategies without chosen lines refuse it."""
    log = opened()
    log.compact(target=30, focus="the rows")
    assert log.ledger.entries[-1].body["focus"] == "the rows"
    plain = opened()
    plain.compact(target=30)
    assert "focus" not in plain.ledger.entries[-1].body
    for asked in ({"strategy": "mask"}, {"strategy": "truncate"}, {"summary": "short"}):
        with pytest.raises(Usage, match="a focus is for a summary of chosen lines: nothing was changed"):
            opened().compact(target=30, focus="the rows", **asked)


def test_a_focus_is_kept_when_the_summary_is_made_again() -> None:
    """A forget makes it again, with the lines that its focus chose."""
    said = [
        f"I decided to keep the {what} in its own module number {n}."
        for n, what in enumerate(["ledger", "packet"] * 20)
    ]
    rows = [
        {"role": "user", "content": "Go."},
        *({"role": "assistant", "content": one} for one in said),
        {"role": "user", "content": "On."},
    ]
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
    texts = []
    for focus in ("", "packet"):
        log = opened(raw)
        log.compact(target=40, focus=focus)
        log.forget("4")
        [text] = [log.full(one).parts[0].text for one in log.entries() if "in short" in str(log.full(one).parts[0])]
        texts.append(text)
    assert texts[1].count("packet") > texts[0].count("packet")
