"""Appends ops and messages to an opened log: stamped, durable, and never to the wrong log.

A native file gets its ops itself; a log that another program owns gets them in its sidecar; a stream is copied out,
followed by its ops. Law 4: everything is decided before the lock is taken.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar, cast

import msgspec

from ctxkit.core.context import shown_names
from ctxkit.core.ledger import build, build_on
from ctxkit.core.messages import Text
from ctxkit.core.ops import Edit, LogPosition, Op, Restore, parse, to_body
from ctxkit.core.replay import fold, fold_on
from ctxkit.core.roles import SIDES, known, nearest, side
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.text.json_text import dumps, loads, spelled
from ctxkit.core.text.redaction import find_secrets
from ctxkit.core.text.redactor import Redactor, secret_values
from ctxkit.core.times import iso
from ctxkit.core.transcript import OpLine
from ctxkit.errors import BadMessage, ForeignLog, MissingHistory, UnknownRole, Usage
from ctxkit.formats.base import Row
from ctxkit.formats.chat import FOREIGN, ChatFormat
from ctxkit.formats.chat_parts import parts_of
from ctxkit.formats.columns import Columns
from ctxkit.logfile.history import hint_of
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import read_source, reread
from ctxkit.store.durable_append import append_line, make_durable
from ctxkit.store.joined import JoinedSource
from ctxkit.store.jsonl import BlockReader, read_blocks
from ctxkit.store.source import GrowingSource, Source, open_log
from ctxkit.version import VERSION

BESIDE = "the change is beside the log; a pipe begins with ctxkit cat LOG"
"""Said once of a log of chat messages that is taken for a program's."""
EACH = "say --own with each command on this log: without it a change goes beside it, and --own is refused from then on"
"""Said once of a log that is the user's by `--own` alone."""
TYPED = ("by", "label", "criteria", "focus", "target", "asked", "answer")
"""Fields of ops that hold what a person typed, or a model answered, and no text of a message."""
EMPTY = "--force takes it; in Python as_it_is=True"
"""The hint at an empty text that is refused."""


T = TypeVar("T")


UNKEPT = "a secret was typed: what is kept is without it"
"""What is said of secrets in what was typed."""


class OpsAppended(Exception):
    """Ops were appended since the log was read, so a decision made on it may be wrong now."""


class AppendableLog(OpenLog):
    """A log that can be appended to. `args`: the command line, kept in the ops' `by`; `dry_run`: append nothing."""

    args: tuple[str, ...] = ()
    hidden = 0
    """Secrets in what was typed, which the last op does not keep."""
    dry_run = False
    notes: Sequence[str] = ()
    """More to say of the last decision."""
    through: tuple[Op, ...] = ()
    """Ops of `look_through`, which no log has."""

    def here(self) -> LogPosition:
        """How far the log reaches now."""
        if self.at is not None:
            raise Usage("--at shows a past state; ops can only be appended to the present state", "leave --at out")
        count = len(self.messages)
        return LogPosition(messages=count, last=self.identity(count) if count else "", rows=self.transcript.rows)

    def stamp(self, op: Op, op_id: str | None = None) -> Op:
        """The op with its id, time and author, without secrets in what was typed.

        Ids start with a letter, because op numbers are digits.
        """
        by = {"args": list(self.args), "version": VERSION} if self.args else {"version": VERSION}
        moment: float = int(self.clock())
        if isinstance(op, Edit | Restore):  # its items get its time, which is not before that of the log (replay 37)
            moment = max(moment, self.state().last or moment)
        stamped = msgspec.structs.replace(op, id=op_id or new_id(), ts=iso(moment), by=by)
        typed = {name: held for name in TYPED if (held := getattr(stamped, name, None))}
        for what, named in (("the op's id", op_id), ("the agent's name", getattr(stamped, "agent", None))):
            if named is not None and find_secrets(named):
                raise Usage(f"{what} looks like a secret, and a log keeps it: nothing was appended", "another name")
        clean = self.as_kept(typed)
        return stamped if clean is typed else msgspec.structs.replace(stamped, **clean)

    def as_kept(self, typed: T) -> T:
        """What was typed, as it is kept: without secrets. `hidden` says how many there were."""
        redactor = Redactor(secret_values(os.environ))
        kept = redactor.value(typed)
        self.hidden = redactor.count
        return cast(T, kept)

    def state_with(self, *ops: Op) -> State:
        """The state as it would be with `ops` after everything, or after op `at` if an earlier state is shown.

        Ops of `look_through` come before it.
        """
        transcript, there = self.transcript, self.transcript.ops
        if self.at is not None:
            transcript, ledger = self.back_to(self.at)
            there = [entry.line for entry in ledger.entries]
        beside = self._beside()
        lines = [
            OpLine(to_body(one), transcript.rows, len(transcript.messages), sidecar=beside)
            for one in (*self.through, *ops)
        ]
        more = msgspec.structs.replace(transcript, ops=[*there, *lines])
        known = self._state
        if known is not None and self.at is None and not self.force and (grown := build_on(known.ledger, more)):
            found = fold_on(known, more, grown, force=True)
            if found is not None:
                return found
        return fold(more, build(more), force=True)

    def with_op(self, op: Op) -> Self:
        """A view of this log as it would be with `op`, which gets an id and a time if it has none."""
        return self.seen_at(self.state_with(op if op.id else self.stamp(op)))

    def _beside(self) -> bool:
        """Whether the next op belongs to a sidecar's ops; those given for a stream (--sidecar) are copied out with
        it.
        """
        opening = self.opening
        if opening.path is not None:
            return not opening.in_place
        return any(line.sidecar for line in self.transcript.ops)

    def shape(self, state: State | None = None) -> list[Any]:
        """The composition of a context, including the sidechains of the log, for comparing two."""
        state = self.state() if state is None else state
        board = state.board
        names = [list(shown_names(state, thread)) for thread in (None, *state.threads)]
        words = [(name, board.items[name].message) for name in sorted(board.items)]
        return [names, words, sorted(map(str, board.stubs.items())), state.windows, str(board.protected)]

    def append(self, body: dict[str, Any], recheck: Callable[[], None] | None = None) -> None:
        """Append one op, durably. Raises OpsAppended if ops were appended since the log was read; UpdatedElsewhere,
        Locked, WriteFailed, NoPermission: then the op does not count as appended; Usage for one that no log could read.

        `recheck`: called if messages were appended since, while the log is locked; an error that it raises refuses the
        op.
        """

        def grown(ops: bool) -> None:
            if ops:
                raise OpsAppended
            if recheck is not None:
                recheck()

        def either(ops: bool) -> None:
            """`ops`: ops of ctxkit came; else also look for an op in the log itself, such as `interrupted`."""
            path, seen = opening.path, opening.source.seen
            if not ops and path is not None and seen is not None and opening.laid_out is opening.source:
                ops = _holds_op(open_log(path), opening.source.size)
            grown(ops)

        if self.transcript.missing:
            raise MissingHistory(f"{self.opening.name}: {self.transcript.missing}", hint_of(self.transcript.missing))
        line = dumps(body).encode("ascii")
        try:
            parse(loads(line))
        except ValueError as error:  # a program gave a value of another type
            raise Usage(f"{body['ctxkit']}: {error}: nothing was appended", "a value of this type") from error
        opening = self.opening
        if isinstance(opening.source, GrowingSource):
            opening.source.append(line)
            self.refresh()
            return
        if opening.path is None:
            beside = self._beside()
            self.transcript.ops.append(OpLine(body, self.transcript.rows, len(self.messages), sidecar=beside))
            if not beside:
                opening.pending.append(line)
            self._state = self._ledger = None
            return
        if opening.in_place:
            first = opening.own and (opening.by_folder or opening.owner) and not self.transcript.ops
            append_line(opening.path, line, opening.source.seen, lambda now, start: grown(_holds_op(now, start)))
            self.notes = [*self.notes, EACH] if first else self.notes
        else:
            if opening.sidecar is None:
                raise ForeignLog(f"{opening.name} belongs to another program and has no sidecar", "--sidecar DIR")
            first = not opening.sidecar_size
            opening.sidecar.append(line, opening.path, opening.source.seen, opening.sidecar_size, either)
            if first and (opening.by_folder or opening.owner):
                taken = f"a session of {opening.owner}, by its rows or its place: " if opening.owner else ""
                self.notes = [*self.notes, taken + BESIDE]
        self.refresh()

    def make_durable(self) -> None:
        """Sync what was appended to this log. Raises WriteFailed, NoSuchLog, NoPermission."""
        opening = self.opening
        if opening.path is None or self.dry_run:
            return
        if opening.in_place:
            make_durable(opening.path)
        elif opening.sidecar is not None:
            opening.sidecar.make_durable()

    def add_message(self, record: dict[str, Any]) -> None:
        """Append a message to a native log. Raises ForeignLog, BadMessage."""
        opening = self.opening
        if not (opening.format.native or (opening.own and opening.in_place)):
            owner = opening.format.name
            what = f"is a {owner} file, which another program owns"
            if opening.source.compressed:
                what = "is compressed"
            elif opening.owner:
                what = f"is a session of {opening.owner}"
            elif opening.by_folder:
                what = "is in a folder in which programs keep their own files"
            elif opening.format is FOREIGN:
                what = "carries the keys of another program's log"
            hint = "ops on it go to its sidecar; messages are added by its own program"
            if opening.by_folder or opening.owner:
                copy = f"ctxkit cat {opening.name} >COPY makes a log with them, for which --own can be said"
                hint += f"; if it is yours: {copy if opening.sidecar_size else '--own'}"
            raise ForeignLog(f"{opening.name} {what}: no message was added", hint)
        require_message(record)
        if self.dry_run:
            return
        line = dumps(record).encode("ascii")
        if isinstance(opening.source, GrowingSource):
            opening.source.append(line)
            self.refresh()
            return
        if opening.path is None:
            opening.pending.append(line)
            return
        append_line(opening.path, line, opening.source.seen)
        self.refresh()

    def refresh(self) -> None:
        """Read what was appended since, by us or others."""
        self.opening = reread(self.opening)
        # the next state goes on from the newest one, so that a message does not cost a replay
        self._earlier = self._earlier if self._state is None or self.at is not None else self._state
        self._state = self._ledger = None

    def afresh(self) -> Self:
        """The same log as it is now, as a new object: this object keeps what it has read."""
        opening, found = self.opening, copy.copy(self)
        if opening.path is not None:
            found.opening = read_source(
                opening.name, opening.path, open_log(opening.path), opening.sidecar, conversation=opening.conversation,
                format=opening.format.name, own=opening.own,
            )  # fmt: skip
            found._state = found._ledger = None
        return found

    def merged(self) -> Iterator[bytes]:
        """The log byte for byte, with its history in other files before it, and the sidecar's ops on lines of their own
        at their places (replay 21).
        """
        opening = self.opening
        waiting = [entry for entry in self.ledger.entries if entry.line.sidecar]
        written, row = 0, 0
        lines = opening.laid_out if isinstance(opening.laid_out, JoinedSource) else opening.source
        blocks = read_blocks(lines, Row, []) if lines is opening.laid_out and waiting else ()
        for block in blocks:
            for i, record in enumerate(block.rows):
                if isinstance(record.ctxkit, str):
                    continue
                while waiting and waiting[0].place <= row:
                    start = block.offsets[i]
                    if lines.read(start - 1, 1) != b"\n" and start:
                        break  # a record on the line of another: the op comes after this line
                    yield from lines.chunks(written, start)
                    written = start
                    yield spelled(waiting.pop(0).body).encode("ascii") + b"\n"
                row += 1
        yield from lines.chunks(written)
        if waiting and lines.size and lines.read(lines.size - 1, 1) != b"\n":
            yield b"\n"
        for entry in waiting:
            yield spelled(entry.body).encode("ascii") + b"\n"

    def copy_out(self) -> Iterator[bytes]:
        """The whole stream byte for byte, with the ops of a named sidecar, then what was appended to it."""
        source = self.opening.source
        yield from self.merged() if self._beside() else source.chunks()
        if self.opening.pending and source.size and source.read(source.size - 1, 1) != b"\n":
            yield b"\n"
        for line in self.opening.pending:
            yield line + b"\n"


def _holds_op(source: Source, start: int) -> bool:
    """Whether there is an op after `start`, or may be one: a record that was cut off there may have been an op."""
    if start and source.read(start - 1, 1) != b"\n":
        return True
    return any(isinstance(row.ctxkit, str) for block in BlockReader(source, Row, [], start=start) for row in block.rows)


_ID = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def check_id(text: str) -> None:
    """Raises Usage for an op id that could be read as a number, a range, a list or an item."""
    if _ID.fullmatch(text) is None:
        raise Usage(f"--op-id {text!r} is not an id", "letters, digits, - and _; at least one letter; 128 at most")


def require_message(record: dict[str, Any]) -> None:
    """Raises BadMessage for something that would not be read back as a message."""
    role = record.get("role")
    if not isinstance(role, str) or not role.strip() or isinstance(record.get("ctxkit"), str):
        raise BadMessage("a message needs a `role` (user, assistant, …), and no `ctxkit` key: nothing was added")


def require_sayable(record: dict[str, Any], *, empty: bool = False) -> None:
    """Raises UnknownRole for a role that nobody knows, whose words a model would get as the user's; Usage for an empty
    message, if that is not allowed (`empty`). A result may be empty, and so may a model's answer, which is what it is.
    """
    role = record["role"]
    if not known(role):
        near = nearest(role)
        hint = f"the nearest is {near}" if near else f"known: {', '.join(SIDES)}"
        raise UnknownRole(f"unknown role {role[:40]!r}: nothing was added", f"{hint}; a speaker is a `name` (--name)")
    if empty or side(role) in ("assistant", "tool"):
        return
    if all(isinstance(part, Text) and not part.text.strip() for part in parts_of(record)):
        raise Usage("the text is empty: nothing was added", EMPTY)


def strange_roles(log: OpenLog) -> dict[str, Ranges]:
    """The roles of a log that nobody knows, and the numbers of their messages. Other formats than chat have no free
    roles.
    """
    messages = log.messages if isinstance(log.opening.format, ChatFormat) else ()
    roles = messages.roles if isinstance(messages, Columns) else [message.role for message in messages]
    found: dict[str, list[int]] = {role: [] for role in dict.fromkeys(roles) if not known(role)}
    for n, role in enumerate(roles if found else (), 1):
        if role in found:
            found[role].append(n)
    return {role: Ranges.of(numbers) for role, numbers in found.items()}


def new_id() -> str:
    """A new op id: 12 hex digits, the first a letter, so that it is never taken for a number."""
    drawn = os.urandom(8).hex()
    return "abcdef"[int(drawn[12:], 16) % 6] + drawn[1:12]
