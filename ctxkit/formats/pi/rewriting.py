"""A pi session after ops: every entry that stays keeps its bytes, except the session's id and the link to its parent.

Pipeline: the entries are read once more -> `_Plan` finds what is removed, changed and added -> patches of the file. If
that cannot give the context, its entries are chained anew: each below the one before, without compactions and edits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxkit.core.messages import Repairs, Span
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import Path, spliced
from ctxkit.core.text.utf8 import utf8
from ctxkit.formats.base import Edited, MessageToWrite, NewSession, Written
from ctxkit.formats.patching import Patch, patched
from ctxkit.formats.pi.content import content_of
from ctxkit.formats.pi.reader import PiReader
from ctxkit.formats.pi.rows import PiRow
from ctxkit.formats.pi.sessions import Entries, file_name, header, line, marker
from ctxkit.formats.pi.tree import place_of
from ctxkit.formats.pi.wire import ROLES

_LAST = 1 << 60
"""The order of an entry's own patch: insertions before it come first."""

ABOUT = ("label", "context_edit")
"""Types of entries about another entry, which are removed with it."""

Json = dict[str, Any]


class PiRows:
    """The entries of the log, read once more."""

    def __init__(self, edited: Edited) -> None:
        reader = PiReader()
        self.heads: list[Span] = []
        self.ops: list[Span] = []
        self._offsets, self._sizes = array("q"), array("q")
        self.kinds: list[str] = []
        """The type of each entry."""
        self.targets: dict[int, str | None] = {}
        """Index of a label or context edit -> the id of the entry that it is about, or None."""
        self.first_kept: dict[int, Any] = {}
        """Index of a compaction that counts rows -> the first row that it keeps, as written."""
        words: dict[str, str] = {}
        self.session = ""
        for block in edited.blocks(PiRow):
            reader.feed(block)
            for i, row in enumerate(block.rows):
                span = (block.offsets[i], block.sizes[i])
                if isinstance(row.ctxkit, str):
                    self.ops.append(span)
                    continue
                self._offsets.append(span[0])
                self._sizes.append(span[1])
                if row.type == "session":
                    self.heads.append(span)
                    self.session = self.session or (row.id if isinstance(row.id, str) else "")
                elif isinstance(row.type, str):
                    at = len(self.kinds)
                    self.kinds.append(words.setdefault(row.type, row.type))
                    if row.type in ABOUT and (row.targetId is None or isinstance(row.targetId, str)):
                        self.targets[at] = row.targetId
                    if row.firstKeptEntryIndex is not None:
                        self.first_kept[at] = row.firstKeptEntryIndex
        self.tree = reader.tree
        self.path = self.tree.path()

    def of_message(self, n: int) -> int:
        """Index of the entry of message n."""
        return self.tree.opened[n - 1]

    def span(self, i: int) -> Span:
        """The bytes of entry i."""
        row = self.tree.rows[i]
        return self._offsets[row], self._sizes[row]

    def behind(self, offset: int) -> int | None:
        """The offset of the first row after this place, ops excluded; None after the last."""
        row = bisect_right(self._offsets, offset)
        return self._offsets[row] if row < len(self._offsets) else None

    def key(self, i: int) -> str | None:
        """The id of entry i; None in version 1, and for -1."""
        return self.tree.index.ids[i] if i >= 0 else None


def rewrite(edited: Edited, session: NewSession) -> Written:
    """The session after ops."""
    if not edited.changed:
        return _copied(edited, session)
    rows = PiRows(edited)
    repairs = Repairs()
    identity = session.id or rows.session
    name = file_name(msgspec.structs.replace(session, id=identity))
    plan = _Plan(edited, rows, session, repairs)
    if edited.moved:
        pieces = plan.written_anew()
    else:
        plan.in_place()
        pieces = patched(edited.read, edited.size, sorted([*plan.renamed(), *plan.patches()]))
    return Written(identity, name, pieces, repairs, len(edited.context))


def _copied(edited: Edited, session: NewSession) -> Written:
    """The session with another id, or its own, and no other change; no entry is kept in memory."""

    def heads() -> Iterator[tuple[tuple[int, int], PiRow]]:
        for block in edited.blocks(PiRow):
            for i, row in enumerate(block.rows):
                if isinstance(row.ctxkit, str) or row.type == "session":
                    yield (block.offsets[i], block.sizes[i]), row

    def patches() -> Iterator[Patch]:
        left = bool(session.id)
        for span, row in heads():
            if isinstance(row.ctxkit, str):
                yield Patch(span[0], _LAST, span[1], b"")
            elif left:
                left = False
                yield from _renamed(edited, span, session.id)

    named = (row.id for _, row in heads() if not isinstance(row.ctxkit, str) and isinstance(row.id, str) and row.id)
    identity = session.id or next(named, "")
    name = file_name(msgspec.structs.replace(session, id=identity))
    return Written(identity, name, patched(edited.read, edited.size, patches()), Repairs(), len(edited.context))


def _renamed(edited: Edited, span: tuple[int, int], identity: str) -> Iterator[Patch]:
    """A patch of the header with the new id, if it has one."""
    raw = edited.read(*span)
    if isinstance(loads(raw).get("id"), str):
        yield Patch(span[0], _LAST, span[1], spliced(raw, {("id",): utf8(dumps(identity))}))


class _Plan:
    """The changes of each entry.

    `changes`: index -> new values, None: it is removed. `instead`: index -> its new line.
    """

    def __init__(self, edited: Edited, rows: PiRows, session: NewSession, repairs: Repairs) -> None:
        self.edited, self.rows, self.session, self.repairs = edited, rows, session, repairs
        self.changes: dict[int, dict[Path, Any] | None] = {}
        self.instead: dict[int, bytes] = {}
        self.added: list[tuple[int, list[Json]]] = []
        """Index of an entry (-1: the header), and the entries that are added after it."""
        self.marker: Json | None = None
        """An entry that is added at the end of the file."""
        self.head = b""
        names = {key: "" for m in edited.transcript.messages for key in m.results}
        names |= {key: name for m in edited.transcript.messages for key, name in zip(m.calls, m.tools, strict=True)}
        taken = [key for i in range(len(rows.tree)) if (key := rows.key(i))]
        self.made = Entries(session, repairs, names, taken)
        self.linear = bool(rows.tree) and rows.key(0) is None
        """The file has version 1: its entries have no ids."""

    def _line(self, entry: Json) -> bytes:
        """A new entry as a line."""
        return line({k: v for k, v in entry.items() if not (self.linear and k in ("id", "parentId"))})

    def renamed(self) -> Iterator[Patch]:
        """Patches that remove ops and set the session's new id."""
        for offset, size in self.rows.ops:
            yield Patch(offset, _LAST, size, b"")
        for span in self.rows.heads[:1] if self.session.id else ():
            yield from _renamed(self.edited, span, self.session.id)

    def _new_header(self) -> bytes:
        """A header for a log that has none: pi does not open a file without one."""
        if self.rows.heads:
            return b""
        self.repairs.put_in("header of the session, which was lost")
        named = bool(self.rows.tree) and self.rows.key(0) is not None
        identity = self.session.id or self.session.fresh()
        return line(header(msgspec.structs.replace(self.session, id=identity), named=named))

    def in_place(self) -> None:
        """Find the entries that are removed, shortened or added."""
        rows = self.rows
        self.head = self._new_header()
        out = {rows.of_message(n) for n in self.edited.gone}
        less = {rows.of_message(kept.n) for kept in self.edited.context if kept.n and kept.content is not None}
        for kind, aims in zip(ABOUT, (out, out | less), strict=True):
            out = out | self._entries_about(kind, aims)
        for i in out:
            self.changes[i] = None
        last = -1
        for kept in self.edited.context:
            if kept.n:
                last = rows.of_message(kept.n)
                if kept.content is not None:
                    self._shorten(last, kept)
                elif kept.bare:
                    self._change(
                        last, ("message", "content"), self._without_thinking(loads(self.edited.read(*rows.span(last))))
                    )
            else:
                self._add(last, kept)
        behind = {at: entries[-1]["id"] for at, entries in self.added}
        for i, parent in enumerate(rows.tree.parents):
            up = parent
            while up in out:
                up = rows.tree.parents[up]
            if i in out or rows.key(i) is None:
                continue
            above = behind.get(up, rows.key(up)) if place_of(rows.path, i) >= 0 else rows.key(up)
            if up != parent or above != rows.key(up):
                self._change(i, ("parentId",), above)
        self._compactions(out)
        self._begin(out, behind.get(-1))
        self._end(out)

    def _begin(self, out: set[int], above: str | None) -> None:
        """Start the session at what a removed compaction kept: else all before it would be back."""
        rows = self.rows
        places = [k for k, i in enumerate(rows.path) if i in rows.tree.kept]
        if not places or rows.path[places[-1]] not in out:
            return
        first = place_of(rows.path, rows.tree.kept[rows.path[places[-1]]])
        first = first if first >= 0 else places[-1]
        staying = [i for i in rows.path[first:] if i not in out]
        if staying and rows.key(staying[0]) is not None:
            self._change(staying[0], ("parentId",), above)

    def _end(self, out: set[int]) -> None:
        """Make pi continue from the path's last entry: if needed, add an entry below it that is never sent."""
        staying = [i for i in self.rows.path if i not in out]
        last = max((i for i in range(len(self.rows.tree)) if i not in out), default=-1)
        if not staying or staying[-1] == last or self.rows.key(staying[-1]) is None:
            return
        above = self.added[-1][1][-1]["id"] if self.added and self.added[-1][0] >= staying[-1] else None
        self.marker = marker(self.made.fresh(), above or self.rows.key(staying[-1]), self.session.time)

    def _without_thinking(self, entry: Json) -> list[Any]:
        """The blocks of an entry's message without thinking."""
        return [block for block in entry["message"]["content"] if block.get("type") != "thinking"]

    def _entries_about(self, kind: str, aims: set[int]) -> set[int]:
        """The labels or context edits about any of `aims`."""
        rows, keys = self.rows, {self.rows.key(at) for at in aims}
        return {i for i, target in rows.targets.items() if rows.kinds[i] == kind and target in keys}

    def _change(self, i: int, path: Path, value: Any) -> None:
        asked = self.changes.setdefault(i, {})
        if asked is not None:
            asked[path] = value

    def _shorten(self, i: int, kept: MessageToWrite) -> None:
        """Give entry i other content; its id and its parent stay."""
        made = self._as_entry(i, self.made.of(MessageToWrite(0, kept.content, kept.ts), None))
        if len(made) == 1:
            self.instead[i] = line(made[0]).rstrip(b"\n")
        else:
            self.changes[i] = None

    def _as_entry(self, i: int, made: list[Json]) -> list[Json]:
        """The entries `made` for the message of entry i.

        A single one keeps i's id, parent and time, and the other fields of its message if the role allows it.
        """
        if len(made) != 1:
            return made
        entry = made[0]
        old = loads(self.edited.read(*self.rows.span(i)))
        role = old["message"].get("role") if isinstance(old.get("message"), dict) else ""
        if role == entry["message"]["role"] or role not in ROLES:
            entry["message"] = old["message"] | {"content": entry["message"]["content"]}
        entry["timestamp"] = old.get("timestamp", entry["timestamp"])
        for key in ("id", "parentId"):
            entry.pop(key)
            if key in old:
                entry[key] = old[key]
        return [entry]

    def _add(self, last: int, kept: MessageToWrite) -> None:
        """Add a message after entry `last`; -1: before all."""
        if self.added and self.added[-1][0] == last:
            entries = self.added[-1][1]
            entries += self.made.of(kept, entries[-1]["id"])
        elif made := self.made.of(kept, self.rows.key(last)):
            self.added.append((last, made))

    def _compactions(self, out: set[int]) -> None:
        """Correct where a compaction's kept entries begin; version 1 counts rows."""
        for i, kept in self.rows.tree.kept.items():
            if kept < 0 or i in out:
                continue
            if self.rows.key(i) is None:
                before = sum(at < kept for at in out)
                come = sum(len(made) for at, made in self.added if at < kept)
                if come != before:
                    self._change(i, ("firstKeptEntryIndex",), self.rows.first_kept[i] - before + come)
            elif kept in out and (at := place_of(self.rows.path, kept)) >= 0:
                rest = [one for one in self.rows.path[at:] if one not in out]
                if rest and self.rows.key(rest[0]) is not None:
                    self._change(i, ("firstKeptEntryId",), self.rows.key(rest[0]))

    def patches(self) -> Iterator[Patch]:
        """Patches of the changed and added entries."""
        for i in {*self.changes, *self.instead}:
            offset, size = self.rows.span(i)
            asked = self.changes.get(i, {})
            if asked is None:
                yield Patch(offset, _LAST, size, b"")
                continue
            raw = self.instead.get(i) or self.edited.read(offset, size)
            changes = {path: dumps(value).encode("ascii") for path, value in asked.items()}
            yield Patch(offset, _LAST, size, spliced(raw, changes) if changes else raw)
        if self.marker:
            yield Patch(self.edited.size, 1, 0, line(self.marker))
        if self.head:
            yield Patch(0, -1, 0, self.head)
        for at, entries in self.added:
            span = self.rows.span(at) if at >= 0 else (self.rows.heads[:1] or [(-1, 0)])[0]
            behind = self.rows.behind(span[0])
            place = self.edited.size if behind is None else behind
            yield Patch(place, 0, 0, b"".join(map(self._line, entries)))

    def written_anew(self) -> Iterator[bytes]:
        """The lines of a session whose single chain is the context."""
        yield self._new_header()
        for offset, size in self.rows.heads[:1]:
            raw = self.edited.read(offset, size)
            named = bool(self.session.id) and isinstance(loads(raw).get("id"), str)
            yield (spliced(raw, {("id",): utf8(dumps(self.session.id))}) if named else raw) + b"\n"
        parent: str | None = None
        left = len(self.rows.tree) - len(self.edited.gone)
        for kept in self.edited.context:
            at = self.rows.of_message(kept.n) if kept.n else -1
            left -= at >= 0
            kind = self.rows.kinds[at] if at >= 0 else None
            message = self.edited.transcript.messages[kept.n - 1] if kept.n else None
            edits = message is not None and bool(message.more)
            if kind is not None and kept.content is None and kind != "compaction" and not edits:
                raw = self.edited.read(*self.rows.span(at))
                if kept.bare:
                    raw = spliced(
                        raw, {("message", "content"): dumps(self._without_thinking(loads(raw))).encode("ascii")}
                    )
                if self.rows.key(at) is not None and "parentId" in loads(raw):
                    raw = spliced(raw, {("parentId",): dumps(parent).encode("ascii")})
                parent = self.rows.key(at) or parent
                yield raw + b"\n"
                continue
            content = kept.content
            if content is None and message is not None:
                spans = ((message.offset, message.size), *message.more)
                content = content_of(message, [loads(self.edited.read(*span)) for span in spans])
            made = self.made.of(MessageToWrite(0, content, kept.ts), parent)
            for entry in self._as_entry(at, made) if at >= 0 else made:
                if not self.linear:
                    entry["parentId"], parent = parent, entry.get("id") or parent
                yield self._line(entry)
        if left > 0:
            self.repairs.leave_out("record that pi had compacted away or branched off", left)
