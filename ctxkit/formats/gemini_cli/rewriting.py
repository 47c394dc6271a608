"""A Gemini CLI session after ops: every record that stays keeps its bytes, the session gets its new id.

Pipeline: an unchanged log is copied, with the id in its header replaced; else records are removed, shortened and added
in their places. If that cannot give the context, or if updates and rewinds change it, the session is its header and the
records of its context, one after the other: updates and rewinds are applied and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxkit.core.integrity import SECOND_COPY
from ctxkit.core.messages import Content, Repairs, Result
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import spliced
from ctxkit.formats.base import Edited, NewSession, Written
from ctxkit.formats.gemini_cli.rows import GeminiRow, Update
from ctxkit.formats.gemini_cli.sessions import RecordWriter, file_name, header, line
from ctxkit.formats.patching import Patch, patched

_LAST = 1 << 60
"""The order of a record's own patch."""
_BESIDE = ("messages", "document")
"""Keys of the old header that the new one does not have: its messages are records."""

_LEFT = {False: "result of a call that is not there", True: SECOND_COPY}
"""A result that no call waits for, by whether the log has its call."""

Json = dict[str, Any]


class GeminiRows:
    """The header and the ops of the log, read once more."""

    def __init__(self, edited: Edited) -> None:
        self.heads: list[tuple[int, int]] = []
        self.ops: list[tuple[int, int]] = []
        self.of_id: dict[str, list[tuple[int, int]]] = {}
        """The records of each message, the newest last."""
        self.updated = False
        """Whether a record adds or removes other records."""
        for block in edited.blocks(GeminiRow):
            for i, row in enumerate(block.rows):
                span = (block.offsets[i], block.sizes[i])
                if isinstance(row.ctxkit, str):
                    self.ops.append(span)
                    continue
                if isinstance(row.type, str) and isinstance(row.id, str):
                    self.of_id.setdefault(row.id, []).append(span)
                listed = bool(row.messages) or (isinstance(row.set_, Update) and bool(row.set_.messages))
                self.updated = self.updated or listed or row.rewind_to is not None
                if row.type is None and row.set_ is None and row.rewind_to is None and not self.heads:
                    self.heads.append(span)
        self.head: Json = {}
        for span in self.heads:
            found = loads(edited.read(*span))
            self.head = found if isinstance(found, dict) else {}
        named = self.head.get("sessionId")
        self.session = named if isinstance(named, str) else ""


def rewrite(edited: Edited, session: NewSession) -> Written:
    """The session after ops."""
    rows = GeminiRows(edited)
    identity = session.id or rows.session or session.fresh()
    made = msgspec.structs.replace(session, id=identity)
    written = Written(identity, file_name(made), (), Repairs(), len(edited.context))
    document = rows.head.get("document") is True
    if document or edited.moved or (edited.changed and (rows.updated or not rows.head)):
        written.pieces = _records(edited, rows, made, written)
    else:
        patches = _patches(edited, rows, made, written) if edited.changed else []
        written.pieces = patched(edited.read, edited.size, sorted([*_copied(edited, rows, session), *patches]))
    return written


def _copied(edited: Edited, rows: GeminiRows, session: NewSession) -> Iterator[Patch]:
    """Patches that remove ops and set the session's new id."""
    for offset, size in rows.ops:
        yield Patch(offset, _LAST, size, b"")
    for span in rows.heads if session.id and rows.session else ():
        renamed = spliced(edited.read(*span), {("sessionId",): dumps(session.id).encode("ascii")})
        yield Patch(span[0], _LAST, span[1], renamed)


def _patches(edited: Edited, rows: GeminiRows, session: NewSession, written: Written) -> Iterator[Patch]:
    """Patches of records that are removed, shortened or added; records that are no messages stay."""
    messages = edited.transcript.messages
    names = {key: name for m in messages for key, name in zip(m.calls, m.tools, strict=True)}
    records = RecordWriter(session, written.repairs, names)
    keys: list[str] = []
    written.keys = [keys]
    instead: dict[tuple[int, int], Json] = {}
    coming: list[Json] = []
    placed: list[tuple[int, list[Json]]] = []
    out: list[tuple[int, int]] = []
    newest: tuple[int, int] | None = None
    for kept in edited.context:
        message = messages[kept.n - 1] if kept.n else None
        span = (message.offset, message.size) if message is not None else None
        answers, record = records.of(kept) if kept.content is not None else ([], None)
        for result in answers:
            waits = coming[-1] if coming else None
            if waits is None and newest is not None:
                waits = instead.setdefault(newest, loads(edited.read(*newest)))
            if waits is None or not records.answer(waits, result):
                written.repairs.leave_out(_LEFT[result.id in names])
        if message is not None and span is not None:
            if coming:
                placed.append((rows.of_id.get(message.key, [span])[0][0], coming))
                coming = []
            if record is not None:
                instead[span] = _in_own_record(loads(edited.read(*span)), record, kept.content)
            elif kept.content is not None:  # its results are in their calls now
                out += rows.of_id.get(message.key, [span])
                continue
            newest = span
            keys.append(message.key)
        elif record is not None:
            coming.append(record)
            keys.append(record["id"])
    for n in edited.gone:
        gone = messages[n - 1]
        out += rows.of_id.get(gone.key) or [(gone.offset, gone.size)]
    for offset, size in out:
        yield Patch(offset, _LAST, size, b"")
    for (offset, size), one in instead.items():
        yield Patch(offset, _LAST, size, line(one).rstrip(b"\n"))
    for number, (place, some) in enumerate([*placed, (edited.size, coming)]):
        if some:
            yield Patch(place, number, 0, b"".join(map(line, some)))


def _records(edited: Edited, rows: GeminiRows, session: NewSession, written: Written) -> Iterator[bytes]:
    """The header, and a record for each message of the context."""
    repairs = written.repairs
    if not rows.head:
        repairs.put_in("header of the session, which was lost")
    kept_head = {key: value for key, value in rows.head.items() if key not in _BESIDE}
    yield line({**(kept_head or header(session)), "sessionId": session.id})
    names = {key: name for m in edited.transcript.messages for key, name in zip(m.calls, m.tools, strict=True)}
    records = RecordWriter(session, repairs, names)
    keys: list[str] = []
    written.keys = [keys]
    last: list[bytes | Json] = []
    for kept in edited.context:
        message = edited.transcript.messages[kept.n - 1] if kept.n else None
        old = edited.read(message.offset, message.size) if message is not None else b""
        if message is not None and kept.content is None:
            yield from map(_line, last)
            last = [old if message.key not in keys or not message.key else _renamed(old, session.fresh())]
            keys.append(_id(last[0]))
            continue
        answers, record = records.of(kept)
        if message is not None and record is not None:
            record = _in_own_record(loads(old), record, kept.content)
            if record.get("id") in keys:
                record["id"] = session.fresh()
        for result in answers:
            last = [loads(one) if isinstance(one, bytes) else one for one in last]
            if not any(isinstance(one, dict) and records.answer(one, result) for one in last):
                repairs.leave_out(_LEFT[result.id in names])
        if record is not None:
            yield from map(_line, last)
            last = [record]
            keys.append(_id(record))
    yield from map(_line, last)


def _renamed(raw: bytes, identity: str) -> bytes:
    """A repeated record with a new id: of two records with one id, the last would replace the first."""
    return spliced(raw, {("id",): dumps(identity).encode("ascii")})


def _id(record: bytes | Json) -> str:
    """The id of a record; "" for none."""
    found = (loads(record) if isinstance(record, bytes) else record).get("id")
    return found if isinstance(found, str) else ""


def _line(record: bytes | Json) -> bytes:
    return record + b"\n" if isinstance(record, bytes) else line(record)


def _in_own_record(old: Json, new: Json, content: Content | None) -> Json:
    """The new record of a shortened message, with the old one's metadata and the unchanged parts of its calls."""
    if old.get("type") != new["type"]:
        return new
    found = {**old, "content": new["content"]}
    if "toolCalls" not in old:
        return found
    calls = {call.get("id"): call for call in new.get("toolCalls", ())}
    stays = {part.id: part for part in content.parts if isinstance(part, Result)} if content is not None else {}
    there: list[Json] = []
    for call in (one for one in old["toolCalls"] if isinstance(one, dict)):
        made = calls.pop(call.get("id"), None)
        if made is None:
            continue
        result = stays.get(call.get("id", ""))
        unchanged = result is not None and (result.raw or {}).get("result") == call.get("result")
        there.append(call if unchanged else {**call, **{k: made[k] for k in ("result", "status") if k in made}})
    return {**found, "toolCalls": [*there, *calls.values()]}
