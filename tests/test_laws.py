"""The laws of the log, on random logs: a model file, a stream, and every command, in any order.

One machine on native logs, one on a Claude Code session that grows row by row. After every step: the file opened anew,
the file as read on, and the stream are the same log; no byte that was there has changed; every export is valid.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxkit import Log
from ctxkit.core.context import shown_names
from ctxkit.core.ops import Op
from ctxkit.core.snapshot import Snapshot, whole
from ctxkit.core.text.json_text import loads
from ctxkit.snapshots.snapshot import keep as kept_now
from ctxkit.store.snapshot_files import pieces
from tests.effort import examples
from tests.lawful import (
    CHANGES,
    COMMANDS,
    CONDENSE,
    DRAFTS,
    ROOT,
    TO_COME,
    Command,
    Records,
    as_bytes,
    context,
    conversations,
    copied,
    findings,
    opened,
    ops,
    picture,
    repaired,
    tried,
    turns,
)

SESSIONS = [
    *(ROOT / f"fixtures/truth-claude-code/{name}.jsonl" for name in (
        "p71-preserved-siblings", "p70-preserved-toolpair", "p14-parallel-chain-mid", "p115-rewind",
        "p42-unanswered-mid-one-of-two", "p62-boundary-then-leaf-on-old-branch", "p65-preserved-segment",
        "p120-content-replacement",
    )),
    ROOT / "fixtures/guide/session.jsonl",
]  # fmt: skip


@dataclass(frozen=True)
class Brought(Command):
    """A restore of a snapshot."""

    kept: Snapshot | None = None
    summary: bool = False

    def call(self, log: Log) -> Op | None:
        """Through the Python API."""
        assert self.kept is not None
        return log.restore(self.kept, replace=self.flag, summary=self.summary)


class Machine(RuleBasedStateMachine):
    """A log in a file, and the same as a stream; what happens to one happens to the other."""

    native = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="laws-"))
        self.path = self.folder / "log.jsonl"
        self.stream = b""
        self.count = 0
        self.seen: dict[int, list[str]] = {}
        """Op number -> the context right after it."""
        self.kept: list[Snapshot] = []

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def begin(self, content: bytes) -> None:
        """The log as it is found."""
        self.path.write_bytes(content)
        self.stream = content
        self.long = opened(self.path)

    def foreign(self, content: bytes) -> None:
        """Somebody else appends, to the file and to the stream."""
        with self.path.open("ab") as file:
            file.write(content)
        self.stream += content
        self.long.refresh()

    def apply(self, command: Command) -> Op | None:
        """One command, on the file and in a pipe."""
        before, mtime, found = self.path.read_bytes(), self.path.stat().st_mtime_ns, findings(self.long)
        seen = len(self.long.state().shown().numbers) + len(self.long.state().shown().items)
        mended = repaired(self.long)
        self.count += 1
        op = tried(self.long, command, f"a{self.count:04}")
        pipe = opened(self.stream)
        piped = tried(pipe, command, f"a{self.count:04}")
        self.stream = copied(pipe)
        assert op == piped
        assert op is None or pipe.said == self.long.said
        after = self.path.read_bytes()
        assert after.startswith(before)
        assert after == (self.stream if self.native else before)
        assert self.path.stat().st_mtime_ns == mtime or (self.native and op is not None)
        assert findings(self.long) <= found
        assert repaired(self.long) <= mended or command.name not in ("forget", "remember", "protect", "unprotect")
        if op is not None:
            shown = len(list(Log.names(self.long))) if not any(self.long.state().windows.values()) else None
            assert op.before is None or op.before.messages == seen
            assert op.after is None or shown is None or op.after.messages == shown
            self.seen[len(self.long.ledger.entries)] = context(self.long)
        return op

    @rule(command=COMMANDS | CONDENSE | DRAFTS)
    def run(self, command: Command) -> None:
        """Any command."""
        self.apply(command)

    @rule(command=CHANGES | TO_COME | CONDENSE | DRAFTS)
    def there_and_back(self, command: Command) -> None:
        """Undo of the newest op gives the context from before, byte for byte; redo restores it."""
        before = picture(self.long)
        if self.apply(command) is None:
            assert picture(self.long) == before
            return
        after = picture(self.long)
        for expected, step in ((before, "undo"), (after, "redo"), (before, "undo"), (after, "redo")):
            assert self.apply(Command(step)) is not None
            assert picture(self.long) == expected

    @rule(commands=st.lists(CHANGES | TO_COME | CONDENSE | DRAFTS, min_size=2, max_size=4))
    def walk(self, commands: list[Command]) -> None:
        """Undos walk back, redos walk forth, through the same contexts."""
        pictures = [picture(self.long)]
        for command in commands:
            if self.apply(command) is not None:
                pictures.append(picture(self.long))
        for expected in pictures[-2::-1]:
            self.apply(Command("undo"))
            assert picture(self.long) == expected
        for expected in pictures[1:]:
            self.apply(Command("redo"))
            assert picture(self.long) == expected

    @rule(everything=st.booleans())
    def keep(self, everything: bool) -> None:
        """A snapshot is the same of a file and of a stream, and leaves both as they are."""
        if not self.long.names():
            return
        before = self.path.read_bytes()
        taken = self.long.snapshot(f"s{len(self.kept)}", all=everything)
        piped = opened(self.stream).snapshot(f"s{len(self.kept)}", all=everything)
        for kept in (taken.kept, piped.kept):
            assert whole(loads(b"".join(pieces(kept.body, kept)))) == kept
        assert (piped.id, piped.kept.messages, piped.kept.held) == (taken.id, taken.kept.messages, taken.kept.held)
        assert (piped.kept.head.at, piped.kept.head.prefix) == (taken.kept.head.at, taken.kept.head.prefix)
        assert self.path.read_bytes() == before
        self.kept.append(taken.kept)

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), flag=st.booleans(), summary=st.booleans())
    def come_back(self, data: st.DataObject, flag: bool, summary: bool) -> None:
        """Replaced, the context is exactly the snapshot; undone, the one before."""
        kept, before = data.draw(st.sampled_from(self.kept)), picture(self.long)
        if self.apply(Brought("restore", flag=flag, kept=kept, summary=summary)) is None:
            assert picture(self.long) == before and not flag
            return
        if flag and not summary:
            assert kept_now(self.long).messages == kept.messages
        self.apply(Command("undo"))
        assert picture(self.long) == before

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        """`--at OP` shows what was the context then."""
        number = data.draw(st.sampled_from(sorted(self.seen)))
        log = opened(self.path)
        log.at = str(number)
        assert context(log) == self.seen[number]

    @invariant()
    def one_log(self) -> None:
        """Opened anew, read on, as a stream, and with its sidecar merged in: the same ops, context and exports."""
        expected = picture(self.long)
        fresh = opened(self.path)
        merged = b"".join(fresh.merged())
        for log in (fresh, opened(self.stream), opened(merged)):
            assert ops(log) == ops(self.long)
            assert [entry.place for entry in log.ledger.entries] == [entry.place for entry in self.long.ledger.entries]
            assert picture(log) == expected
        assert (merged == self.stream) or not self.native


class NativeLog(Machine):
    """A native log, to which others append messages, other rows, and halves of rows."""

    @initialize(records=conversations())
    def start(self, records: Records) -> None:
        """What is found."""
        self.begin(as_bytes(records))

    @rule(records=turns(2))
    def somebody_writes(self, records: Records) -> None:
        """Messages come: before a window is looked at, nothing that was there changes."""
        before = list(shown_names(self.long.state()))
        count = len(self.long.messages)
        self.foreign(as_bytes(records))
        assert list(shown_names(self.long.state()))[: len(before)] == before
        assert len(self.long.messages) >= count + len(records) - 1  # behind half a row, one may be lost to it

    @rule(
        content=st.sampled_from(
            [b'{"type":"progress"}\n', b'{"role":"us', b"\n", b"no JSON\n", b'{"ctxkit":5,"role":"user"}\n']
        )
    )
    def somebody_else_writes(self, content: bytes) -> None:
        """Rows that are no messages, a half one, and damage."""
        self.foreign(content)


class ForeignLog(Machine):
    """A Claude Code session, which goes on row by row."""

    native = False

    @initialize(session=st.sampled_from(SESSIONS), share=st.floats(0.1, 1))
    def start(self, session: Path, share: float) -> None:
        """Its first rows."""
        rows = session.read_bytes().splitlines(keepends=True)
        cut = max(1, int(len(rows) * share))
        self.rest = rows[cut:]
        self.begin(b"".join(rows[:cut]))

    @precondition(lambda self: self.rest)
    @rule(count=st.integers(1, 3))
    def program_writes(self, count: int) -> None:
        """Further rows: whatever they are, messages keep their numbers and identities."""
        before = [(message.key, message.role) for message in self.long.messages]
        self.foreign(b"".join(self.rest[:count]))
        del self.rest[:count]
        assert [(message.key, message.role) for message in self.long.messages][: len(before)] == before


STEPS = settings(max_examples=examples(40), stateful_step_count=10)
TestNativeLog = pytest.mark.slow(NativeLog.TestCase)
TestNativeLog.settings = STEPS
TestForeignLog = pytest.mark.slow(ForeignLog.TestCase)
TestForeignLog.settings = STEPS
