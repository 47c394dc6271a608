"""A Claude Code session after ops: every row that stays keeps its bytes, except ids and the link to its parent.

Pipeline: the rows are read once more -> `RowEdits` finds what is removed, inserted and relinked -> patches of the file.
If the context is not a part of what the program would send, in the program's order, the chain is written anew
(`chain_writing.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Any

import msgspec

from ctxkit.core.messages import Repairs
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.splice import Path
from ctxkit.formats.base import Edited, MessageToWrite, NewSession, Written
from ctxkit.formats.claude_code.chain_writing import merged_keys, rewrite_chain
from ctxkit.formats.claude_code.content import without_thinking
from ctxkit.formats.claude_code.links import RowKind
from ctxkit.formats.claude_code.reader import on_chain
from ctxkit.formats.claude_code.rows import text
from ctxkit.formats.claude_code.session_rows import (
    Changes,
    SessionEntries,
    SessionEntry,
    SessionRow,
    as_line,
    changed,
    entries_of,
    shortened,
)
from ctxkit.formats.claude_code.sessions import marker, row_of
from ctxkit.formats.patching import Patch, patched

PARENT: Path = ("parentUuid",)
SESSION: Path = ("sessionId",)
SIDE: Path = ("isSidechain",)
_LAST = 1 << 60
"""The order of a row's own patch: insertions at its place come before it."""


class _NotInPlace(Exception):
    """Raised if removing and inserting rows cannot give the context."""


def rewrite(edited: Edited, session: NewSession) -> Written:
    """The session after ops."""
    if not edited.changed:
        return _copied(edited, session)
    rows = SessionEntries(edited)
    repairs = Repairs()
    identity, renamed = session.id or rows.session, bool(session.id)
    session = msgspec.structs.replace(session, id=identity)
    keys: list[str] = []
    written = edited.context
    pieces: Iterable[bytes]
    try:
        if edited.moved:
            raise _NotInPlace
        plan = RowEdits(edited, rows, session, repairs)
        staying = _patches(edited, rows.entries, session, plan.changes, renamed=renamed)
        pieces = patched(edited.read, edited.size, merge(staying, sorted(plan.added)))
        keys = plan.keys
    except _NotInPlace:
        repairs = Repairs()
        pieces, keys, written = rewrite_chain(edited, rows, session, repairs)
    readings = [keys, merged_keys(written, rows, keys)] if len(keys) == len(written) else [keys]
    return Written(identity, f"{identity}.jsonl", pieces, repairs, len(edited.context), readings if keys else [])


def _is_subagents(edited: Edited) -> bool:
    """Whether the file is that of a subagent, all in a sidechain, which Claude Code does not go on with."""
    first = next((row for block in edited.blocks(SessionRow) for row in block.rows if on_chain(row)), None)
    return first is not None and first.isSidechain is True


def _copied(edited: Edited, session: NewSession) -> Written:
    """The session with another id, or its own, and no other change; no row is kept in memory."""

    def entries() -> Iterator[SessionEntry]:
        return (entry for block in edited.blocks(SessionRow) for entry in entries_of(block))

    identity = session.id
    for entry in entries() if not identity else ():
        identity = entry.session or identity
    pieces = patched(edited.read, edited.size, _patches(edited, entries(), session, {}, renamed=bool(session.id)))
    return Written(identity, f"{identity}.jsonl", pieces, Repairs(), len(edited.context))


def _patches(
    edited: Edited, entries: Iterable[SessionEntry], session: NewSession, changes: Mapping[int, Changes | None], *,
    renamed: bool,
) -> Iterator[Patch]:  # fmt: skip
    """A patch for each row that is an op, is removed, or changes, in file order.

    `changes`: by offset; None: the row is removed. `renamed`: the session has a new id; then no row is in a sidechain
    any longer if the file was a subagent's.
    """
    subagents = renamed and _is_subagents(edited)
    for entry in entries:
        asked = changes.get(entry.offset, {})
        if entry.op or asked is None:
            yield Patch(entry.offset, _LAST, entry.size, b"")
            continue
        if renamed and entry.session:
            asked = {SESSION: session.id, **asked}
        if subagents and entry.side:
            asked = {SIDE: False, **asked}
        if asked:
            yield Patch(entry.offset, _LAST, entry.size, changed(edited.read(entry.offset, entry.size), asked))


class RowEdits:
    """Changes of the rows in their places.

    `changes`: offset -> new values in that row; None: it is removed. `added`: new rows. `keys`: the keys that reading
    the session must give.
    """

    def __init__(self, edited: Edited, rows: SessionEntries, session: NewSession, repairs: Repairs) -> None:
        self.edited, self.rows, self.session, self.repairs = edited, rows, session, repairs
        self.chain = rows.chain
        self.links = rows.chain.links
        self.limit = len(self.links)
        self.changes: dict[int, Changes | None] = {}
        self.added: list[Patch] = []
        self.keys: list[str] = []
        self.relinks = self.chain.relinks(self.limit)
        self.path = self.chain.newest(self.limit).links
        self.out = {i for i, n in enumerate(self.links.numbers) if n and n in edited.gone}
        self.context = [self._as_row(kept) for kept in edited.context]
        self.stubs = [kept for kept in self.context if kept.n and kept.content is not None]
        for kept in self.stubs:
            self.out.update(rows.links_of[kept.n][1:])
        self._drop_thinking()
        self._remove()
        self._rejoin()
        self._shorten()
        self._insert_new()
        self._end()

    def _as_row(self, kept: MessageToWrite) -> MessageToWrite:
        """A shortened attachment as a new message: it can no longer be an attachment row."""
        if not kept.n or kept.content is None:
            return kept
        links = self.rows.links_of[kept.n]
        if self.links.kinds[links[0]] <= RowKind.ASSISTANT:
            return kept
        self.out.update(links)
        return MessageToWrite(0, kept.content, kept.ts or text(self.links.times[links[0]]) or None)

    def parent(self, i: int) -> str | None:
        """The uuid of the nearest row above link i that stays; None at a root."""
        seen = {i}
        up = self._up(i, seen)
        while up in self.out and up not in seen:
            seen.add(up)
            up = self._up(up, seen)
        return self.links.uuids[up] if up >= 0 and up not in self.out else None

    def _up(self, i: int, seen: set[int]) -> int:
        """The link above, as the program would find it."""
        if i in self.relinks.parents:
            return self.relinks.parents[i]
        uuid = self.links.parent(i)
        if not uuid:
            return -1
        if self.chain.parent(i, self.limit) == -2:
            return self.chain.bridge(i, self.limit, seen, self.relinks)
        return self.links.find(uuid, self.limit)

    def change(self, i: int, path: Path, value: Any) -> None:
        """Set a new value in the row of link i."""
        self._change(self.rows.of_link[i].offset, path, value)

    def _change(self, offset: int, path: Path, value: Any) -> None:
        asked = self.changes.setdefault(offset, {})
        if asked is not None:
            asked[path] = value

    def _drop_thinking(self) -> None:
        """Remove the thinking of bare messages, and rows that hold nothing else."""
        for kept in self.context:
            for i in self.rows.links_of[kept.n] if kept.bare else ():
                entry = self.rows.of_link[i]
                rest = without_thinking(loads(self.edited.read(entry.offset, entry.size)))
                if rest:
                    self.change(i, ("message", "content"), rest)
                elif rest is not None:
                    self.out.add(i)

    def _key(self, kept: MessageToWrite) -> str:
        """The uuid of a message in the session: that of its first row that stays."""
        return next(self.links.uuids[i] for i in self.rows.links_of[kept.n] if i not in self.out)

    def _remove(self) -> None:
        """Remove rows, and relink the rows that refer to them."""
        out_uuids: dict[str, int] = {}
        for i in self.out:
            self.changes[self.rows.of_link[i].offset] = None
            out_uuids[self.links.uuids[i]] = i
        staying = {uuid for i, uuid in enumerate(self.links.uuids) if i not in self.out}
        for i in range(self.limit):
            parent = self.links.parent(i)
            if i in self.out or not parent:
                continue
            lost = self.chain.parent(i, self.limit) == -2
            if (parent in out_uuids and parent not in staying) or (
                lost and self.chain.bridge(i, self.limit, {i}, self.relinks) in self.out
            ):
                self.change(i, PARENT, self.parent(i))
        for entry in self.rows.entries:
            for path, uuid in ((("leafUuid",), entry.leaf), (("logicalParentUuid",), entry.logical)):
                if uuid in out_uuids and uuid not in staying:
                    self._change(entry.offset, path, self.parent(out_uuids[uuid]))
        for boundary in self.chain.preserved:
            self._preserve(boundary)

    def _rejoin(self) -> None:
        """Put rows of a response into the chain if the rows beside which they were put back (rule 4) are removed.

        If one of two copies of a history is removed, the other is no longer put back.
        """
        responses = self.rows.responses
        first = {self.links.numbers[i]: i for i in reversed(self.path) if i not in self.out}
        last = {self.links.numbers[i]: i for i in self.path if i not in self.out}
        taken = {responses.get(n) for n in first}
        above = ""
        parted: list[int] = []
        for kept in self.context:
            if kept.n in first:
                if parted:
                    self._insert_in_chain(parted, above, first[kept.n])
                above, parted = self.links.uuids[last[kept.n]], []
            elif (response := responses.get(kept.n)) is not None and response not in taken:
                taken.add(response)
                parted += [i for i in self.rows.links_of[kept.n] if i not in self.out]
        if parted:
            raise _NotInPlace

    def _insert_in_chain(self, rows: list[int], above: str, below: int) -> None:
        """Chain the rows below `above`, and link `below` under the last of them."""
        for i in [*rows, below]:
            if above != self.links.parent(i) or i in (rows[0], below):
                self.change(i, PARENT, above or None)
            above = self.links.uuids[i]

    def _preserve(self, boundary: int) -> None:
        """Remove what is gone from the rows that a compaction preserved."""
        if boundary in self.out or boundary not in self.relinks.kept:
            return
        anchor, kept = self.relinks.kept[boundary]
        rest = [i for i in kept if i not in self.out]
        if len(rest) == len(kept) and anchor not in self.out:
            return
        entry = self.rows.of_link[boundary]
        meta = loads(self.edited.read(entry.offset, entry.size)).get("compactMetadata", {})
        uuids = [self.links.uuids[i] for i in rest]
        for key in ("preservedMessages", "preservedSegment"):
            found = meta.get(key)
            if not isinstance(found, dict):
                continue
            if not rest:
                self._change(entry.offset, ("compactMetadata", key), None)
                continue
            new = dict(found)
            if anchor in self.out:
                new["anchorUuid"] = self.parent(anchor)
            ends = {"headUuid": uuids[0], "tailUuid": uuids[-1]}
            new.update({name: uuid for name, uuid in ends.items() if name in found})
            for name in ("uuids", "allUuids"):
                if isinstance(found.get(name), list):
                    gone = {self.links.uuids[i] for i in self.out}
                    new[name] = [uuid for uuid in found[name] if uuid not in gone]
            self._change(entry.offset, ("compactMetadata", key), new)

    def _shorten(self) -> None:
        """Put the content of shortened messages into their first rows."""
        for kept in self.stubs:
            i = self.rows.links_of[kept.n][0]
            entry, content = self.rows.of_link[i], kept.content
            row = loads(self.edited.read(entry.offset, entry.size))
            if content is None or not isinstance(row.get("message"), dict):
                raise _NotInPlace
            for path, value in shortened(row, content, self.repairs).items():
                self.change(i, path, value)

    def _insert_new(self) -> None:
        """Insert the rows of new messages, each run directly above the row that follows it."""
        run: list[MessageToWrite] = []
        on_path = {}
        for i in reversed(self.path):
            if i not in self.out:
                on_path[self.links.numbers[i]] = i
        for kept in self.context:
            if not kept.n:
                run.append(kept)
                continue
            if run:
                i = on_path.get(kept.n, -1)
                if i < 0 or i in self.relinks.parents:
                    raise _NotInPlace
                parent = self._insert(run, self.rows.of_link[i].offset, self._current_parent(i), i)
                self.change(i, PARENT, parent)
                run = []
            self.keys.append(self._key(kept))
        self.tail = run

    def _current_parent(self, i: int) -> str | None:
        """The parent of link i after the changes so far."""
        asked = self.changes.get(self.rows.of_link[i].offset) or {}
        return asked[PARENT] if PARENT in asked else self.parent(i)

    def _insert(self, run: list[MessageToWrite], offset: int, parent: str | None, near: int) -> str | None:
        """Add a chain of rows at `offset`, below `parent`; returns the uuid of the last."""
        for kept in run:
            if kept.content is None:
                continue
            at = kept.ts or text(self.links.times[near]) if near >= 0 else kept.ts
            row = row_of(kept.content, self.session, self.repairs, parent=parent, ts=at)
            if row is not None:
                parent = row["uuid"]
                self.keys.append(row["uuid"])
                self.added.append(Patch(offset, len(self.added), 0, as_line(row) + b"\n"))
        return parent

    def _end(self) -> None:
        """Make the program continue from the context's end: if needed, add a row there that is never sent."""
        staying = [i for i in self.path if i not in self.out]
        if self.tail:
            self._insert(self.tail, self.edited.size, self.links.uuids[staying[-1]] if staying else None, -1)
            return
        spoken = [k for k, i in enumerate(staying) if self.links.kinds[i] <= RowKind.ASSISTANT]
        if not spoken:
            raise _NotInPlace
        on_path = set(staying)
        leaf = staying[spoken[-1]]
        if self._resumes_elsewhere(leaf, on_path):
            row = marker(self.session, self.links.uuids[leaf])
            self.added.append(Patch(self.edited.size, len(self.added), 0, as_line(row) + b"\n"))

    def _resumes_elsewhere(self, leaf: int, on_path: set[int]) -> bool:
        """Whether the program would continue from another branch, or from rows below the leaf."""
        for i in range(self.limit - 1, leaf, -1):
            if i in self.out or self.links.kinds[i] == RowKind.PROGRESS or not self.chain.eligible(i):
                continue
            if i in on_path:
                return False
            up = i
            while up >= 0 and (up in self.out or self.links.kinds[up] > RowKind.ASSISTANT):
                up = self.chain.parent(up, self.limit)
            if up >= 0:
                return True
        return any(i not in self.out and self.chain.parent(i, self.limit) == leaf for i in range(leaf))
