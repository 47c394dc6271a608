"""The needle of a search: where it stands in a text, and what its traces are in the bytes of a JSON record.

Used by `search/full_search.py`. A record without any trace cannot hold the needle, however its strings are escaped, so
it is never decoded; a trace alone proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from ctxkit.core.text.literals import literals
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadPattern, Usage

Span = tuple[int, int]

_PLAIN = re.compile(r"[ -~]+")
_ESCAPABLE = re.compile(r'["\\/]')
_NUMBER = re.compile(r"[0-9.eE+-]+")
"""A number of JSON, or a part of one. Each is a text of its own, so what holds anything else stands in no number."""
_META = "u\\0123456789abcdefABCDEF"
"""What an escape itself is made of: JSON inside JSON can have these escaped."""
_RENDERED = re.compile(rb"\d[eE][+-]?\d|[\d.]{16}|0\.0000")
"""Numbers that may be shown with other digits than they are written with."""
_RUN = re.compile("[A-Za-z0-9]+")
SHORTEST = 3
"""Letters and digits of a word that is worth an index."""
_FOLDING = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}
"""What matches an ASCII letter where case is ignored, and is not ASCII."""


_FOLDED = re.compile("[iks]")


class Trace(NamedTuple):
    """A place in the bytes counts where `literal` stands, or, with a `pattern`, where that matches.

    `literal` then stands in whatever the pattern matches; b"" says nothing.
    """

    literal: bytes
    pattern: re.Pattern[bytes] | None = None


class Needle:
    """What is searched: a text, or any of several. Raises Usage for no text, BadPattern for no regular expression."""

    def __init__(self, text: str, *others: str, regex: bool = False, ignore_case: bool = False) -> None:
        if not text:
            raise Usage("the text to search is empty", "is a shell variable empty?")
        self.text = text
        self._others = [Needle(other, regex=regex, ignore_case=ignore_case) for other in others]
        self.regex = regex
        self.ignore_case = ignore_case
        self._pattern: re.Pattern[str] | None = None
        if regex or ignore_case:
            flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
            try:
                self._pattern = re.compile(text if regex else re.escape(text), flags)
            except (re.error, RecursionError, OverflowError) as error:
                hint = "put a \\ before special characters, or leave --regex out"
                raise BadPattern(f"{text!r} is not a regular expression: {error}", hint) from error

    def __str__(self) -> str:
        return " or ".join(repr(one.text) for one in (self, *self._others))

    def spans(self, text: str) -> Iterator[Span]:
        """Where it stands in `text`, none overlapping another; a regular expression may match nothing at a place.

        Of several that overlap, the first, and of those at one place the longest.
        """
        if not self._others:
            yield from self._spans(text)
            return
        end = -1
        found = (span for one in (self, *self._others) for span in one._spans(text))
        for span in sorted(found, key=lambda span: (span[0], -span[1])):
            if span[0] >= end:
                yield span
                end = span[1]

    def _spans(self, text: str) -> Iterator[Span]:
        if self._pattern is not None:
            yield from (match.span() for match in self._pattern.finditer(text))
            return
        size = len(self.text)
        at = text.find(self.text)
        while at >= 0:
            yield at, at + size
            at = text.find(self.text, at + size)

    def within(self, text: str) -> bool:
        """Whether it stands in `text`."""
        found = self.text in text if self._pattern is None else self._pattern.search(text) is not None
        return found or any(other.within(text) for other in self._others)

    @cached_property
    def traces(self) -> list[Trace]:
        """What to look for in the bytes (lower-cased where case is ignored); empty: every record must be decoded."""
        found = [one._traces() for one in (self, *self._others)]
        return [trace for traces in found for trace in traces] if all(found) else []

    @cached_property
    def stems(self) -> list[list[str]] | None:
        """For each of the texts, what stands in words of every record that holds it: runs of ASCII letters and digits.

        In lower case, and each within one word of the record's bytes, unless letters or digits are spelled as escapes
        there. None where some text leaves nothing to go by.
        """
        found = [one._stems() for one in (self, *self._others)]
        return found if all(found) else None

    def _stems(self) -> list[str]:
        if all(map(_NUMBER.fullmatch, self._literals)):
            return []
        runs = [run.lower() for text in self._literals for run in _RUN.findall(text)]
        if self.ignore_case:
            runs = [piece for run in runs for piece in _FOLDED.split(run)]
        return sorted({run for run in runs if len(run) >= SHORTEST})

    @property
    def _literals(self) -> list[str]:
        """What stands wherever it is found."""
        return literals(self.text) if self.regex else [self.text]

    def _traces(self) -> list[Trace]:
        found = map(self._of, sorted(self._literals, key=len, reverse=True))
        return next(filter(None, found), [])

    def _of(self, text: str) -> list[Trace]:
        """The traces of a text."""
        runs = [run for found in _PLAIN.findall(text) for run in _ESCAPABLE.split(found)]
        plain = max(runs, key=len, default="")
        other = next((c for c in text if c > "\x7f" and not "\ud800" <= c <= "\udfff"), "")
        if self.ignore_case:
            return self._folded(plain) if plain else []
        if len(plain) > 1 or (plain and not other):
            return [Trace(utf8(plain)), _escaped(plain), *_numbers(plain)]
        if other:
            first = other.encode("utf-16-be")[:2].hex()  # of two halves, the first
            pattern = utf8(rf"\\u(?:{_any_case(first)}|00(?:{_codes(_META)}))")
            return [Trace(utf8(other)), Trace(b"\\u", re.compile(pattern))]
        return []

    def _folded(self, plain: str) -> list[Trace]:
        low = plain.lower()
        found = [Trace(utf8(low)), _escaped(low + low.upper()), *_numbers(plain)]
        others = "".join(_FOLDING[letter] for letter in _FOLDING if letter in low)
        if others:
            spelled = [re.escape(utf8(c).lower()) for c in others]
            spelled += [b"\\\\u" + utf8(_any_case(f"{ord(c):04x}")) for c in others]
            found.append(Trace(b"", re.compile(b"|".join(spelled))))
        return found


def _numbers(plain: str) -> list[Trace]:
    return [Trace(b"", _RENDERED)] if _NUMBER.fullmatch(plain) else []


def _escaped(characters: str) -> Trace:
    r"""Any of these as `\u00XX`, at whatever depth of JSON inside JSON."""
    return Trace(b"\\u00", re.compile(utf8(rf"\\u00(?:{_codes(characters + _META)})")))


def _codes(characters: Iterable[str]) -> str:
    return "|".join(_any_case(f"{ord(c):02x}") for c in sorted(set(characters)))


def _any_case(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
