"""Random logs and random commands, and what is compared: the ground that the law tests stand on."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from msgspec import structs

from ctxkit import CtxkitError, Log
from ctxkit.cli.app import run
from ctxkit.cli.commands.show import as_json
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.ops import PLACE_VERSION, Compact, Edit, Item, Op, Restore, Trim
from ctxkit.core.strategies import OFFLINE
from ctxkit.core.text.json_text import dumps
from ctxkit.edit.draft import DraftBlock, draft
from ctxkit.edit.parse import parse
from ctxkit.errors import ExitCode, NothingToSend
from tests.validators import anthropic_rules, gemini_rules, openai_rules

ROOT = Path(__file__).resolve().parent.parent
MENDED = [
    ("pi", ROOT / f"fixtures/truth-pi/{name}.jsonl")
    for name in ("orphan-result", "compaction-kept-result", "context-edit-call")
]
"""Sessions with a result without its call, which their program sends to be refused: it leaves, even without an op."""
NOW = 1_780_000_000.0
Records = list[dict[str, Any]]
WORDS = st.sampled_from(["", "one", "two words", "x\ny", "é ✓", "}{", '{"ctxkit":"mark"}', "[2, 3]"])


@dataclass(frozen=True)
class Command:
    """A writing command: `name`, the range of messages it is about, criteria, and what else it takes."""

    name: str
    first: int = 0
    more: int = 0
    criteria: tuple[tuple[str, str | bool], ...] = ()
    label: str | None = None
    agent: str | None = None
    hours: int = 24
    flag: bool = False
    changed: str = '{"role":"user","content":"changed"}'
    """The message of an edit or a restore, as JSON."""

    def numbers(self, count: int) -> list[str]:
        """`first` and `more` as a range of the `count` messages there are; none where criteria choose."""
        if self.criteria or not count:
            return []
        low = self.first % count + 1
        return [f"{low}-{min(low + self.more, count)}"]

    def call(self, log: Log) -> Op | None:
        """Through the Python API."""
        numbers, criteria = self.numbers(len(log.messages)), dict(self.criteria)
        match self.name:
            case "mark" | "rewind":
                return getattr(log, self.name)(self.label)
            case "forget":
                return log.forget(numbers, include_protected=self.flag, **criteria)
            case "remember" | "protect" | "recall":
                return getattr(log, self.name)(numbers, **criteria)
            case "unprotect":
                return log.unprotect(numbers, force=self.flag, **criteria)
            case "clear":
                return log.clear(self.agent, keep_protected=self.flag)
            case "undo" | "redo" | "reset_window" | "window_off":
                return getattr(log, self.name)()
            case "condense":
                log.config = log.config.given({"compact.cooldown": "off"})
                return log.compact(
                    numbers, target=10 * self.hours, strategy=OFFLINE[self.first % len(OFFLINE)],
                    keep_steps=self.more if self.flag else None, force=True, **criteria,
                )  # fmt: skip
            case "draft":
                return log.edit(self.redrafted(log))
            case "compact" | "trim" | "edit" | "restore":
                return log.commit(self.name, lambda: Decision(self.to_come(log), ""))
            case _:
                return getattr(log, self.name)(3600 * self.hours, self.agent)

    def redrafted(self, log: Log) -> str:
        """The draft of the whole log, some messages in or out the other way round, one moved and changed, one new."""
        found = parse(log.draft())
        blocks, low = found.blocks, self.first % len(found.blocks)
        for k, block in enumerate(blocks[low : low + self.more], low):
            blocks[k] = structs.replace(block, out=not block.out)
        blocks.insert(0, structs.replace(blocks.pop(low), pieces=("other words",)))
        assert found.base is not None
        return draft("x", found.base, [*blocks, DraftBlock("", ("user", "assistant")[low % 2], ("new words",))])

    def to_come(self, log: Log) -> Op:
        """An op that no command of this version writes yet, settled as replay 35 and 42 demand."""
        state, at = log.state(), log.here()
        named = Names.parse(",".join(self.numbers(at.messages)))
        free = Names.of(name for name in named & state.shown() if not state.guarded(name))
        whole = state.steps.whole(free)
        items = [Item(n=n) for n in (named & state.present()).numbers]
        changed = Item(message=json.loads(self.changed), origin=min(named.numbers, default=None))
        match self.name:
            case "compact":
                return Compact(at=at, ids=str(whole), text="summary", strategy="truncate" if self.flag else "model")
            case "trim":
                return Trim(at=at, ids=str(whole), stubs={} if whole else {str(n): "[cut]" for n in named.numbers})
            case "edit":
                return Edit(at=at, items=[*items, changed])
            case _:
                mode = "replace" if self.flag else ("append", "place")[self.more % 2]
                return Restore(at=at, v=PLACE_VERSION, items=[changed, *items], mode=mode)

    def words(self, count: int) -> list[str]:
        """The command line: the command, `LOG`, and the rest."""
        name, rest = self.name, list[str]()
        if name in ("forget", "remember", "protect", "unprotect", "recall"):
            rest = self.numbers(count)
            for key, value in self.criteria:
                rest += [f"--{key}"] if value is True else [f"--{key}={value}"]
            if name == "recall":
                rest.append("--apply")
            if name in ("forget", "remember", "recall") and self.criteria:
                rest.append("--yes")
            if self.flag and name in ("forget", "unprotect"):
                rest.append({"forget": "--include-protected", "unprotect": "--force"}[name])
            if name == "unprotect":
                name, rest = "protect", [*rest, "--off"]
        elif name == "redo":
            name, rest = "undo", ["--redo"]
        elif name in ("mark", "rewind") and self.label is not None:
            rest = ["--", self.label]
        elif name == "condense":
            name, rest = "compact", [*self.numbers(count), "--force", f"--target={10 * self.hours}%"]
            rest += [f"--strategy={OFFLINE[self.first % len(OFFLINE)]}"]
            rest += [f"--keep-steps={self.more}"] if self.flag else []
        elif name == "clear":
            rest = [*([f"--agent={self.agent}"] if self.agent else []), *(["--keep-protected"] if self.flag else [])]
        elif name in WINDOWS:
            agent = [f"--agent={self.agent}"] if self.agent and name in ("set_window", "shift_window") else []
            rest, name = [*WINDOWS[name](self.hours), *agent], "window"
        return [name, "LOG", *rest]


WINDOWS = {
    "set_window": lambda hours: ["set", f"{abs(hours)}h"],
    "shift_window": lambda hours: ["add" if hours > 0 else "sub", f"{abs(hours)}h"],
    "reset_window": lambda hours: ["reset"],
    "window_off": lambda hours: ["off"],
}
LABELS = st.sampled_from([None, "a", "b", "before refactor"])
HOURS = st.sampled_from([-2, 1, 5])
AGENTS = st.sampled_from([None, None, "frodo", "sam"])
CRITERIA = st.sampled_from(
    [(), (), (), (("last", "2"),), (("last", "1x"),), (("last", "2s"),), (("role", "tool"),), (("tool", "R*"),),
     (("grep", "o"),), (("role", "user"), ("last", "2")), (("grep", "two"), ("invert", True)), (("after_mark", "a"),)]
)  # fmt: skip
COMMANDS = st.one_of(
    st.builds(Command, st.sampled_from(["mark", "rewind"]), label=LABELS),
    st.builds(
        Command, st.sampled_from(["forget", "forget", "remember", "recall", "protect", "unprotect"]),
        st.integers(0, 30), st.integers(0, 4), CRITERIA, flag=st.booleans(),
    ),
    st.builds(Command, st.just("clear"), agent=AGENTS, flag=st.booleans()),
    st.builds(Command, st.sampled_from(["set_window", "shift_window"]), agent=AGENTS, hours=HOURS),
    st.builds(Command, st.sampled_from(["undo", "undo", "redo", "reset_window", "window_off"])),
)  # fmt: skip
CONDENSE = st.builds(
    Command,
    st.just("condense"),
    st.integers(0, 30),
    st.integers(0, 4),
    CRITERIA,
    hours=st.sampled_from([0, 2, 5]),
    flag=st.booleans(),
)
"""`compact` as users have it: with all strategies, whole or of a part."""
TO_COME = st.builds(
    Command, st.sampled_from(["compact", "compact", "trim", "edit", "restore"]), st.integers(0, 30),
    st.integers(0, 4), flag=st.booleans(),
)  # fmt: skip
DRAFTS = st.builds(Command, st.just("draft"), st.integers(0, 30), st.integers(0, 4))
"""`edit` as users have it: through its draft."""
CHANGES = COMMANDS.filter(lambda command: command.name not in ("undo", "redo"))
"""Everything but undo and redo."""


def tried(log: Log, command: Command, op_id: str | None = None) -> Op | None:
    """What the command appended; None where it said no. Any other failure is the test's."""
    log.op_id = op_id
    try:
        return command.call(log)
    except CtxkitError as error:
        assert error.code in (ExitCode.NO, ExitCode.USAGE), error
        return None
    finally:
        log.op_id = None


@st.composite
def turns(draw: st.DrawFn, at_most: int = 4) -> Records:
    """Records of a native log: a user's words, answers, parallel calls and their results, some of them missing."""
    found: Records = []
    for _ in range(draw(st.integers(1, at_most))):
        made = draw(st.integers(0, 3))
        found.append({"role": "user", "content": draw(WORDS)})
        ids = [f"c{draw(st.integers(0, 9))}{k}" for k in range(made)]
        calls = [{"id": i, "type": "function", "function": {"name": "Read", "arguments": "{}"}} for i in ids]
        answer: dict[str, Any] = {"role": "assistant", "content": draw(WORDS)}
        found.append({**answer, "tool_calls": calls} if calls else answer)
        results: Records = [{"role": "tool", "tool_call_id": i, "content": draw(WORDS)} for i in ids]
        kind = draw(st.sampled_from(["all", "all", "some", "reversed", "late"]))
        if kind == "late":
            found.append({"role": "user", "content": "meanwhile"})
        found += {"some": results[:1], "reversed": results[::-1]}.get(kind, results)
    return _dressed(draw, found)


def _dressed(draw: st.DrawFn, records: Records) -> Records:
    """With agents, threads, and times that are partly missing."""
    dress = draw(st.sampled_from(["plain", "timed", "mixed"]))
    for record in records:
        if dress == "timed" or (dress == "mixed" and draw(st.booleans())):
            hour, minute = draw(st.integers(0, 23)), draw(st.integers(0, 59))
            record["ts"] = f"2026-02-{draw(st.integers(1, 3)):02}T{hour:02}:{minute:02}:00Z"
        if dress == "mixed" and (agent := draw(AGENTS)):
            record.update(agent=agent, thread=f"of {agent}")
    return records


@st.composite
def conversations(draw: st.DrawFn, at_most: int = 4) -> Records:
    """A native log, perhaps with a system preamble."""
    start: Records = draw(st.sampled_from([[], [{"role": "system", "content": "be brief"}]]))
    return [dict(record) for record in start] + draw(turns(at_most))


def as_bytes(records: Iterable[dict[str, Any]]) -> bytes:
    """A line each."""
    return b"".join(dumps(record).encode("ascii") + b"\n" for record in records)


def opened(log: Path | bytes) -> Log:
    """A file, or a stream of these bytes; the clock stands still."""
    return Log.open(io.BytesIO(log) if isinstance(log, bytes) else log, clock=lambda: NOW)


def copied(log: Log) -> bytes:
    """The stream with what was appended."""
    return b"".join(log.copy_out())


def ops(log: Log) -> list[dict[str, Any]]:
    """The ops of a log in replay order, without what tells where they were typed."""
    return [
        {key: value for key, value in e.body.items() if key not in ("by", "prev", "sum")} for e in log.ledger.entries
    ]


def context(log: Log) -> list[str]:
    """What `show --json` prints, line by line, and what else a state holds that later decisions depend on."""
    state = log.state()
    marks = [(mark.op, mark.label, mark.position) for mark in state.marks]
    flags = [str(state.board.protected), str(state.board.unprotected), sorted(map(str, state.windows.items()))]
    return [*(dumps(as_json(log, entry)) for entry in log.entries()), repr(marks), repr(flags)]


RULES: dict[str, Callable[[dict[str, Any]], list[str]] | None] = {
    "chat": None,
    "openai": openai_rules.problems,
    "anthropic": anthropic_rules.problems,
    "gemini": partial(gemini_rules.problems, unasked=True),
}
"""The rules of each format; the user's next message is still to come."""


def exported(log: Log) -> dict[str, str]:
    """The context in every format, checked by validators that share no code with the writers."""
    found = {}
    for to, rules in RULES.items():
        try:
            values = [dumps(value) for value in log.export(to).values]
        except NothingToSend:
            values = []
        found[to] = "\n".join(values)
        for value in values if rules else ():
            assert rules(json.loads(value)) == []
    return found


def repaired(log: Log) -> int:
    """How many results an export must make up or leave out: what takes steps whole splits no pair and adds none."""
    try:
        repairs = log.export("openai").repairs
    except NothingToSend:
        return 0
    # a call without a result is answered or left out, as its place in the history has it: either way it is one
    return repairs.made + repairs.dropped + repairs.left_out.get("call that was never answered", 0)


def picture(log: Log) -> tuple[list[str], dict[str, str]]:
    """Everything that must be the same where two logs are said to have the same context."""
    return context(log), exported(log)


def findings(log: Log) -> set[str]:
    """Where `check` finds something."""
    return {f"{one.where} {'' if one.where.startswith('line') else one.code}" for one in log.check()}


def cli(*args: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """One command line in this process: exit code, stdout, stderr."""
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", write_through=True) for data in (stdin, b"", b"")]
    with (
        mock.patch.object(sys, "stdin", streams[0]), mock.patch.object(sys, "stdout", streams[1]),
        mock.patch.object(sys, "stderr", streams[2]),
    ):  # fmt: skip
        code = run(list(args))
    out, err = (stream.buffer.getvalue() for stream in streams[1:])
    return code, out, err.decode()
