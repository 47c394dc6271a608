"""Parses a draft, which `draft.py` writes: its blocks, the log that it is of, its mistakes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ctxkit.edit.draft import Base, DraftBlock, FoldedPart, Piece
from ctxkit.edit.spelling import NOTHING, OWN, SIGN, read, without_margins

_HEADER = re.compile(
    r"[ \t]+(?:(?P<label>[0-9]+(?:\.[0-9]+)?)(?:[ \t]+|$))?(?:(?P<time>[0-9][^ \t]*)(?:[ \t]+|$))?"
    r"(?P<role>[^ \t()]+)?[ \t]*(?:\((?P<remark>.*)\)[ \t]*)?"
)
_PART = re.compile(
    r"[ \t]*(?:(?P<text>text)[ \t]*|(?P<label>[0-9]+(?:\.[0-9]+)?)/(?P<part>[0-9]{1,9})(?: (?P<words>.*)|))"
)


class DraftMistake(msgspec.Struct, frozen=True):
    """A mistake in a draft. `line`: from 1."""

    line: int
    text: str


class Parsed(msgspec.Struct):
    """A parsed draft. `lines`: the first line of each block; `base`: None if its line is missing; `told`: it is a
    conversation, whose new messages have times.
    """

    blocks: list[DraftBlock] = []
    lines: list[int] = []
    base: Base | None = None
    mistakes: list[DraftMistake] = []
    told: bool = False


class DraftReader:
    """Parses a draft line by line."""

    def __init__(self) -> None:
        self.found = Parsed()
        self._head: DraftBlock | None = None
        self._pieces: list[Piece] = []
        self._text: list[str] = []
        self._stray = False

    def line(self, number: int, text: str) -> None:
        """Take line `number`."""
        own = OWN.match(text)
        if own is None:
            if self._head is not None:
                self._text.append(text)
            elif not self._stray and text.strip() and not text.lstrip().startswith("#"):
                self._stray = True  # reported once: all lines up to the first message are the same mistake
                self._wrong(number, f"text that belongs to no message: a line such as {SIGN} user begins one")
            return
        rest, out = text[own.end() :], "#" in own[1]
        if rest.startswith("!"):
            return
        if rest.startswith("="):
            read_base(self.found, number, rest[1:], out=out)
        elif rest.startswith(">"):
            self._part(number, rest[1:], out=out)
        else:
            self._header(number, rest, out=out)

    def end(self) -> Parsed:
        """Finish, once all lines were parsed; returns the result."""
        self._close()
        return self.found

    def _header(self, number: int, rest: str, *, out: bool) -> None:
        found = _HEADER.fullmatch(rest)
        if found is None or found["role"] is None:
            hint = f"{SIGN} NUMBER ROLE, or {SIGN} ROLE; {NOTHING} in front makes it text"
            self._wrong(number, f"not the beginning of a message: {hint}")
            self._stray = True
            return
        self._close()
        self._head = DraftBlock(
            found["label"] or "", read(found["role"]), (), out, found["time"] or "", read(found["remark"] or "")
        )
        self.found.lines.append(number)

    def _part(self, number: int, rest: str, *, out: bool) -> None:
        if self._head is None:
            self._wrong(number, "a part that belongs to no message")
            return
        self._take_text()
        found = _PART.fullmatch(rest)
        if found is None:
            self._wrong(number, f"not a part of a message: {NOTHING} in front makes it text")
        elif found["label"] and not out:
            self._pieces.append(FoldedPart(found["label"], int(found["part"]), read(found["words"] or "")))

    def _take_text(self) -> None:
        lines, self._text = self._text, []
        if text := without_margins(lines):
            self._pieces.append(read(text))

    def _close(self) -> None:
        if self._head is not None:
            self._take_text()
            self.found.blocks.append(msgspec.structs.replace(self._head, pieces=tuple(self._pieces)))
        self._head, self._pieces, self._text = None, [], []

    def _wrong(self, number: int, text: str) -> None:
        self.found.mistakes.append(DraftMistake(number, text))


def read_base(found: Parsed, number: int, rest: str, *, out: bool) -> None:
    """Take the base from line `number`, which has `rest` after %%=; a mistake if it was changed."""
    if out:
        return
    pairs = dict(pair.split("=", 1) for pair in rest.split() if "=" in pair)
    try:
        found.base = msgspec.convert({key: read(value) for key, value in pairs.items()}, Base, strict=False)
    except msgspec.ValidationError:
        found.mistakes.append(DraftMistake(number, "the line %%= was changed"))


def base_of(text: str) -> Base | None:
    """The base of a draft of any form; None if its line is missing or was changed."""
    found = Parsed()
    for number, one in split(text):
        own = OWN.match(one)
        if own is not None and one.startswith("=", own.end()):
            read_base(found, number, one[own.end() + 1 :], out="#" in own[1])
    return found.base


def split(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a draft with their numbers, from 1, without line ends and byte order mark."""
    for number, one in enumerate(ended(text.removeprefix("\ufeff")).split("\n"), start=1):
        yield number, one.removesuffix("\r")


def ended(text: str) -> str:
    """A draft with line feeds, also if the editor saved carriage returns alone."""
    return text if "\n" in text else text.replace("\r", "\n")


def parse(text: str) -> Parsed:
    """The draft in `text`, with any line ends."""
    reader = DraftReader()
    for number, line in split(text):
        reader.line(number, line)
    return reader.end()
