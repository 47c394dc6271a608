"""Secrets in a log and in the files beside it: which are in the context, and which only in a file.

Pipeline: every line of the log -> `core/text/redactor.py` -> the message that a line with a secret is of. A log only
grows, so a secret stays in it when an op takes its message out of the context. What is no log is read as plain text.
"""

from __future__ import annotations

from bisect import bisect_left
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Message, Part, Result, Span, Text, Thinking
from ctxkit.core.text.json_text import loads, overwritten
from ctxkit.core.text.redaction import find_secrets, mask, redact
from ctxkit.core.text.redactor import Located, Redactor, leaves, located
from ctxkit.errors import CtxkitError
from ctxkit.logfile.open import OpenLog
from ctxkit.store.joined import JoinedSource
from ctxkit.store.source import Source
from ctxkit.store.spool import lines_of


class FoundSecret(msgspec.Struct, frozen=True):
    """A secret that was found. `file`: beside the log, "" for the log itself; `line`: from 1, 0 if it is unknown;
    `message`: as commands name it, "" for none; `where`: in it, in words; `masked`: its first letters and its length;
    `in_context`: whether a model would be sent it, None where no log was read.
    """

    file: str
    line: int
    message: str
    where: str
    kind: str
    masked: str
    in_context: bool | None = None


def secrets_in(log: OpenLog) -> Iterator[FoundSecret]:
    """The secrets in a log, in its order, then those in the files beside it. Raises ReadFailed, NoPermission."""
    context, laid_out = _Context(log), log.opening.laid_out
    if laid_out is log.opening.source or isinstance(laid_out, JoinedSource):
        yield from _in_rows(log, laid_out, context)
    else:
        yield from _in_document(log, laid_out, context)
    for path in _beside(log):
        yield from (
            msgspec.structs.replace(one, file=str(path), in_context=context.holds(value))
            for one, value in _in_lines(path.read_bytes())
        )


def _in_rows(log: OpenLog, source: Source, context: _Context) -> Iterator[FoundSecret]:
    """The secrets in the lines of a log, also of its history in other files."""
    own = source.own if isinstance(source, JoinedSource) else 0
    spans = sorted((at, message.n) for message in log.messages for at, _ in _spans(message))
    redactor, start, number = Redactor(), 0, 0
    for line in lines_of(source.chunks()):
        size, number = len(line), number + (start >= own)
        for value in filter(redactor.finds, _values(line)):
            first, end = (bisect_left(spans, (place,)) for place in (start, start + size))
            numbers = list(dict.fromkeys(n for _, n in spans[first:end]))
            file = "" if start >= own else source.within(start + 1)  # type: ignore[attr-defined]  # it is joined
            for one in located(value):
                yield context.found(one, file, number, numbers, value)
        start += size + 1


def _in_document(log: OpenLog, laid_out: Source, context: _Context) -> Iterator[FoundSecret]:
    """The secrets in a log that is one JSON text: in its messages, then what else is in it."""
    told: set[str] = set()
    for message in log.messages:
        for span in _spans(message):
            for value in _values(laid_out.read(*span)):
                for one in located(value):
                    told.add(one.value)
                    yield context.found(one, "", 0, [message.n], value)
    for value in _values(b"".join(log.opening.source.chunks())):
        for one in located(value):
            if not any(one.value in other for other in told):
                yield context.found(one, "", 0, [], None)


def _spans(message: Message) -> tuple[Span, ...]:
    return ((message.offset, message.size), *message.more)


def in_text(data: bytes) -> Iterator[FoundSecret]:
    """The secrets in a plain text, of UTF-8 or, by its first bytes, of UTF-16."""
    text = data.decode("utf-16" if data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8", "replace")
    line, at = 1, 0
    for one in find_secrets(text):
        line, at = line + text.count("\n", at, one.start), one.start
        yield FoundSecret("", line, "", "", one.kind, mask(text, one))


def _in_lines(data: bytes) -> Iterator[tuple[FoundSecret, str]]:
    """The secrets in a file beside a log, of JSON lines or of text, with their values."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        for value in _values(line.removesuffix(b",")):
            for one in located(value):
                yield FoundSecret("", number, "", _where(one.path, value), one.kind, one.masked), one.value


def _values(line: bytes) -> list[Any]:
    """A line as JSON, and what it says besides under keys that it has twice; as text if it is none."""
    try:
        value = loads(line)
        return [value, *overwritten(line, value)]
    except ValueError:
        return [line.decode("utf-8", "replace")]


def _beside(log: OpenLog) -> Iterator[Path]:
    """The files of the log's sidecar."""
    sidecar = log.opening.sidecar
    if sidecar is not None and not sidecar.ignored and sidecar.folder.is_dir():
        yield from sorted(path for path in sidecar.folder.rglob("*") if path.is_file() and not path.is_symlink())


def _dotted(path: Sequence[str | int]) -> str:
    """A path as jq has it, `content[0].text`; a key may be a secret itself."""
    said = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return redact(said.removeprefix("."))[0]


def _where(path: Sequence[str | int], value: Any) -> str:
    """The place of a secret in a record: of an op with its name."""
    op = value.get("ctxkit") if isinstance(value, dict) else None
    return f"{_dotted([op])} {_dotted(path)}" if isinstance(op, str) else _dotted(path)


class _Context:
    """What a model would be sent of a log, and what its messages say."""

    def __init__(self, log: OpenLog) -> None:
        self._log = log
        self._said: dict[int, list[tuple[str, Located]]] = {}
        self._whole: list[str] | None = None
        self._names: frozenset[Name] | None = None

    def found(self, one: Located, file: str, line: int, numbers: Sequence[int], value: Any) -> FoundSecret:
        """A secret of a record, in which the messages `numbers` are."""
        for n in numbers:
            for where, held in self._in_message(n):
                if held.value == one.value or one.value in held.value:
                    return FoundSecret(file, line, str(n), where, one.kind, one.masked, self.holds(one.value, n))
        named = str(numbers[0]) if numbers else ""
        return FoundSecret(file, line, named, _where(one.path, value), one.kind, one.masked, self.holds(one.value))

    def _in_message(self, n: int) -> list[tuple[str, Located]]:
        if n not in self._said:
            self._said[n] = list(_in_content(self._log.content(n)))
        return self._said[n]

    def holds(self, secret: str, n: int = 0) -> bool:
        """Whether the context has this secret, or message `n` in it. A log whose ops do not fit has none."""
        try:
            state = self._log.state()
            if n:
                return n in self._listed() and secret in _words(self._log.full(entry(state, n)))
            if self._whole is None:
                self._whole = [_words(self._log.full(one)) for one in self._log.entries()]
            return any(secret in text for text in self._whole)
        except CtxkitError:
            return False

    def _listed(self) -> frozenset[Name]:
        if self._names is None:
            self._names = frozenset(self._log.listed())
        return self._names


def _words(content: Content) -> str:
    """All texts of a message, one after the other."""
    return "\n".join(leaf.text for leaf in leaves(msgspec.to_builtins([content.name, content.parts])))


def _in_content(content: Content) -> Iterator[tuple[str, Located]]:
    for part in content.parts:
        yield from _in_part(part)
    for one in located(content.name or ""):
        yield "name", one


def _in_part(part: Part) -> Iterator[tuple[str, Located]]:
    """The secrets in a part of a message, each with where it is."""
    match part:
        case Text(text=text):
            yield from (("text", one) for one in located(text))
        case Thinking(text=text):
            yield from (("thinking", one) for one in located(text))
        case Call(name=name, arguments=arguments):
            yield from (("name of a call", one) for one in located(name))
            known = redact(name)[0]
            for one in located(arguments):
                yield f"argument {_dotted(one.path)} of {known}" if one.path else f"arguments of {known}", one
        case Result(content=inner):
            if isinstance(inner, str):
                yield from (("result", one) for one in located(inner))
            else:
                yield from (("result", one) for held in inner for _, one in _in_part(held))
        case _:
            yield from ((part.__class__.__name__.lower(), one) for one in located(msgspec.to_builtins(part)))
