"""A close look at every record of a log, for what reading does not look at: keys that stand twice, links.

Used by `recovery/check.py` alone: every record is decoded in full, which reading a log does not do.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxkit.core.messages import Damage
from ctxkit.core.unreadable import is_unreadable
from ctxkit.formats.base import Block, RecordLinks, Row
from ctxkit.logfile.open import OpenLog
from ctxkit.store.jsonl import read_blocks

_LONGEST = 60
"""Characters of a key or an id that are repeated in a report."""
_WORDS = {
    "nonfinite": "a number that JSON does not have (NaN, Infinity, or beyond all bounds): read as far as it can be",
    "huge-number": "a number of thousands of digits: read as text",
}


class Record(msgspec.Struct, gc=False):
    """A record with ties: where it stands, and what its format says of them."""

    line: int
    offset: int
    ties: RecordLinks
    sum: int


def soundness(log: OpenLog) -> list[Damage]:
    """What is wrong with records and their links, in the order of the lines, but for what reading reported."""
    known = {(one.line, one.code) for one in log.transcript.damage}
    look, ties_of = _Look(), log.opening.format.ties
    odd = [one.offset for one in log.messages if is_unreadable(log.content(one.n))]
    found: list[Damage] = []
    records: list[Record] = []
    for block in read_blocks(log.opening.laid_out, Row, []):
        found += _unreadable(block, odd, known)
        for i, row in enumerate(block.rows):
            raw = block.raw(i)
            line, offset = block.lines[i], block.offsets[i]
            record = look.decode(raw)
            found += [Damage(line, offset, code, words) for code, words in look.notes if (line, code) not in known]
            if isinstance(record, dict) and not isinstance(row.ctxkit, str):
                ties = ties_of(record)
                if ties is not None:
                    records.append(Record(line, offset, ties, hash(raw)))
    found += (*_twice(records), *_missing(records), *_cycles(records), *_sessions(records))
    return sorted(found, key=lambda one: one.line)


def _unreadable(block: Block, odd: list[int], known: set[tuple[int, str]]) -> Iterator[Damage]:
    """The records of a block that a message stands in which cannot be read in full, each once."""
    told = {line for line, code in known if code in ("unreadable", "too-deep")}
    for offset in odd if block.rows else ():
        i = bisect_right(block.offsets, offset) - 1
        line = block.lines[i]
        if i >= 0 and offset < block.offsets[i] + block.sizes[i] and line not in told:
            told.add(line)
            yield Damage(
                line, block.offsets[i], "unreadable", "a message that cannot be read in full; its record stays"
            )


class _Look:
    """A tolerant decoder that notes what it sees in the last record that it was given."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._read = json.JSONDecoder(
            strict=False, object_pairs_hook=self._pairs, parse_constant=self._constant, parse_float=self._float,
            parse_int=self._int,
        ).decode  # fmt: skip

    def decode(self, raw: bytes) -> Any:
        """The value; None where there is none that can be read."""
        self.notes = []
        try:
            return self._read(raw.decode("utf-8-sig", "surrogateescape"))
        except (ValueError, RecursionError):  # reading has reported it
            return None

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self._note("dup-key", f"the key {_short(key)} occurs twice in one object: the last one counts")
                    break
                seen.add(key)
        return found

    def _constant(self, name: str) -> float:
        self._note("nonfinite", _WORDS["nonfinite"])
        return float(name.replace("Infinity", "inf"))

    def _float(self, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self._note("nonfinite", _WORDS["nonfinite"])
        return value

    def _int(self, digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:
            self._note("huge-number", _WORDS["huge-number"])
            return digits

    def _note(self, code: str, words: str) -> None:
        if all(code != known for known, _ in self.notes):
            self.notes.append((code, words))


def _twice(records: list[Record]) -> Iterator[Damage]:
    """Ids that an earlier record has."""
    first: dict[str, Record] = {}
    for one in records:
        key = one.ties.id
        if not key:
            continue
        other = first.setdefault(key, one)
        if other is not one:
            same = "the same record" if other.sum == one.sum else "another record"
            yield Damage(one.line, one.offset, "reused-id", f"{same} has the id {_short(key)} at line {other.line}")


def _missing(records: list[Record]) -> Iterator[Damage]:
    """Parents that no record is."""
    known = {one.ties.id for one in records}
    for one in records:
        parent = one.ties.parent
        if parent and parent not in known:
            yield Damage(one.line, one.offset, "missing-parent", f"its parent is {_short(parent)}, which is missing")


def _cycles(records: list[Record]) -> Iterator[Damage]:
    """Chains of parents that come back to where they began, each once."""
    at = {one.ties.id: one for one in records if one.ties.id}
    done: set[str] = set()
    for start in at.values():
        seen: dict[str, None] = {}
        one: Record | None = start
        while one is not None and one.ties.id not in done and one.ties.id not in seen:
            seen[one.ties.id] = None
            one = at.get(one.ties.parent)
        if one is not None and one.ties.id in seen:
            yield Damage(one.line, one.offset, "cycle", f"its parents lead back to it: {_short(one.ties.id)}")
        done.update(seen)


def _sessions(records: list[Record]) -> Iterator[Damage]:
    """Records of another session than those before."""
    seen: dict[str, None] = {}
    for one in records:
        session = one.ties.session
        if session and session not in seen:
            if seen:
                words = f"from here on records of the session {_short(session)}, after {_short([*seen][-1])}"
                yield Damage(one.line, one.offset, "other-session", words)
            seen[session] = None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
