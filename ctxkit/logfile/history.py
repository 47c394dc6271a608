"""Finds the files in which a log's history begins, and joins their bytes with its own.

Pipeline: `logfile/read.py` knows the format -> the format reads what the log goes on from (`Format.inherited`) -> here:
each file before it, up to the named byte -> `store/joined.py`. A file is taken only if it is the one that is named:
a history that is shorter than the agent's is never given out in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.core.text.json_text import loads
from ctxkit.errors import CtxkitError, MissingHistory, reason_of
from ctxkit.formats import registry
from ctxkit.formats.base import UNKNOWN, Block, Format, Inherited, Row
from ctxkit.store.joined import JoinedSource, Piece
from ctxkit.store.jsonl import MAX_LINE, read_blocks
from ctxkit.store.source import TAIL, Source, open_log

GONE = "which is not there"
"""Of a file that is nowhere: it can be put back."""


def hint_of(missing: str) -> str:
    """What to do about a history that is not whole, for this reason."""
    if missing.endswith(GONE):
        return "nothing was changed; put the file of that thread beside it, or where its program keeps sessions"
    return "nothing was changed; ctxkit check says what is wrong; of a log without ops ctxkit show prints what it holds"


class FirstRow(NamedTuple):
    """The first row of a file, its line end included, the byte where it begins, and the number of its line."""

    raw: bytes
    start: int
    line: int


def joined(path: Path | None, source: Source, format: Format) -> JoinedSource | None:
    """The whole history of the log in `source`, which stands at `path`; None if all of it is in the log itself.

    Raises MissingHistory, without the log's name, if a file before it is missing, or is not what the log goes on from.
    """
    if format.inherits is None:
        return None
    first = first_row(source)
    base = _base(format, source, first)
    if base is None:
        return None
    pieces = [Piece(source, first.start + len(first.raw), source.size, first.line + 1)]
    beside = path
    known = set() if path is None else {os.path.realpath(path)}
    while base is not None:
        try:
            before, row = _named(format, beside, base, known)
        except _Missing as missing:
            raise MissingHistory(f"its history begins in {base.thread or 'another file'}, {missing}") from missing
        if before.read(base.end - 1, 1) != b"\n":
            pieces.insert(0, Piece(Source(before.name, b"\n"), 0, 1, 1))
        pieces.insert(0, Piece(before, 0, base.end, 1))
        beside = Path(before.name)
        base = _base(format, before, row)
    alone = format.alone(first.raw)
    return JoinedSource(source.name, [Piece(Source(source.name, alone), 0, len(alone), first.line), *pieces])


def goes_on(source: Source) -> Format | None:
    """The format of a file whose first row says that its history begins in another one; None for any other file."""
    first = first_row(source).raw
    formats = map(registry.by_name, registry.DETECTED)
    return next((one for one in formats if one.inherits is not None and one.inherits.search(first)), None)


def begun_anew(source: Source, block: Block, format: Format) -> str:
    """Why rows before one of these are not part of a joined history; "" if all are. They are not cut off: which of many
    files begins anew is only known at its end.
    """
    if isinstance(source, JoinedSource):
        for row, offset, line in zip(block.rows, block.offsets, block.lines, strict=True):
            if format.begins(row) and (name := source.within(offset)):
                return f"its history is not told by all rows of its files: {name} begins anew at line {line}"
    return ""


class _Missing(Exception):
    """Why a history is not whole, as the end of a sentence."""


def _named(format: Format, beside: Path | None, base: Inherited, known: set[str]) -> tuple[Source, FirstRow]:
    """The file that `base` names, looked for beside a file, then where the format's program keeps sessions.

    `known`: files of the history so far, none of which may come again. Raises _Missing.
    """
    if not base.thread or base.rows < 1 or base.end < 1:
        raise _Missing("and ctxkit cannot tell up to where")
    reasons: dict[Path | str, str] = {}

    def places() -> Iterator[Path]:
        if beside is not None:
            yield beside
        if (home := registry.HOMES.get(format.name)) is not None:
            yield home.path(os.environ) / "any file in it"

    def files() -> Iterator[Path]:
        for place in places():
            try:
                yield from format.history_files(place, base.thread)
            except OSError as error:
                reasons[error.filename] = f"{error.filename} cannot be listed: {reason_of(error)}"

    for path in files():
        try:
            source = open_log(path)
        except CtxkitError as error:
            reasons[path] = error.message
            continue
        real, first = str(source.path), first_row(source)
        reason = "goes on from itself" if real in known else _misfit(format, source, first, base)
        if not reason:
            known.add(real)
            return source, first
        reasons[path] = f"{path} {reason}"
    raise _Missing(f"but {'; '.join(reasons.values())}" if reasons else GONE)


def _misfit(format: Format, source: Source, first: FirstRow, base: Inherited) -> str:
    """Why a file is not the one that is named; "" if it is."""
    if source.size < base.end:
        return f"has {source.size} bytes, not {base.end}"
    last = _last_line(source, base.end)
    if last is None:
        return f"has no line that ends at byte {base.end}"
    return format.misfit(base, first.raw, last)


def _base(format: Format, source: Source, first: FirstRow) -> Inherited | None:
    """What a file with this first row goes on from; without a place, if the row is damaged and may name one."""
    record = object_of(first.raw)
    if record is not None:
        return format.inherited(record)
    if format.inherits is not None and format.inherits.search(first.raw):
        return UNKNOWN
    whole = next((block.raw(0) for block in read_blocks(source, Row, []) if block.rows), b"")
    record = object_of(whole)
    return UNKNOWN if record is not None and format.inherited(record) is not None else None


def object_of(raw: bytes) -> dict[str, Any] | None:
    """The record; None if these bytes are none."""
    try:
        record = loads(raw)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def first_row(source: Source) -> FirstRow:
    """The first row of a file, of at most MAX_LINE bytes. Blank lines are no rows."""
    size = TAIL
    while True:
        start = source.read(0, size)
        raw = start.lstrip(b" \t\r\n")
        before = len(start) - len(raw)
        end = raw.find(b"\n") + 1
        if end or size >= min(source.size, MAX_LINE):
            return FirstRow(raw[:end] if end else raw, before, 1 + start.count(b"\n", 0, before))
        size *= 16


def _last_line(source: Source, end: int) -> bytes | None:
    """The line that ends before byte `end`, or at it without a line end; None if none does."""
    if source.read(end - 1, 1) != b"\n" and source.read(end, 1) not in (b"", b"\n"):
        return None
    size = TAIL
    while True:
        piece = source.read(max(end - size, 0), min(size, end)).removesuffix(b"\n")
        start = piece.rfind(b"\n")
        if start >= 0 or size >= end:
            return piece[start + 1 :]
        size *= 16
