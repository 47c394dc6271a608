"""A summary never tells what was forgotten: each message of a log has a word of its own, and where that word stands."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, Forget
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import CtxkitError, NoSuchOp, NothingToSend
from ctxkit.measure.count import Counting
from tests.effort import examples
from tests.lawful import NOW, as_bytes

SECRET = re.compile(r"zq(\d+)x")
VERBS = ("read", "wrote", "moved", "decided on", "looked for", "renamed", "tried", "still have to fix")
Records = list[dict[str, Any]]


def found_in(text: str) -> set[int]:
    """The messages whose word stands there."""
    return {int(n) for n in SECRET.findall(text)}


def words(content: Content) -> set[int]:
    """Those of a message."""
    return found_in(dumps(msgspec.to_builtins(content.parts)))


def said(n: int, lines: int) -> str:
    """So many lines, each with the word of message `n`, none of them another's."""
    return "\n".join(
        f"line {k} of {n}: I {VERBS[(n + k) % len(VERBS)]} src/zq{n}x/module_{k}.py because error {n * 100 + k}"
        for k in range(lines)
    )


def conversation(kinds: list[str]) -> Records:
    """Messages of these kinds, in order; a call comes with its result, an agent's words with its name."""
    found: Records = []
    for kind in kinds:
        n = len(found) + 1
        match kind:
            case "call":
                path = f"src/zq{n}x/main.py"
                arguments = f'{{"path": "{path}", "command": "pytest zq{n}x"}}'
                call = {"id": f"c{n}", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
                found.append({"role": "assistant", "content": said(n, 1), "tool_calls": [call]})
                found.append({"role": "tool", "tool_call_id": f"c{n}", "content": said(n + 1, 12)})
            case "agent":
                found.append({"role": "assistant", "content": said(n, 4), "agent": "eve", "name": "eve"})
            case _:
                found.append({"role": kind, "content": said(n, 3 if kind == "user" else 5)})
    return found


class Told:
    """A log, by a clock on which a minute passes at every look, and what its context says."""

    def __init__(self, raw: bytes) -> None:
        self.now = NOW
        self.log = Log.open(io.BytesIO(raw), env={}, clock=self.clock)
        self.own = {n: words(self.log.content(n)) for n in range(1, len(self.log.messages) + 1)}
        """The words of each message."""

    def clock(self) -> float:
        self.now += 60
        return self.now

    @property
    def context(self) -> list[bytes]:
        """The messages, as they are sent."""
        return list(self.log.export("chat").pieces) if self.log.names() else []

    @property
    def secrets(self) -> set[int]:
        """Of which messages the context has the word."""
        return found_in(b"".join(self.context).decode())

    @property
    def allowed(self) -> set[int]:
        """The words of those messages that no op took out."""
        return {word for n in self.log.state().present().numbers for word in self.own[n]}

    def run(self, verb: str, first: int, more: int, strategy: str, flag: bool) -> bool:
        """One command; whether anything was appended."""
        log, count = self.log, len(self.log.messages)
        low = first % count + 1
        some = [f"{low}-{min(count, low + more)}"]
        keep = {"keep_last": 0, "keep_steps": int(flag)}
        calls: dict[str, Callable[[], Any]] = {
            "compact": lambda: log.compact(target=30 + 20 * flag, strategy=strategy, **keep),
            "part": lambda: log.compact(some, target=50, strategy=strategy, **keep),
            "given": lambda: self.given(some),
            "forget": lambda: log.forget(some, include_protected=flag),
            "planning": lambda: log.forget(some, planning=[str(first % count + 1)]),
            "remember": lambda: log.remember(some), "protect": lambda: log.protect(some),
            "unprotect": lambda: log.unprotect(some, force=True), "recall": lambda: log.recall(some),
            "mark": log.mark, "rewind": log.rewind, "undo": log.undo, "redo": log.redo,
            "older": lambda: log.undo(str(first % max(1, len(log.ledger.entries)) + 1)),
            "clear": lambda: log.clear("eve" if flag else None), "trim": lambda: log.trim(300 + 40 * first),
        }  # fmt: skip
        try:
            return calls[verb]() is not None
        except CtxkitError:
            return False

    def given(self, some: list[str]) -> Any:
        """Somebody's own words about all that they replace."""
        log, dry = self.log, copy.copy(self.log)
        dry.dry_run = True
        op = dry.compact(some, summary="short", keep_last=0)
        ids = Names.parse(op.ids).numbers if isinstance(op, Compact) else []
        return log.compact(some, summary=" ".join(f"zq{n}x" for n in ids), keep_last=0)


def made(kinds: list[str]) -> bytes:
    """A native log of these."""
    return as_bytes(conversation(kinds))


KINDS = st.lists(st.sampled_from(["user", "assistant", "call", "call", "agent"]), min_size=5, max_size=14)
STEPS = st.tuples(
    st.sampled_from(
        ["compact"] * 3 + ["part", "given"] * 2 + ["forget"] * 5 + ["undo", "redo", "older", "recall"] * 2
        + ["remember", "planning", "protect", "unprotect", "mark", "rewind", "clear", "trim"]
    ),
    st.integers(0, 30),
    st.sampled_from([0, 0, 0, 1, 3, 9]),
    st.sampled_from(["extract", "extract", "mask", "truncate"]),
    st.booleans(),
)  # fmt: skip


@given(KINDS, st.lists(STEPS, min_size=2, max_size=10))
@settings(max_examples=examples(120), deadline=None)
def test_nothing_forgotten_is_told(kinds: list[str], steps: list[tuple[str, int, int, str, bool]]) -> None:
    """Whatever is compacted, forgotten, recalled, undone in whatever order; and the way back is byte for byte."""
    told = Told(made(["user", *kinds]))
    before = told.context
    for step in steps:
        told.run(*step)
        assert told.secrets <= told.allowed, step
    while True:
        try:
            told.log.undo()
        except NoSuchOp:
            break
    assert told.context == before


@given(st.sampled_from(["claude-code", "codex", "pi"]), KINDS, st.lists(STEPS, min_size=2, max_size=6))
@settings(max_examples=examples(30), deadline=None)
def test_nor_in_a_session_that_is_written(
    name: str, kinds: list[str], steps: list[tuple[str, int, int, str, bool]]
) -> None:
    """A log of another program, and the file that its program goes on with; of Codex's, all but its screen's events."""
    told = Told(b"".join(Told(made(["user", *kinds])).log.session(name).pieces))
    assert told.log.opening.format.name == name
    before = told.context
    for step in steps:
        told.run(*step)
        assert told.secrets <= told.allowed, step
    try:
        rows = b"".join(told.log.session(name).pieces).decode().splitlines()
    except NothingToSend:
        rows = []
    assert found_in("".join(row for row in rows if '"event_msg"' not in row)) <= told.allowed
    while True:
        try:
            told.log.undo()
        except NoSuchOp:
            break
    assert told.context == before


@given(KINDS, st.lists(STEPS, min_size=1, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_a_rewind_brings_the_originals_back(kinds: list[str], steps: list[tuple[str, int, int, str, bool]]) -> None:
    """To a mark before compacts and trims, however many."""
    told = Told(made(["user", *kinds]))
    told.run("forget", 5, 0, "", False)
    told.log.mark("here")
    before = told.context
    for verb, first, more, strategy, flag in steps:
        told.run(verb if verb in ("compact", "part", "given", "trim") else "compact", first, more, strategy, flag)
    told.log.rewind("here")
    assert told.context == before


TALK = ["user", "assistant", "call", "user", "call", "call", "assistant", "user", "assistant", "call", "user"]


def compacted(strategy: str = "extract", **asked: Any) -> Told:
    """A log whose old messages are summarized."""
    told = Told(made(TALK))
    told.log.compact(target=45, strategy=strategy, keep_steps=1, **asked)
    return told


def test_told_anew_without_it() -> None:
    """From the messages, within the tokens of the first; the op has the words, and says so."""
    told = compacted()
    op = told.log.ledger.entries[-1].op
    assert isinstance(op, Compact) and op.text is not None and op.budget is not None
    assert {"3", "12"} <= set(SECRET.findall(op.text))
    before = told.context
    forgotten = told.log.forget("12")
    assert isinstance(forgotten, Forget) and forgotten.ids == "12"
    [words] = forgotten.summaries
    assert words.op == op.id and words.text is not None and "messages 2-11 in short" in words.text
    assert "12" not in SECRET.findall(words.text) and "#12" not in words.text and "3" in SECRET.findall(words.text)
    assert sum(Counting(told.log).counter.counts([words.text])) <= op.budget
    assert len(words.text) > 0.8 * len(op.text)
    assert any("was written again without 12" in note for note in told.log.notes)
    told.log.undo()
    assert told.context == before


def test_a_part_of_a_part() -> None:
    """Forgotten one by one, down to nothing: no word of any stays, and nothing comes back."""
    told = compacted()
    ids = sorted(told.log.state().board.telling.values(), key=str)[0].tells.numbers
    gone: set[int] = set()
    for n in list(ids):
        if n in told.log.state().present().numbers:
            op = told.log.forget(str(n))
            assert isinstance(op, Forget)
            gone |= set(told.log.state().numbers) - set(told.log.state().present().numbers)
        assert not told.secrets & gone
    assert gone >= set(ids) and not told.log.state().board.telling


@pytest.mark.parametrize("keep", [False, True])
def test_words_of_others_are_dropped(keep: bool) -> None:
    """No rule made them: the originals return, with a warning; `keep_summary` leaves them, with another."""
    told = Told(made(TALK))
    told.log.compact("2-9", summary="all about zq3x and zq5x", keep_last=0)
    assert 5 in told.secrets and 6 not in told.secrets
    told.log.forget("5", keep_summary=keep)
    assert (5 in told.secrets, 6 in told.secrets) == (keep, not keep)
    notes = "\n".join(told.log.notes)
    assert ("is kept as it is: it still contains 5" in notes) is keep
    assert ("is dropped because it contained 5\nin the context again, without their summary: " in notes) is not keep


def test_an_agent_that_is_cleared() -> None:
    """The summary goes, as the op of a clear has no words for it; the others' originals return."""
    told = Told(made(["user", "agent", "assistant", "call", "user", "assistant", "user"]))
    told.log.compact(target=40, keep_steps=1)
    assert told.log.state().board.telling
    told.log.clear("eve")
    assert 2 not in told.secrets and {3, 4} <= told.secrets
    notes = "\n".join(told.log.notes)
    assert "is dropped because it contained 2\nin the context again, without their summary: 3-6" in notes


def test_what_is_masked_goes_with_its_stub() -> None:
    """And comes back in full."""
    told = compacted("mask")
    stubs = dict(told.log.state().board.stubs)
    assert 4 in stubs
    told.log.forget("4")
    assert not {3, 4} & told.secrets and b"left out" in b"".join(told.context)
    told.log.recall("4")
    assert {3, 4} <= told.secrets


def test_too_little_is_not_told_again() -> None:
    """Where what is left is no longer than a summary of it, the summary is dropped."""
    told = Told(made(["user", "user", "call", "user", "user"]))
    told.log.compact("2-4", budget=400, keep_last=0, force=True)
    assert told.log.state().board.telling
    op = told.log.forget("3")
    assert isinstance(op, Forget) and (op.summaries == [] or op.summaries[0].text is not None)
    assert not {3, 4} & told.secrets


def test_words_made_while_a_forget_was_undone_do_not_outlive_its_redo() -> None:
    """They tell what is forgotten again: the summary is dropped, and the others' originals return."""
    told = compacted()
    told.log.forget("12")
    told.log.undo()
    told.log.forget("3")
    assert 12 in told.secrets
    told.log.redo()
    assert not {3, 12} & told.secrets and {5, 6} <= told.secrets
    assert any("it told 12, which is forgotten again" in one for one in told.log.state().warnings)
    told.log.undo("2")
    assert 12 in told.secrets and 3 not in told.secrets and told.log.state().board.telling


def test_words_made_of_less_stand_where_an_earlier_forget_is_undone() -> None:
    """They tell nothing that is forgotten."""
    told = compacted()
    told.log.forget("12")
    told.log.forget("3")
    before = told.context
    told.log.undo("2")
    assert told.context == before
