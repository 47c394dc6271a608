"""Salvage: makes a clean copy of a damaged log, and reports every byte of the log that the copy does not have.

Pipeline: the records that can be read (`store/jsonl.py`, `store/intact_records.py`) -> each unchanged, or in strict
spelling (`core/text/json_spelling.py`) -> pieces of the copy. Blanks between records are kept, other bytes are
reported.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from io import BytesIO

import msgspec

from ctxkit.core.chain import FIRST, link
from ctxkit.core.messages import Damage
from ctxkit.core.ops import checksum
from ctxkit.core.text.json_spelling import MENDS, closings, strict
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import CtxkitError, UnknownFormat
from ctxkit.formats import containers
from ctxkit.formats.base import Row
from ctxkit.logfile.open import OpenLog
from ctxkit.store.joined import JoinedSource
from ctxkit.store.jsonl import read_blocks
from ctxkit.store.source import Source

LARGE = 64 << 20
"""The most bytes between two records that are reported line by line; more are reported as one range."""
_BLANK = b" \t\r"
_BOM = b"\xef\xbb\xbf"
_ANOTHER = "without what is damaged before its first record it would be read as another format"
_EXPORT = "ctxkit export LOG --to chat -o NEW writes what can be read"
_OUTSIDE = b" \t\r\n\0"
_WORDS = {
    "bom": "a byte order mark",
    "nul-block": "NUL bytes",
    "not-json": "no part of a record",
    "torn-tail": "the JSON is cut off: its brackets are closed here",
    "glued": "records without a line end between them: one is inserted",
}


class Range(msgspec.Struct, frozen=True):
    """Bytes of the log that the copy leaves out or changes: `size` of them from `offset` on, on line `line`.

    `kind`: `left` (they are left out), `mended` (a record is written in strict spelling), `added` (replaced by a line
    end or closing brackets; `size` may be 0). `code`: of the damage, or `bom`.
    """

    offset: int
    size: int
    line: int
    kind: str
    code: str
    text: str


class Salvaged(msgspec.Struct):
    """A clean copy: `pieces` are its bytes. `ranges`, `records` and `size` are complete once all pieces were read."""

    pieces: Iterator[bytes]
    ranges: list[Range] = []
    records: int = 0
    size: int = 0

    @property
    def left(self) -> int:
        """Bytes that were left out."""
        return sum(one.size for one in self.ranges if one.kind == "left")


def salvage(log: OpenLog) -> Salvaged:
    """A clean copy of `log` with the same messages. Only its own bytes are copied: ops in a sidecar stay there, and
    inherited messages in their files.

    Raises UnknownFormat for one damaged JSON text, which has no records that could be copied one by one.
    """
    made = Salvaged(iter(()))
    opening = log.opening
    if opening.laid_out is opening.source or isinstance(opening.laid_out, JoinedSource):
        damage = [one for one in log.transcript.damage if not one.file]
        made.pieces = _counted(made, _Copy(opening.source, damage, made).pieces())
    else:
        made.pieces = _counted(made, _document(log, made))
    return made


def _counted(made: Salvaged, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        made.size += len(piece)
        yield piece


class _Copy:
    """Copies a log with one record per line."""

    def __init__(self, source: Source, damage: list[Damage], made: Salvaged, *, held: bool = False) -> None:
        """`held`: the log was read as one conversation per line, so damage before the first cannot have hidden that."""
        self._source = source
        self._held = held
        self._made = made
        self._damage = sorted(damage, key=lambda one: one.offset)
        self._offsets = [one.offset for one in self._damage]
        self._last = FIRST
        """Digest of the newest op in the copy so far."""
        self._ids: set[str] = set()

    def pieces(self) -> Iterator[bytes]:
        """The records, and the blanks between them."""
        end, line = 0, 1
        for block in read_blocks(self._source, Row, []):
            for i in range(len(block.rows)):
                yield self._between(end, block.offsets[i], line, first=not self._made.records, last=False)
                raw = block.raw(i)
                record, codes = strict(raw)
                hidden = self._made.ranges and not self._made.records and not self._held
                if hidden and containers.may_be(record + b"\n"):
                    raise UnknownFormat(f"{self._source.name}: {_ANOTHER}: nothing was written", _EXPORT)
                if isinstance(block.rows[i].ctxkit, str):
                    record = self._linked(record, block.offsets[i], len(raw), block.lines[i])
                if codes:
                    self._report(block.offsets[i], len(raw), block.lines[i], "mended", codes[0], _mends(codes))
                yield record
                end = block.offsets[i] + len(raw)
                line = block.lines[i] + raw.count(b"\n")
                self._made.records += 1
        yield self._between(end, self._source.size, line, first=not self._made.records, last=True)

    def _linked(self, record: bytes, offset: int, size: int, line: int) -> bytes:
        """An op unchanged; if another op comes before it in the copy, it gets that op's digest and a new checksum."""
        body = loads(record)
        key = body.get("id") if isinstance(body, dict) else None
        if not isinstance(body, dict) or (isinstance(key, str) and key in self._ids):
            return record
        if isinstance(key, str):
            self._ids.add(key)
        sound = "prev" in body and body.get("sum") == checksum(body)
        if sound and body["prev"] != self._last:
            body["prev"] = self._last
            body["sum"] = checksum(body)
            record = dumps(body).encode("ascii")
            self._report(offset, size, line, "mended", "chain", "an op before it is damaged or gone: it names another")
        bare = body.get("ctxkit") == "interrupted" and "prev" not in body and self._last
        self._last = link({**body, "prev": self._last} if bare else body)
        return record

    def _between(self, start: int, end: int, line: int, *, first: bool, last: bool) -> bytes:
        """The bytes of the copy between two records, before the first one, or after the last one."""
        if end - start > LARGE:
            self._leave(start, end, line, b"")
            return b"" if first else b"\n"
        gap = self._source.read(start, end - start)
        lines = gap.split(b"\n")
        if len(lines) == 1 and not first and not last and not gap.strip(_BLANK):
            self._report(start, len(gap), line, "added", "glued", _WORDS["glued"])
            return b"\n"
        kept: list[bytes] = []
        for i, text in enumerate(lines):
            ended = i < len(lines) - 1
            if not text.strip(_BLANK):
                kept.append(text + b"\n" * ended)
            elif i == 0 and not first:  # after a record, whose line ends here
                self._leave(start, start + len(text), line, text)
                kept.append(b"\n")
            else:
                self._leave(start, start + len(text) + ended, line, text)
            start += len(text) + 1
            line += ended
        return b"".join(kept)

    def _leave(self, start: int, end: int, line: int, text: bytes) -> None:
        """Report bytes that are left out, with the text of the damage that reading reported."""
        found = self._damage[bisect_left(self._offsets, start) : bisect_left(self._offsets, end)]
        found = [one for one in found if one.code != "more"]
        why = next((one for one in found if one.code != "nul-block"), found[0] if found else None)
        if why is not None:
            self._report(start, end - start, line, "left", why.code, why.text.removesuffix(": skipped"))
            return
        rest = text.strip(_BLANK).removeprefix(_BOM).strip(_BLANK)
        code = "not-json" if rest.strip(b"\0") else "nul-block" if rest else "bom"
        self._report(start, end - start, line, "left", code, _WORDS[code])

    def _report(self, offset: int, size: int, line: int, kind: str, code: str, text: str) -> None:
        self._made.ranges.append(Range(offset, size, line, kind, code, text))


def _mends(codes: tuple[str, ...]) -> str:
    return "; ".join(MENDS[code] for code in codes)


def _document(log: OpenLog, made: Salvaged) -> Iterator[bytes]:
    """The copy of a log that is one JSON text: unchanged, or in strict spelling, with its brackets closed if it was cut
    off; of a file with one conversation per line, the whole lines. A changed copy is read and compared with the log.

    Raises UnknownFormat for any other damage, because there are no records that could be copied one by one.
    """
    source = log.opening.source
    raw = source.read(0, source.size)
    body = raw.lstrip(_OUTSIDE).removeprefix(_BOM).lstrip(_OUTSIDE)
    start = len(raw) - len(body)
    body = body.rstrip(_OUTSIDE)
    end = start + len(body)
    made.records = log.transcript.rows + len(log.transcript.ops)
    copy, codes = strict(body, document=True)
    if not (codes or log.transcript.damage or b"\0" in raw[:start] or _BOM in raw[:start]):
        return iter((raw,))
    for taken, closed in ((body, b""), *((body[:at], closers) for at, closers in closings(body))):
        copy, codes = strict(taken, document=True)
        tail = raw[end:] if not closed and not raw[end:].strip(_BLANK + b"\n") else b"\n" * bool(closed)
        if not _reads_alike(log, copy + closed + tail):
            continue
        _report(made, raw, 0, start, "left", "bom" if b"\0" not in raw[:start] else "nul-block")
        if codes:
            _report(made, raw, start, start + len(taken), "mended", *codes)
        if closed:
            at = start + len(taken)
            _report(made, raw, at, len(raw), "left" if raw[at:].strip() else "added", "torn-tail")
        elif not tail:
            _report(made, raw, end, len(raw), "left", "nul-block")
        return iter((copy + closed + tail,))
    damage: list[Damage] = []
    for _ in read_blocks(source, Row, damage):
        pass
    lines = Salvaged(iter(()))
    copy = b"".join(_Copy(source, damage, lines, held=True).pieces())
    if not _reads_alike(log, copy):
        text = f"{log.opening.name} is one JSON text, and damaged: it has no records that could be copied one by one"
        raise UnknownFormat(f"{text}: nothing was written", _EXPORT)
    made.ranges, made.records = lines.ranges, lines.records
    return iter((copy,))


def _report(made: Salvaged, raw: bytes, start: int, end: int, kind: str, *codes: str) -> None:
    """Report bytes of a document, if there are any."""
    if start < end or kind == "added":
        text = _mends(codes) if kind == "mended" else _WORDS[codes[0]]
        made.ranges.append(Range(start, end - start, raw.count(b"\n", 0, start) + 1, kind, codes[0], text))


def _reads_alike(log: OpenLog, copy: bytes) -> bool:
    """Whether a copy has no damage, and the same messages as the log."""
    opening = log.opening
    try:
        other = OpenLog.open(BytesIO(copy), conversation=opening.conversation, format=opening.format.name)
    except CtxkitError:
        return False
    read, whole = other.transcript, log.transcript
    if read.damage or (read.format, read.rows, len(read.ops)) != (whole.format, whole.rows, len(whole.ops)):
        return False
    if len(other.messages) != len(log.messages):
        return False
    return all(
        (one.role, other.text(one.n)) == (message.role, log.text(message.n))
        for one, message in zip(other.messages, log.messages, strict=True)
    )
