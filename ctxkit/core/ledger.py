"""The ledger: the ops of a log in order, numbered, with those that an undo has voided.

Pipeline: `Transcript.ops` -> `ledger` -> `replay`. The first of two passes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Damage
from ctxkit.core.ops import Forget, Interrupted, Op, Undo, parse
from ctxkit.core.transcript import OpLine, Transcript
from ctxkit.errors import NoSuchOp

When = tuple[int, int]
"""A point in the merged order of rows and ops: the rows before it, then its ordinal among what stands there."""


class LedgerEntry(msgspec.Struct):
    """An op in its place. `op` is None if name or version is unknown, or if it cannot be read (`fault` says why).

    `number`: its position among the log's ops, from 1; `place`: the rows before it that are not ops; `void`: it was
    undone.
    """

    number: int
    id: str
    name: str
    body: dict[str, Any]
    op: Op | None
    fault: str
    line: OpLine
    place: int
    void: bool = False
    voided_by: int = 0

    @property
    def when(self) -> When:
        """Its position in the merged order."""
        return self.place, self.number


class Ledger(msgspec.Struct):
    """All ops in merged order. `damage`: ids used twice with different bodies."""

    entries: list[LedgerEntry]
    by_id: dict[str, LedgerEntry]
    damage: list[Damage]

    def upto(self, number: int) -> Ledger:
        """The ledger as it was right after op `number` was written: later undos do not count (replay 46)."""
        entries = [msgspec.structs.replace(e, void=False, voided_by=0) for e in self.entries[:number]]
        return _voided(entries, self.damage)

    def find(self, name: str) -> LedgerEntry:
        """The op with this number, id, or unique prefix of an id. Raises NoSuchOp."""
        if name.isascii() and name.isdigit() and 0 < int(name) <= len(self.entries):
            return self.entries[int(name) - 1]
        if name in self.by_id:
            return self.by_id[name]
        found = [entry for key, entry in self.by_id.items() if name and key.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(entry.id for entry in found[:5])
            raise NoSuchOp(f"op {name} is not unique: {some}", "give more of the id")
        count = len(self.entries)
        raise NoSuchOp(f"no op {name}", f"the log has {count} op{'s' * (count != 1)}: ctxkit log LOG")

    def undone(self, entry: LedgerEntry) -> list[LedgerEntry]:
        """The op that an undo voids; if that is an undo too, then the op that it voids, and so on."""
        found: list[LedgerEntry] = []
        while isinstance(entry.op, Undo) and (target := self.by_id.get(entry.op.op)) is not None:
            if target.number >= entry.number:  # a damaged log
                break
            found.append(target)
            entry = target
        return found

    def name_of(self, entry: LedgerEntry) -> str:
        """The name of an op; an undo of an undo is a `redo`."""
        undone = self.undone(entry)
        return "redo" if undone and len(undone) % 2 == 0 else entry.name

    @property
    def unknown(self) -> list[LedgerEntry]:
        """Ops in force that this ctxkit does not know."""
        return [e for e in self.entries if e.op is None and not e.fault and not e.void]


def build_on(ledger: Ledger, transcript: Transcript) -> Ledger | None:
    """The ledger of a transcript that goes on where that of `ledger` ended; None if what came may change what was
    before: an undo, a repeated id, an op that belongs to another place.
    """
    count = len(ledger.entries)
    if count and (len(transcript.ops) < count or transcript.ops[count - 1] is not ledger.entries[-1].line):
        return None
    if len(transcript.ops) == count:
        return ledger
    new = build(msgspec.structs.replace(transcript, ops=transcript.ops[count:]))
    if len(new.entries) < len(transcript.ops) - count:
        return None
    for entry in new.entries:
        again = entry.id in ledger.by_id or completed(entry, ledger.by_id)
        if again or entry.void or entry.line.sidecar or isinstance(entry.op, Undo):
            return None
        entry.number += count
    return Ledger([*ledger.entries, *new.entries], ledger.by_id | new.by_id, ledger.damage)


def build(transcript: Transcript) -> Ledger:
    """Orders, numbers and parses the ops of a transcript, drops repeated ones, and voids the undone ones."""
    placed = [(_place(line, transcript), line) for line in transcript.ops]
    placed.sort(key=lambda pair: (pair[0], pair[1].sidecar))
    entries: list[LedgerEntry] = []
    seen: dict[str, dict[str, Any]] = {}
    damage: list[Damage] = []
    for place, line in placed:
        body = line.body
        key = body.get("id")
        if isinstance(key, str) and key:
            if key in seen:
                if seen[key] != body:
                    text = f"op id {key} is used again with another body: the first one counts"
                    damage.append(Damage(line=line.line, offset=0, code="op-conflict", text=text))
                continue
            seen[key] = body
        op, fault = None, ""
        try:
            op = parse(body)
        except ValueError as error:
            fault = str(error)
        if isinstance(op, Interrupted):
            op.at.messages = line.messages
        name = key if isinstance(key, str) else ""
        entries.append(LedgerEntry(len(entries) + 1, name, body["ctxkit"], body, op, fault, line, place))
    return _voided(entries, damage)


def _voided(entries: list[LedgerEntry], damage: list[Damage]) -> Ledger:
    by_id = {entry.id: entry for entry in entries if entry.id}
    for number, by in void_ops(entries, by_id).items():
        entries[number - 1].void, entries[number - 1].voided_by = True, by
    return Ledger(entries=entries, by_id=by_id, damage=damage)


def void_ops(entries: Sequence[LedgerEntry], by_id: Mapping[str, LedgerEntry]) -> dict[int, int]:
    """The numbers of the ops that are void where `entries` has all undos and cleanups; each with its undo.

    The undos are read from the newest to the oldest; one that is itself undone is void. A cleanup is undone with its
    op.
    """
    void: dict[int, int] = {}
    for entry in reversed(entries):
        if isinstance(entry.op, Undo) and entry.number not in void:
            target = by_id.get(entry.op.op)
            if target is not None and target.number < entry.number:
                void.setdefault(target.number, entry.number)
    for entry in entries:
        done = completed(entry, by_id)
        if done is not None and done.number in void:
            void.setdefault(entry.number, void[done.number])
    return void


def completed(entry: LedgerEntry, by_id: Mapping[str, LedgerEntry]) -> LedgerEntry | None:
    """The op that a cleanup completes; None for every other op."""
    op = entry.op
    done = by_id.get(op.cleans) if isinstance(op, Forget) and op.cleans else None
    return done if done is not None and done.number < entry.number else None


def _place(line: OpLine, transcript: Transcript) -> int:
    """The number of rows before the op. A sidecar's op comes after row `at.rows`, else after message `at.messages`
    (replay 21).
    """
    if not line.sidecar:
        return line.rows
    at = line.body.get("at")
    at = at if isinstance(at, dict) else {}
    rows, messages = at.get("rows"), at.get("messages")
    row_of: Sequence[int] = transcript.row_of
    if not isinstance(messages, int) or messages > len(row_of):
        return transcript.rows
    if isinstance(rows, int) and rows <= transcript.rows and bisect_left(row_of, rows) == messages:
        return rows
    return row_of[messages - 1] + 1 if messages > 0 else 0
