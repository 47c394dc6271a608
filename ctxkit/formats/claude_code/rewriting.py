"""A Claude Code session after ops: every row that stays keeps its bytes, but for ids and the link to its parent.

Pipeline: the rows are read once more -> what leaves, what comes in, whose parent left (`RowEdits`) -> patches of the
file. Where the context is not a part of what the program would send in the program's own order, the chain is written
anew (`chain_writing.py`).
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
from ctxkit.formats.claude_code.chain_writing import anew, as_one
from ctxkit.formats.claude_code.content import without_thinking
from ctxkit.formats.claude_code.links import RowKind
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
_LAST = 1 << 60
"""The order of a row's own patch: what is put in at its place comes before."""


class _NotInPlace(Exception):
    """The context cannot be had by leaving out and putting in rows."""


def rewrite(edited: Edited, session: NewSession) -> Written:
    """The session after ops."""
    if not edited.changed:
        return _copied(edited, session)
    rows = SessionEntries(edited)
    repairs = Repairs()
    identity, renamed = session.id or rows.session, bool(session.id)
    session = msgspec.structs.replace(session, id=identity)
    keys: list[str] = []
    said = edited.context
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
        pieces, keys, said = anew(edited, rows, session, repairs)
    readings = [keys, as_one(said, rows, keys)] if len(keys) == len(said) else [keys]
    return Written(identity, f"{identity}.jsonl", pieces, repairs, len(edited.context), readings if keys else [])


def _copied(edited: Edited, session: NewSession) -> Written:
    """The session with another id, or its own, and nothing else changed: no row is held."""

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
    """A patch for each row that is an op, leaves, or has something to change, in order.

    `changes`: by offset; None: it leaves. `renamed`: the session has a new id.
    """
    for entry in entries:
        asked = changes.get(entry.offset, {})
        if entry.op or asked is None:
            yield Patch(entry.offset, _LAST, entry.size, b"")
            continue
        if renamed and entry.session:
            asked = {SESSION: session.id, **asked}
        if asked:
            yield Patch(entry.offset, _LAST, entry.size, changed(edited.read(entry.offset, entry.size), asked))


class RowEdits:
    """What is done to the rows where they stand.

    `changes`: offset -> new values of the row there, None: it leaves. `added`: rows that come in. `keys`: as reading
    the outcome must give them.
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
        self._bare()
        self._leave()
        self._rejoin()
        self._shorten()
        self._come_in()
        self._end()

    def _as_row(self, kept: MessageToWrite) -> MessageToWrite:
        """A message that says less is no attachment any more: a row of its own comes in for it."""
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
        """The link above, where the program would find it."""
        if i in self.relinks.parents:
            return self.relinks.parents[i]
        uuid = self.links.parent(i)
        if not uuid:
            return -1
        if self.chain.parent(i, self.limit) == -2:
            return self.chain.bridge(i, self.limit, seen, self.relinks)
        return self.links.find(uuid, self.limit)

    def change(self, i: int, path: Path, value: Any) -> None:
        """A new value in the row of link i."""
        self._change(self.rows.of_link[i].offset, path, value)

    def _change(self, offset: int, path: Path, value: Any) -> None:
        asked = self.changes.setdefault(offset, {})
        if asked is not None:
            asked[path] = value

    def _bare(self) -> None:
        """Messages that go without their thinking: rows that are nothing else leave."""
        for kept in self.context:
            for i in self.rows.links_of[kept.n] if kept.bare else ():
                entry = self.rows.of_link[i]
                rest = without_thinking(loads(self.edited.read(entry.offset, entry.size)))
                if rest:
                    self.change(i, ("message", "content"), rest)
                elif rest is not None:
                    self.out.add(i)

    def _key(self, kept: MessageToWrite) -> str:
        """The uuid that a message of the log has in the session: that of its first row that stays."""
        return next(self.links.uuids[i] for i in self.rows.links_of[kept.n] if i not in self.out)

    def _leave(self) -> None:
        """The rows that go, and whoever hangs on them."""
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
        """Rows of a response that were put back beside others of it (rule 4), which leave: they go into the chain.

        Where one of two copies of a history leaves, the other is drawn in no more.
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
                    self._chain_in(parted, above, first[kept.n])
                above, parted = self.links.uuids[last[kept.n]], []
            elif (response := responses.get(kept.n)) is not None and response not in taken:
                taken.add(response)
                parted += [i for i in self.rows.links_of[kept.n] if i not in self.out]
        if parted:
            raise _NotInPlace

    def _chain_in(self, rows: list[int], above: str, below: int) -> None:
        """Rows one below the other, the first under `above`, and link `below` under the last."""
        for i in [*rows, below]:
            if above != self.links.parent(i) or i in (rows[0], below):
                self.change(i, PARENT, above or None)
            above = self.links.uuids[i]

    def _preserve(self, boundary: int) -> None:
        """What a compaction preserved, without what goes."""
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
        """Messages that say less: in the first of their rows."""
        for kept in self.stubs:
            i = self.rows.links_of[kept.n][0]
            entry, content = self.rows.of_link[i], kept.content
            row = loads(self.edited.read(entry.offset, entry.size))
            if content is None or not isinstance(row.get("message"), dict):
                raise _NotInPlace
            for path, value in shortened(row, content, self.repairs).items():
                self.change(i, path, value)

    def _come_in(self) -> None:
        """Rows that ops brought in: each run of them right above what follows it."""
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
                parent = self._put(run, self.rows.of_link[i].offset, self._linked(i), i)
                self.change(i, PARENT, parent)
                run = []
            self.keys.append(self._key(kept))
        self.tail = run

    def _linked(self, i: int) -> str | None:
        """The parent of link i as it is by now."""
        asked = self.changes.get(self.rows.of_link[i].offset) or {}
        return asked[PARENT] if PARENT in asked else self.parent(i)

    def _put(self, run: list[MessageToWrite], offset: int, parent: str | None, near: int) -> str | None:
        """A chain of rows at `offset`, below `parent`; the uuid of the last."""
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
        """Where another branch would be gone on with, a last row that speaks of nothing hangs on the context's last."""
        staying = [i for i in self.path if i not in self.out]
        if self.tail:
            self._put(self.tail, self.edited.size, self.links.uuids[staying[-1]] if staying else None, -1)
            return
        spoken = [k for k, i in enumerate(staying) if self.links.kinds[i] <= RowKind.ASSISTANT]
        if not spoken:
            raise _NotInPlace
        on_path = set(staying)
        leaf = staying[spoken[-1]]
        if self._led_away(leaf, on_path):
            row = marker(self.session, self.links.uuids[leaf])
            self.added.append(Patch(self.edited.size, len(self.added), 0, as_line(row) + b"\n"))

    def _led_away(self, leaf: int, on_path: set[int]) -> bool:
        """Whether the program would go on elsewhere: from another branch, or from rows that hang on the leaf."""
        for i in range(self.limit - 1, leaf, -1):
            if i in self.out or self.links.kinds[i] == RowKind.PROGRESS or not self.chain.counts(i):
                continue
            if i in on_path:
                return False
            up = i
            while up >= 0 and (up in self.out or self.links.kinds[up] > RowKind.ASSISTANT):
                up = self.chain.parent(up, self.limit)
            if up >= 0:
                return True
        return any(i not in self.out and self.chain.parent(i, self.limit) == leaf for i in range(leaf))
