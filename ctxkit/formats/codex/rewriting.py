"""A Codex session after ops: every row that stays keeps its bytes, except the session's id.

Pipeline: the rows are read once more -> `_Plan` finds what is removed, changed and inserted -> patches of the file. A
message is in its own row and in the lists of compactions; all of them change. If that cannot give the context, the
history is written anew: one item after the other, without compactions and rollbacks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import chain, pairwise
from typing import Any

import msgspec

from ctxkit.core.messages import Call, Repairs
from ctxkit.core.text.json_structs import NoObject
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import Path, spliced
from ctxkit.core.text.utf8 import utf8
from ctxkit.formats import session_folders
from ctxkit.formats.base import Edited, MessageToWrite, NewSession, Written
from ctxkit.formats.codex.content import item_of
from ctxkit.formats.codex.inherited import LEGACY, MODE, PAGINATED
from ctxkit.formats.codex.reader import CALLS, MODEL, CodexReader
from ctxkit.formats.codex.rows import CodexRow, PayloadHead
from ctxkit.formats.codex.sessions import file_name, items_of, line, meta
from ctxkit.formats.patching import Patch, patched
from ctxkit.formats.response_items import Items
from ctxkit.formats.response_parts import parts_of

_LAST = 1 << 60
"""The order of a row's own patch: insertions before it come first."""
_IDS: tuple[Path, ...] = (("payload", "id"), ("payload", "session_id"))
_USERS: dict[Path, bytes] = {("payload", "source"): b'"cli"', ("payload", "thread_source"): b'"user"'}
"""What a `session_meta` says of a thread that a user began."""

Span = tuple[int, int]
Json = dict[str, Any]


class CodexRows:
    """The rows of the log, read once more: metadata, ops, and the lists of compactions if the context changed."""

    def __init__(self, edited: Edited) -> None:
        reader = CodexReader()
        self.metas: list[Span] = []
        self.turns: list[Span] = []
        self.ops: list[Span] = []
        self.offsets = array("q")
        for block in edited.blocks(CodexRow):
            if edited.changed:
                reader.feed(block)
            for i, row in enumerate(block.rows):
                span = (block.offsets[i], block.sizes[i])
                self.offsets.append(span[0])
                if isinstance(row.ctxkit, str):
                    self.ops.append(span)
                elif row.type == "session_meta":
                    self.metas.append(span)
                elif row.type == "turn_context":
                    self.turns.append(span)
        self.lists = reader.lists
        meta = loads(edited.read(*self.metas[0])) if self.metas else {}
        payload = meta.get("payload") if isinstance(meta, dict) else None
        found = payload.get("id") if isinstance(payload, dict) else None
        self.session = found if isinstance(found, str) else ""

    def after(self, offset: int, size: int) -> int:
        """The offset of the row after the one at `offset`; `size` is the end of the log."""
        at = bisect_right(self.offsets, offset)
        return self.offsets[at] if at < len(self.offsets) else size


def rewrite(edited: Edited, session: NewSession) -> Written:
    """The session after ops."""
    rows = CodexRows(edited)
    repairs = Repairs()
    identity = session.id or rows.session or (session.fresh() if edited.changed else "")
    name = file_name(msgspec.structs.replace(session, id=identity))
    if not edited.changed:
        pieces = patched(edited.read, edited.size, _patches(edited, rows, session))
        return Written(identity, name, pieces, repairs, len(edited.context))
    plan = _Plan(edited, rows, session, repairs)
    head: list[bytes] = []
    if not rows.metas:  # Codex does not open a file without one
        repairs.put_in("session_meta, which was lost")
        head.append(meta(msgspec.structs.replace(session, id=identity)))
    if edited.moved:
        pieces = chain(head, plan.written_anew())
    else:
        patches = merge(_patches(edited, rows, session), sorted(plan.in_place()))
        pieces = chain(head, patched(edited.read, edited.size, patches))
    return Written(identity, name, pieces, repairs, len(edited.context))


def _patches(edited: Edited, rows: CodexRows, session: NewSession) -> Iterator[Patch]:
    """Patches that remove ops and set the session's new id, in order."""
    ops = set(rows.ops)
    for span in sorted([*rows.ops, *(rows.metas if session.id or edited.changed else ())]):
        raw = edited.read(*span)
        renamed = b"" if span in ops else _renamed(raw, rows.session, session.id, changed=edited.changed)
        if renamed != raw:
            yield Patch(span[0], _LAST, span[1], renamed)


def _renamed(raw: bytes, old: str, new: str, *, changed: bool) -> bytes:
    """A `session_meta` with the new id, "" for none, in place of the old one.

    `changed`: the rows are no longer those that Codex numbered, which it wants of a paginated file: it gets legacy.
    """
    row = loads(raw)
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return raw
    changes = {path: utf8(dumps(new)) for path in _IDS if new and payload.get(path[1]) == old}
    if new and session_folders.head("codex", raw).sub:  # Codex lists and resumes threads of users alone
        changes |= {path: own for path, own in _USERS.items() if path[1] in payload}
    if changed and payload.get(MODE[1]) == PAGINATED:
        changes[MODE] = utf8(dumps(LEGACY))
    return spliced(raw, changes) if changes else raw


class _Plan:
    """The changes of each message."""

    def __init__(self, edited: Edited, rows: CodexRows, session: NewSession, repairs: Repairs) -> None:
        self.edited, self.rows, self.session, self.repairs = edited, rows, session, repairs
        self.messages = edited.transcript.messages
        self.listed: dict[int, list[tuple[int, Span]]] = {}
        """Message -> the lists that hold it (by index), and its place there."""
        for at, history in enumerate(rows.lists):
            for offset, size, n in history.items:
                self.listed.setdefault(n, []).append((at, (offset, size)))
        self.inside = {span: at for n in self.listed for at, span in self.listed[n]}
        self.new: dict[Span, list[bytes]] = {}
        """Item or row -> the items that replace it; none: it is removed."""
        self.behind: dict[Span, list[bytes]] = {}
        """Item or row -> the items that are inserted after it."""
        literal = any(kept.content is not None for kept in edited.context)
        self.made = Items(repairs, session=True, known=self._calls() if literal else {})
        self._kinds: dict[Span, str] = {}
        self.items = [self._items(kept) for kept in edited.context]
        self._orphans = self._orphaned_reasoning()

    def spans(self, n: int) -> list[Span]:
        """The rows or items that are message n."""
        message = self.messages[n - 1]
        return [(message.offset, message.size), *message.more]

    def in_place(self) -> list[Patch]:
        """Patches of the rows in their places."""
        for n in self.edited.gone:
            self._replace(n, [])
        last: Span | None = None
        for kept, items in zip(self.edited.context, self.items, strict=True):
            if kept.n:
                if items is not None:
                    self._replace(kept.n, items)
                self.new.update((span, []) for span in self._thoughts(kept))
                last = self._current_place(kept.n)
            elif items:
                self.behind.setdefault(last or (-1, 0), []).extend(items)
        for span in self._orphans:
            self.new[span] = []
        return [*self._rows(), *self._lists()]

    def written_anew(self) -> Iterator[bytes]:
        """The lines of a session that holds only the context."""
        for span in [*self.rows.metas, *self.rows.turns[-1:]]:
            raw = self.edited.read(*span)
            is_meta = span in self.rows.metas
            yield (_renamed(raw, self.rows.session, self.session.id, changed=True) if is_meta else raw) + b"\n"
        self.repairs.leave_out("compaction of its program", len(self.rows.lists))
        for kept, items in zip(self.edited.context, self.items, strict=True):
            ts = kept.ts or self.session.time
            if items is not None:
                yield from (_row(ts, item) for item in items)
                continue
            thoughts = self._thoughts(kept)
            for span in self.spans(kept.n):
                if span not in self._orphans and span not in thoughts:
                    raw = self.edited.read(*span)
                    yield _row(ts, raw) if span in self.inside else self._as_row(raw, ts)

    def _as_row(self, raw: bytes, ts: str) -> bytes:
        """A row unchanged; an old compaction as the message of its summary."""
        row = loads(raw)
        return line(ts, "response_item", item_of(row)) if row.get("type") == "compacted" else raw + b"\n"

    def _calls(self) -> dict[str, str]:
        """The calls of the log and the types of their items, also calls that only a result names."""
        calls = {key: "function_call" for message in self.messages for key in message.results}
        for message in self.messages:
            for span in (message.offset, message.size), *message.more:
                if message.calls:
                    item = item_of(loads(self.edited.read(*span)))
                    calls |= {part.id: item["type"] for part in parts_of(item) if isinstance(part, Call)}
        return calls

    def _items(self, kept: MessageToWrite) -> list[bytes] | None:
        """The new items of a message; None if it is unchanged."""
        if kept.content is None:
            return None
        return [dumps(item).encode("ascii") for item in items_of(self.made, kept.content, self.repairs)]

    def _orphaned_reasoning(self) -> set[Span]:
        """Reasoning that an op separated from the item after it, which no request may hold."""
        before = [(span, self._kind(n, span)) for n in range(1, len(self.messages) + 1) for span in self.spans(n)]
        led = {one[0] for one, after in pairwise(before) if one[1] == "reasoning" and after[1]}
        now: list[tuple[Span, str]] = []
        for kept, items in zip(self.edited.context, self.items, strict=True):
            if items is None:
                thoughts = self._thoughts(kept)
                now += [(span, self._kind(kept.n, span)) for span in self.spans(kept.n) if span not in thoughts]
            elif items:
                now.append(((-1, 0), model_item_type(items[0])))
        found: set[Span] = set()
        follows = ""
        for span, kind in reversed(now):
            if kind == "reasoning" and not follows and span in led:
                found.add(span)
                self.repairs.leave_out("reasoning without the output that followed it")
                continue
            follows = kind
        return found

    def _thoughts(self, kept: MessageToWrite) -> set[Span]:
        """The rows and items of a message's reasoning, if it goes without; of a message in lists those in the lists."""
        if not kept.bare:
            return set()
        return {span for span in self._places(kept.n) if self._kind(kept.n, span) == "reasoning"}

    def _places(self, n: int) -> list[Span]:
        """All places of a message: its rows, and its items in lists."""
        return [*self.spans(n), *(span for _, span in self.listed.get(n, ()))]

    def _kind(self, n: int, span: Span) -> str:
        """The type of an item of the model; "" for any other item."""
        if self.messages[n - 1].role != "assistant":
            return ""
        if span not in self._kinds:
            self._kinds[span] = model_item_type(self.edited.read(*span))
        return self._kinds[span]

    def _current_place(self, n: int) -> Span:
        """The place of message n in Codex's current history: the last list that has it, else its last row."""
        return self.listed[n][-1][1] if n in self.listed else self.spans(n)[-1]

    def _replace(self, n: int, items: list[bytes]) -> None:
        """Put `items` in place of message n, wherever it is."""
        first, *rest = self.spans(n)
        self.new[first] = items
        self.new.update((span, []) for span in rest)
        for _, span in self.listed.get(n, ()):
            self.new[span] = items

    def _rows(self) -> Iterator[Patch]:
        """Patches of whole rows."""
        for span, items in self.new.items():
            if span not in self.inside:
                row = loads(self.edited.read(*span))
                ts = row.get("timestamp") or self.session.time
                made = b"".join(_row(ts, item) for item in items) or self._without_summary(row, span)
                yield Patch(span[0], _LAST, span[1], made.rstrip(b"\n"))
        for span, items in self.behind.items():
            if span not in self.inside:
                start = self.rows.metas[0] if self.rows.metas else span
                at = self.rows.after((start if span[0] < 0 else span)[0], self.edited.size)
                yield Patch(at, 0, 0, b"".join(_row(self.session.time, item) for item in items))

    def _without_summary(self, row: Json, span: Span) -> bytes:
        """An old compaction whose summary is removed, with the messages that it kept as a list; b"" for other rows."""
        if row.get("type") != "compacted":
            return b""
        before = [kept for kept in self.edited.context if kept.n and self._current_place(kept.n)[0] < span[0]]
        kept = [item_of(loads(self.edited.read(*one))) for each in before for one in self.spans(each.n)]
        row["payload"] = {**row["payload"], "message": "", "replacement_history": kept}
        return dumps(row).encode("ascii")

    def _lists(self) -> Iterator[Patch]:
        """Patches of compactions with changed lists."""
        for history in self.rows.lists:
            spans = [(offset, size) for offset, size, _ in history.items]
            if not any(span in self.new or span in self.behind for span in spans):
                continue
            raw = self.edited.read(history.offset, history.size)
            items: list[bytes] = []
            for offset, size in spans:
                at = offset - history.offset
                items += self.new.get((offset, size), [raw[at : at + size]])
                items += self.behind.get((offset, size), [])
            start = spans[0][0] - history.offset
            end = spans[-1][0] + spans[-1][1] - history.offset
            yield Patch(history.offset, _LAST, history.size, raw[:start] + b",".join(items) + raw[end:])


class _ItemHead(msgspec.Struct):
    type: Any = None
    role: Any = None
    payload: PayloadHead | NoObject = None


def model_item_type(raw: bytes) -> str:
    """The type of an item or row if the model made it; else ""."""
    try:
        row = msgspec.json.decode(raw, type=_ItemHead)
        item = row.payload if isinstance(row.payload, PayloadHead) and row.type != "compacted" else row
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = item_of(loads(raw))
        item = _ItemHead(found.get("type"), found.get("role"))
    kind = item.type if isinstance(item.type, str) else ""
    own = kind in MODEL or kind in CALLS or (kind == "message" and item.role == "assistant")
    return kind if own else ""


def _row(ts: str, item: bytes) -> bytes:
    """An item as a line of the file."""
    return b'{"timestamp":%s,"type":"response_item","payload":%s}\n' % (dumps(ts).encode("ascii"), item)
