"""Reads a log from start to end: its format, its transcript, its sidecar's ops.

Pipeline: `store` (bytes, blocks) -> `formats` (reader) -> `Opening`, which `logfile/open.py` uses. `history.py` finds
the files in which a history begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from ctxkit.core.identity import identity
from ctxkit.core.log_name import COMPRESSED
from ctxkit.core.messages import Content, Damage, Message
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import Transcript
from ctxkit.core.unreadable import attempt, is_unreadable
from ctxkit.errors import ForeignLog, Misfit, MissingHistory, UnknownFormat, Usage
from ctxkit.formats import chat, containers, detection, registry
from ctxkit.formats.base import Block, Format, ProvenLog, Row
from ctxkit.formats.containers import Container
from ctxkit.formats.foreign_keys import TRACES
from ctxkit.logfile import ownership
from ctxkit.logfile.empty_messages import LARGE, silence
from ctxkit.logfile.history import begun_anew, hint_of, joined
from ctxkit.logfile.tolerant import TolerantReader, in_full, passed_over
from ctxkit.settings.said_config import is_own
from ctxkit.store.folder import ONLY_NULS, RUINED
from ctxkit.store.joined import JoinedSource
from ctxkit.store.jsonl import BlockReader, read_blocks
from ctxkit.store.records import RecordLines, RecordReader
from ctxkit.store.sidecar import HeldSidecar, Sidecar
from ctxkit.store.source import GrowingSource, Source, open_log, spool

FRAGMENTS = frozenset({"torn-tail", "torn-line", "torn-prefix", "nul-block"})
"""Damage that a log without any whole record may have: its first append was cut off."""

TAIL = 1 << 16
"""Bytes at the end of a log that are read for its last records."""

FIRST_LINE = 1 << 16
"""Bytes read to distinguish a container (an array, an object over many lines) from JSON lines."""

FIRST_PIECE = 1 << 19
"""Bytes that hold the first records of nearly every log."""

LARGEST = 1 << 28
"""The largest file that is read as a whole to describe what it is, in bytes."""

AUTO = "auto"
"""The format is detected from the content."""

NATIVE = "chat"
"""The format that is always read as JSON lines, never as a container, if it is asked for by name."""

Partial = Literal["no", "look", "bare"]
"""Whether a log is read without the files in which its history begins, if one is missing; see `read`."""
Settle = Callable[[Path | None, Sidecar | None], str]
"""Gets a log's path and sidecar; returns the format to read it as: a name, or `auto`."""

Progress = Callable[[int, int], None]
"""Called with how much of a long piece of work is done, and how much there is."""


_record = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw] | list[Any] | str | int | float | bool | None]).decode


class Opening(msgspec.Struct):
    """A log that was read: `source` its bytes, `laid_out` the bytes that offsets refer to (another one for containers).

    `sidecar` is None for a stream without --sidecar. `transcript.damage` is the log's,
    `sidecar_damage` that of its ops.jsonl. `next_line`: the number of the line that comes next.
    """

    name: str
    path: Path | None
    source: Source
    laid_out: Source
    format: Format
    reader: TolerantReader
    transcript: Transcript
    sidecar: Sidecar | None
    conversation: int | None
    notices: list[str]
    sidecar_damage: list[Damage]
    next_line: int
    in_place: bool = False
    """Whether ops are appended to the log itself; else they go to its sidecar."""
    owner: str = ""
    """The listed program whose log of chat messages it is (`formats/chat_programs.py`); "" for none."""
    by_folder: bool = False
    """Whether ops go to the sidecar because of the folder alone, in which programs keep their own files."""
    own: bool = False
    """Whether the user said that the log is theirs (`--own`)."""
    sidecar_size: int = 0
    """Bytes of the sidecar's ops, as they were read."""
    pending: list[bytes] = []


def read(
    log: str | os.PathLike[str] | BinaryIO | Source, *, sidecar: str | os.PathLike[str] | None = None,
    conversation: int | None = None, settle: Settle | None = None, progress: Progress | None = None,
    before: Callable[[Source], None] | None = None, partial: Partial = "no", own: bool = False,
) -> Opening:  # fmt: skip
    """Opens and reads a log: a path, a stream, or bytes in memory.

    `settle` names the format, once the log is open (default: detected). `progress` is called after each block with the
    bytes read and their total (0: the end of a stream is not known yet). `before` is called with the log's bytes before
    they are read. `partial`: if the file in which its history begins is missing, the log is read without it: `look`: as
    long as it has no ops; `bare`: without its ops. `own`: the user says that the log is theirs: ops go to it, whoever's
    it seems to be.

    Raises NoSuchLog, NoPermission, ReadFailed, CannotUnpack, UnknownFormat, ManyConversations, MissingHistory;
    ForeignLog for `own` where that cannot be.
    """
    folder = Path(sidecar) if sidecar else None
    if isinstance(log, str | os.PathLike):
        path: Path | None = Path(log)
        name, source, beside = str(path), open_log(Path(log)), Sidecar(path, folder)
        if before is not None:
            before(source)
        format = settle(path, beside) if settle is not None else AUTO
        opening = read_source(
            name, path, source, beside, conversation=conversation, format=format, progress=progress, partial=partial,
            own=own,
        )  # fmt: skip
        _look_for_words(opening)
        return opening
    path, name = None, log.name if isinstance(log, Source) else "standard input"
    source = log if isinstance(log, Source) else spool(log, name, progress)
    if before is not None:
        before(source)
    piped = Sidecar(None, folder) if folder else None
    format = settle(path, piped) if settle is not None else AUTO
    opening = read_source(
        name, path, source, piped, conversation=conversation, format=format, progress=progress, partial=partial
    )
    if source is not log:  # bytes in memory are trusted to be of their format
        _look_for_words(opening)
    return opening


def read_held(
    name: str, data: bytes, beside: HeldSidecar, *, conversation: int | None = None, format: str = AUTO,
    container: Container | None = None,
) -> Opening:  # fmt: skip
    """Reads bytes as the file `name` with this sidecar would be read; no file is opened, and `name` may be a URL.

    `container`: what `containers.find` found in them, if it was asked already. Raises UnknownFormat,
    ManyConversations, Usage for a format or a conversation that is not known.
    """
    source = Source(name, data)
    source.compressed = name.endswith(COMPRESSED)  # the bytes are unpacked already
    opening = read_source(
        name, Path(name), source, beside, conversation=conversation, format=format, container=container
    )
    _look_for_words(opening)
    return opening


def read_source(
    name: str, path: Path | None, source: Source, sidecar: Sidecar | None, *, conversation: int | None,
    rows: int | None = None, format: str = AUTO, progress: Progress | None = None, container: Container | None = None,
    partial: Partial = "no", own: bool = False, numbered_as_chat: bool = False,
) -> Opening:  # fmt: skip
    """Reads a log from bytes that are open already; see `read`. `format`: its name; `auto`: by its content.

    `rows`: only the first so many non-op rows, for an earlier state; `container`: as in `read_held`; `own`: see `read`.
    `numbered_as_chat`: each row with a role is a message, whatever rows of its own the program has.
    """
    registry.require_known(format)
    _refuse_start(name, source)
    found = _recognized(name, source, conversation, format, container, sidecar, numbered_as_chat=numbered_as_chat)
    format_, records, damage = found.format, found.records, found.damage
    file = None if isinstance(sidecar, HeldSidecar) else path
    owner = ownership.program(found.looked_at, file) if format_ in (chat.FORMAT, chat.FOREIGN) else ""
    if owner and not numbered_as_chat:
        format_ = detection.of_program(owner) or format_
    row = format_.row
    laid_out, missing = (found.lines, "") if found.lines is not None else _with_history(path, source, format_)
    if isinstance(laid_out, JoinedSource):
        source.watch = None  # it looks at the log alone, and may end the reading

    def read_from_start(damage: list[Damage]) -> BlockReader:
        if isinstance(laid_out, RecordLines):
            return RecordReader(laid_out, row, damage, records)
        return BlockReader(laid_out, row, damage)

    reader = TolerantReader(format_, lambda: iter(read_from_start([])))
    blocks = read_from_start(damage)
    for block in limited(iter(blocks), rows):
        reader.feed(block)
        missing = missing or begun_anew(laid_out, block, format_)
        if progress is not None:
            progress(blocks.offset, laid_out.size)
    transcript = reader.finish()
    transcript.damage, transcript.missing = _both(damage, transcript), missing
    if isinstance(laid_out, JoinedSource):
        transcript.inherited = sum(message.offset < laid_out.own for message in transcript.messages)
        transcript.damage = [laid_out.where(one) for one in transcript.damage]
    if missing:
        text = f"{missing}: no message has a number"
        transcript.broken = [Damage(1, 0, "missing-history", text), *transcript.broken]
    _refuse_other_text(name, transcript, laid_out, asked=format != AUTO)
    if format == format_.name and not transcript.messages and transcript.rows:
        _refuse_other_format(name, format_, laid_out)
    if own and file is not None:
        place = _own_place(format_, name, owner, file, sidecar, compressed=source.compressed)
    elif source.compressed and path is not None:
        place = Place(chat.FOREIGN if format_ is chat.FORMAT else format_, False)
    else:
        place = _place(format_, transcript, owner, file, sidecar)
    opening = Opening(
        name, path, source, laid_out, place.format, reader, transcript, sidecar, conversation,
        list(sidecar.notices) if sidecar else [], [], blocks.line, place.in_place, place.owner, place.by_folder, own,
    )  # fmt: skip
    if format_.program and transcript.ops and _numbered_as_chat(opening):
        return read_source(
            name, path, source, sidecar, conversation=conversation, rows=rows, format=format, progress=progress,
            numbered_as_chat=True,
        )  # fmt: skip
    _merge_sidecar(opening)
    if missing and (partial == "no" or (transcript.ops and partial == "look")):
        raise MissingHistory(f"{name}: {missing}", hint_of(missing))
    if missing and transcript.ops:
        text = f"ops name messages by number: the {len(transcript.ops)} of this log have no effect"
        transcript.broken, transcript.ops = [*transcript.broken, Damage(1, 0, "missing-history", text)], []
    return opening


class _Recognized(NamedTuple):
    """What a log is. `lines`: of a container, its records as lines, which are `records`; None for lines as they are.

    `looked_at`: the records by which the format was found; `damage`: that of a container.
    """

    format: Format
    lines: RecordLines | None
    records: list[bytes]
    looked_at: list[dict[str, Any]]
    damage: list[Damage]


def _recognized(
    name: str, source: Source, conversation: int | None, format: str, container: Container | None,
    sidecar: Sidecar | None, *, numbered_as_chat: bool,
) -> _Recognized:  # fmt: skip
    """The format of a log, and of a container the conversation in it; arguments as in `read_source`."""
    whole = _document(source) if format != NATIVE and container is None else None
    if whole is not None:
        container = containers.find(whole)
    if container is not None:
        formats = [one.format for one in container.conversations]
        if not any(registry.fits(format, one) for one in formats):
            text = f"{name} is not a log of the format {format}: it is of {formats[0]}"
            raise UnknownFormat(text, "leave --from out")
        chosen = containers.choose(container, conversation, name)
        lines = RecordLines(name, chosen.records, container.rest, containers.lay_out)
        if sidecar is not None and len(container.conversations) > 1:
            sidecar.conversation = conversation
        return _Recognized(registry.by_name(chosen.format), lines, chosen.records, [], list(container.damage))
    refusal = _sightings().refused_file(whole) if whole is not None and containers.is_document(whole) else None
    if refusal is not None:
        raise _named(name, refusal)
    if conversation not in (None, 1):
        raise Usage(f"{name} has no conversation {conversation}", "it holds one: leave --conversation out")
    if format == registry.CONTAINED:
        text = f"{name} is not a log of the format {format}"
        raise UnknownFormat(text, "without --from the format is recognized by content")
    try:
        if format not in (AUTO, NATIVE, *registry.FAMILIES) and not numbered_as_chat:
            return _Recognized(registry.by_name(format), None, [], [], [])
        head, tail = _head(source), _tail(source)
        kind = chat.FOREIGN if numbered_as_chat else detection.chosen(format, head, tail)
        return _Recognized(kind, None, [], [*head, *tail], [])
    except UnknownFormat as error:
        raise _named(name, error) from error


def _with_history(path: Path | None, source: Source, format: Format) -> tuple[Source, str]:
    """The bytes of a log with those of the files in which its history begins; or its own, and why there are no more."""
    try:
        return joined(path, source, format) or source, ""
    except MissingHistory as error:
        return source, error.message


class Place(NamedTuple):
    """Where the ops of a log go; the fields are those of `Opening`."""

    format: Format
    in_place: bool
    owner: str = ""
    by_folder: bool = False


def _numbered_as_chat(opening: Opening) -> bool:
    """Whether an op in the log was written when the log was read as chat messages, which had other numbers."""
    from ctxkit.core.ledger import build
    from ctxkit.core.op_fit import faults

    def name(n: int) -> str:
        message = opening.transcript.messages[n - 1]
        return identity_of(opening, message, lambda: content_of(opening, message))

    found = (faults(entry, opening.transcript, name) for entry in build(opening.transcript).entries)
    return any(fault is not None and fault[0] is Misfit for fault in found)


def identity_of(opening: Opening, message: Message, content: Callable[[], Content]) -> str:
    """The identity of a message, to compare with `at.last` of an op; `content()`: the message in full.

    In a file of another program that was read as chat when its first op was written, it remains that of a chat message.
    """
    if message.key:
        return message.key
    if opening.in_place and opening.format.was_chat:
        row = attempt(lambda: loads(opening.laid_out.read(message.offset, message.size)), None)
        return identity(message, chat.content_of(row if isinstance(row, dict) else {}))
    return identity(message, content())


def _place(format: Format, transcript: Transcript, owner: str, path: Path | None, sidecar: Sidecar | None) -> Place:
    """Where ops go, for a log of which the listed program `owner` is known; the law is that of `logfile/ownership.py`.

    If the log has ops, further ones go to the same place, even if the log without ops would be treated differently.
    Neither a stricter detection of the format nor a record that another program appends changes that. Only the file of
    a program that keeps chat messages itself gets no more of them.
    """
    if format not in (chat.FORMAT, chat.FOREIGN):
        return Place(format, bool(transcript.ops) and (format.native or format.was_chat), owner)
    if owner:
        return Place(chat.FOREIGN, False, owner)
    if transcript.ops:
        return Place(chat.FORMAT, True)
    if format is chat.FOREIGN or path is None or sidecar is None:
        return Place(format, format.native)
    if sidecar.ops_size():
        return Place(chat.FOREIGN, False, by_folder=ownership.among_programs_files(path))
    if ownership.among_programs_files(path) and not is_own(sidecar):
        return Place(chat.FOREIGN, False, by_folder=True)
    return Place(chat.FORMAT, True)


def _own_place(
    format: Format, name: str, owner: str, path: Path, sidecar: Sidecar | None, *, compressed: bool
) -> Place:  # fmt: skip
    """Where ops go if the user says that the log is theirs. Raises ForeignLog where they cannot go to the log."""
    if compressed:
        text = f"{name} is compressed, and cannot be appended to: nothing was changed"
        raise ForeignLog(text, "leave --own out: the change goes beside the log")
    is_chat = format in (chat.FORMAT, chat.FOREIGN)
    if not (is_chat or format.was_chat or format.program):
        raise ForeignLog(
            f"{name} is a {format.name} file, which its program must read: nothing was changed",
            "leave --own out: the change goes beside the log",
        )
    if sidecar is not None and sidecar.ops_size():
        raise ForeignLog(
            f"{name} has changes beside it already, which would no longer count: nothing was changed",
            f"ctxkit cat {name} >COPY makes a log with them, for which --own can be said",
        )
    by_folder = not owner and ownership.among_programs_files(path) and not (sidecar is not None and is_own(sidecar))
    return Place(chat.FORMAT if is_chat else format, True, owner, by_folder)


def _named(name: str, error: UnknownFormat) -> UnknownFormat:
    """The error with the name of the file."""
    return UnknownFormat(f"{name}: {error.message}", error.hint)


def _sightings() -> Any:
    """The module that describes files that are not logs; imported only when needed."""
    from ctxkit.formats import unsupported

    return unsupported


def _refuse_start(name: str, source: Source) -> None:
    """Raises UnknownFormat if the first bytes are of another program's file, whatever lines it may have."""
    if _begins(source.read(0, 1 << 10)):
        return
    error = _sightings().refused_start(source.read(0, _sightings().BEGINNING), name)
    if error is not None:
        raise _named(name, error)


def _begins(start: bytes) -> bool:
    """Whether a file begins as a log does: with a record, possibly after blanks and NULs; or is empty."""
    found = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")
    return not found or found[:1] in (b"{", b"[")


def _look_for_words(opening: Opening) -> None:
    """Raises UnknownFormat if no message has content; adds a notice if most have none."""

    def content(message: Message) -> Content | None:
        """The message in full; None if it cannot be read."""
        found = content_of(opening, message)
        return None if is_unreadable(found) else found

    found = silence(opening.transcript.messages, content)
    if found is None:
        return
    read_as = opening.format.name
    if found.whole:
        row = next(m for m in opening.transcript.messages if m.bytes > LARGE)
        seen = loads(opening.laid_out.read(row.offset, row.size))
        raise _named(opening.name, _sightings().refused(seen, f"as {read_as} no message has any content; {row.n} has"))
    opening.notices.append(
        f"{opening.name}: {found.silent} of {found.seen} messages have no content as {read_as}:"
        " is it another program's file?"
    )


def content_of(opening: Opening, message: Message, *, recorded: bool = False) -> Content:
    """A message in full, read from the log's bytes."""

    def decode() -> list[dict[str, Any]]:
        spans = ((message.offset, message.size), *message.more)
        return [row for span in spans if isinstance(row := loads(opening.laid_out.read(*span)), dict)]

    return in_full(opening.format, message, decode, recorded=recorded)


def _document(source: Source) -> bytes | None:
    """The whole file, if its first lines suggest one bigger JSON text; one long line always does."""
    size = FIRST_LINE
    while (may := containers.may_be(start := source.read(0, size), whole=size >= source.size)) is None:
        size *= 16
    single = size > FIRST_LINE and start.find(b"\n") in (-1, source.size - 1)
    if not (single or may):
        return None
    return start if len(start) == source.size else source.read(0, source.size)


def back(opening: Opening, rows: int) -> Transcript:
    """The log as it was with this number of rows, without the ops of its sidecar."""
    return read_source(
        opening.name, opening.path, opening.source, None, conversation=opening.conversation,
        format=opening.format.name, rows=rows, partial="bare" if opening.transcript.missing else "no",
    ).transcript  # fmt: skip


def reread(opening: Opening) -> Opening:
    """The same log as it is now: if the file only grew, only the new part is read."""
    before, source = opening.source, opening.source
    if isinstance(before, GrowingSource):
        source, grown = before.now(), True
    elif opening.path is None:
        return opening
    else:
        source = open_log(opening.path)
        old, new = before.seen, source.seen
        grown = old is not None and new is not None and (old.dev, old.ino) == (new.dev, new.ino)
        same = old == new if source.compressed else source.size >= before.size  # packed anew it may be any other text
        grown = grown and same and not opening.reader.released
    whole = opening.laid_out.grown(source) if isinstance(opening.laid_out, JoinedSource) else source
    alike = opening.laid_out is opening.source or whole is not source

    def from_start() -> Opening:
        return read_source(
            opening.name, opening.path, source, opening.sidecar, conversation=opening.conversation,
            format=opening.format.name, partial="bare" if opening.transcript.missing else "no", own=opening.own,
        )  # fmt: skip

    if not grown or not alike or opening.transcript.missing or not _ends_line(source, opening.source.size):
        return from_start()
    damage: list[Damage] = []
    blocks = BlockReader(whole, opening.format.row, damage, start=opening.laid_out.size, line=opening.next_line)
    row = opening.format.row  # `opening` holds the reader: in a circle, the file would stay open
    opening.reader.again = lambda: read_blocks(whole, row, [])
    for block in blocks:
        if begun_anew(whole, block, opening.format):
            return from_start()
        opening.reader.feed(block)
    transcript = opening.reader.finish()
    if isinstance(whole, JoinedSource):
        damage, transcript.damage = ([whole.where(one) for one in some] for some in (damage, transcript.damage))
    damage = [*opening.transcript.damage, *damage]
    transcript.damage, transcript.inherited = _both(damage, transcript), opening.transcript.inherited
    found = msgspec.structs.replace(
        opening, source=source, laid_out=whole, transcript=transcript, next_line=blocks.line, sidecar_size=0,
    )  # fmt: skip
    _merge_sidecar(found)
    return found


def _both(damage: list[Damage], transcript: Transcript) -> list[Damage]:
    """Damage of lines, and damage found by the reader, each once, in order."""
    if not transcript.damage:
        return damage
    return sorted(dict.fromkeys([*damage, *transcript.damage]), key=lambda one: (one.line, one.offset))


def _ends_line(source: Source, offset: int) -> bool:
    return offset == 0 or source.read(offset - 1, 1) == b"\n"


def _refuse_other_text(name: str, transcript: Transcript, source: Source, *, asked: bool) -> None:
    """Raises UnknownFormat for a file that is not a log, and must not become one.

    It holds text but not one record, or only NUL bytes; or, if no format was `asked` for, it does not begin as a log
    does and is mostly damage: a page with messages as examples.
    """
    held = transcript.rows + len(transcript.ops)
    if not transcript.damage or (held and (asked or transcript.ops or len(transcript.damage) <= held)):
        return
    begins = _begins(source.read(0, 1 << 10))
    if held and begins:
        return
    if not held and all(one.code == "nul-block" for one in transcript.damage):
        raise UnknownFormat(f"{name}: {ONLY_NULS}: it is no log any more", RUINED)
    for one in transcript.damage:
        if held or one.code not in FRAGMENTS or not begins:
            error = None
            if source.size <= LARGEST and one.code not in FRAGMENTS:
                error = _sightings().refused_file(source.read(0, source.size))
            if error is not None:
                raise _named(name, error)
            if held:
                text = f"{len(transcript.damage)} parts of it are not records, {held} could be: it is not a log"
                hint = "--from FORMAT reads the whole records as that format"
                raise UnknownFormat(f"{name}:{one.line}: {one.text}: {text}", hint)
            hint = _sightings().way_in(source.read(0, 1 << 10))
            raise UnknownFormat(f"{name}:{one.line}: {one.text}: no record in the whole file, so it is not a log", hint)


def _refuse_other_format(name: str, format: Format, source: Source) -> None:
    """Raises UnknownFormat if a log without a message does not look like the requested format."""
    head = _head(source)
    if head and not format.detect(head):
        seen = _sightings().seen(head[0], "its first record has")
        text = f"{name} is not a log of the format {format.name}: it has no message of that format; {seen}"
        raise UnknownFormat(text, "without --from the format is recognized by content")


def _head(source: Source) -> list[dict[str, Any]]:
    """The first records, ops left out."""
    found = _clean_head(source)
    if found is not None:
        return found
    found = []
    for block in read_blocks(source, Row, []):
        for i in range(len(block.rows)):
            try:
                record = loads(block.raw(i))
            except ValueError:  # nested too deeply: the other records are enough for the detection
                continue
            if isinstance(record, dict) and not isinstance(record.get("ctxkit"), str):
                found.append(record)
                if len(found) >= detection.HEAD:
                    return found
    return found


def _tail(source: Source) -> list[dict[str, Any]]:
    """The last whole records, which may have keys of another program; for a short log none, as its first records
    are the same.
    """
    start = max(source.size - TAIL, 0)
    if not start:
        return []
    piece = source.read(start, TAIL)
    if not any(trace in piece for trace in TRACES):
        return []
    found: list[dict[str, Any]] = []
    for line in piece.split(b"\n")[:0:-1]:
        if any(trace in line for trace in TRACES):
            try:
                record = loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and not isinstance(record.get("ctxkit"), str):
                found.append(record)
                if len(found) >= detection.HEAD:
                    break
    return found


def _clean_head(source: Source) -> list[dict[str, Any]] | None:
    """The first records without reading the rest, ops left out; None if a line is not a record."""
    found: list[dict[str, Any]] = []
    piece = source.read(0, FIRST_PIECE)
    start = 0
    while len(found) < detection.HEAD:
        end = piece.find(b"\n", start)
        if end < 0:
            return found if start == source.size else None
        try:
            record = _record(piece[start:end])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if not isinstance(record.get("ctxkit"), str):
            found.append(record)
        start = end + 1
    return found


def limited(blocks: Iterator[Block], rows: int | None) -> Iterator[Block]:
    """The blocks of the first `rows` non-op rows, and the ops among and right after them."""
    if rows is None:
        yield from blocks
        return
    left = rows
    for block in blocks:
        end = _after(block, left)
        yield block.part(0, end)
        if end < len(block.rows):
            return
        left -= sum(not isinstance(row.ctxkit, str) for row in block.rows)


def blocks_of(opening: Opening, row: type[Row]) -> Iterator[Block]:
    """The records of a log read again, as rows of another type, without those that were skipped."""
    return passed_over(read_blocks(opening.laid_out, row, []), opening.reader.odd, row)


def proven_log(opening: Opening) -> ProvenLog:
    """Gives what a format needs to look for recorded requests in a log."""
    source = opening.laid_out
    return ProvenLog(source.size, source.read, lambda row: blocks_of(opening, row))


def growing(opening: Opening, places: Iterable[int]) -> Iterator[Transcript]:
    """The log as it was with this many non-op rows, for each of `places`, in ascending order; it is read once.

    A transcript is valid until the next one is requested; damage is not reported again.
    """
    reader, blocks = opening.format.reader(), blocks_of(opening, opening.format.row)
    read = 0
    for place in places:
        while read < place and (block := next(blocks, None)) is not None:
            cut = _after(block, place - read)
            reader.feed(block.part(0, cut))
            if cut < len(block.rows):
                read, blocks = place, chain([block.part(cut, len(block.rows))], blocks)
            else:
                read += sum(not isinstance(one.ctxkit, str) for one in block.rows)
        yield reader.finish()


def _after(block: Block, rows: int) -> int:
    """After how many records of a block its first `rows` non-op rows end, with the ops among and right after them."""
    for i, row in enumerate(block.rows):
        if not isinstance(row.ctxkit, str):
            if not rows:
                return i
            rows -= 1
    return len(block.rows)


def _merge_sidecar(opening: Opening) -> None:
    """Add the ops of the sidecar, for a log that is not native or is a stream; `ledger` orders them."""
    sidecar, transcript = opening.sidecar, opening.transcript
    if sidecar is None or (opening.format.native and opening.path is not None) or sidecar.ops_size() is None:
        return
    damage: list[Damage] = []
    collector = OpCollector()
    with sidecar.open_ops() as source:
        for block in read_blocks(source, Row, damage):
            for i, row in enumerate(block.rows):
                if isinstance(row.ctxkit, str):
                    collector.add(block, i, transcript.rows, len(transcript.messages))
                else:
                    text = "not an op of ctxkit: it has no effect"
                    damage.append(Damage(block.lines[i], block.offsets[i], "not-an-op", text))
        opening.sidecar_size = source.size
    for op in collector.ops:
        op.sidecar = True
    transcript.ops = transcript.ops + collector.ops
    opening.sidecar_damage = damage
