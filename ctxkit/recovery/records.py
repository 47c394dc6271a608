"""Checks every record of a log for faults that reading does not find: repeated keys, and links between records.

Used only by `recovery/check.py`: every record is decoded in full, which reading a log does not do.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxkit.core.messages import Damage, missing_parent
from ctxkit.core.unreadable import is_unreadable
from ctxkit.formats.base import Block, RecordLinks, Row
from ctxkit.logfile.history import first_row, object_of
from ctxkit.logfile.open import OpenLog
from ctxkit.store.joined import JoinedSource
from ctxkit.store.jsonl import read_blocks

_LONGEST = 60
"""Characters of a key or an id that a report shows."""
_WORDS = {
    "nonfinite": "a number that JSON does not have (NaN, Infinity, or beyond all bounds): read as far as it can be",
    "huge-number": "a number of thousands of digits: read as text",
}


class Record(msgspec.Struct, gc=False):
    """A record with links: its place, and its links as its format reads them."""

    line: int
    offset: int
    links: RecordLinks
    sum: int


def soundness(log: OpenLog) -> list[Damage]:
    """What is wrong with records and their links, in the order of the lines, without what reading has reported."""
    known = {(one.file, one.line, one.code) for one in log.transcript.damage}
    look, links_of = _Look(), log.opening.format.links
    odd = [one.offset for one in log.messages if is_unreadable(log.content(one.n))]
    found: list[Damage] = []
    records: list[Record] = []
    last: tuple[dict[str, Any], int, int] | None = None
    for block in read_blocks(log.opening.laid_out, Row, []):
        found += _unreadable(block, odd)
        for i, row in enumerate(block.rows):
            raw = block.raw(i)
            line, offset = block.lines[i], block.offsets[i]
            record = look.decode(raw)
            found += [Damage(line, offset, code, words) for code, words in look.notes]
            if isinstance(record, dict) and not isinstance(row.ctxkit, str):
                last = record, line, offset
                links = links_of(record)
                if links is not None:
                    records.append(Record(line, offset, links, hash(raw)))
    found += (*_twice(records), *_missing(records), *_cycles(records), *_sessions(records))
    found += _unopened(log, last)
    laid_out = log.opening.laid_out
    if isinstance(laid_out, JoinedSource):  # whose records are of several files, each of a session of its own
        found = [laid_out.where(one) for one in found if one.code != "other-session"]
    if "other-session" not in log.opening.format.leaves:
        found = [msgspec.structs.replace(one, note=True) if one.code == "other-session" else one for one in found]
    return sorted((one for one in found if _is_new(one, known)), key=lambda one: (one.file, one.line))


def _unopened(log: OpenLog, last: tuple[dict[str, Any], int, int] | None) -> Iterator[Damage]:
    """Why the log's program would not open its file. `last`: its last record, with its line and offset."""
    first = first_row(log.opening.source) if last is not None else None
    record = None if first is None else object_of(first.raw)
    if first is not None and record is not None and last is not None:
        reason = log.opening.format.unopened(record, last[0])
        if reason is not None:
            line, offset = last[1:] if reason[1] else (first.line, 0)
            yield Damage(line, offset, "not-opened", reason[0], note=True)


def _is_new(damage: Damage, known: set[tuple[str, int, str]]) -> bool:
    """Whether reading has not reported it. A record that is nested too deeply is unreadable, too."""
    codes = ("unreadable", "too-deep") if damage.code == "unreadable" else (damage.code,)
    return all((damage.file, damage.line, code) not in known for code in codes)


def _unreadable(block: Block, odd: list[int]) -> Iterator[Damage]:
    """The records of a block whose message cannot be read in full, each once; `odd`: offsets of such messages."""
    reported = set[int]()
    for offset in odd if block.rows else ():
        i = bisect_right(block.offsets, offset) - 1
        line = block.lines[i]
        if i >= 0 and offset < block.offsets[i] + block.sizes[i] and line not in reported:
            reported.add(line)
            yield Damage(
                line, block.offsets[i], "unreadable", "a message that cannot be read in full; its record stays"
            )


class _Look:
    """A tolerant decoder; `notes`: the faults of the record that it decoded last."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._read = json.JSONDecoder(
            strict=False, object_pairs_hook=self._pairs, parse_constant=self._constant, parse_float=self._float,
            parse_int=self._int,
        ).decode  # fmt: skip

    def decode(self, raw: bytes) -> Any:
        """The value; None if it cannot be read."""
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
        key = one.links.id
        if not key:
            continue
        other = first.setdefault(key, one)
        if other is not one:
            same = other.sum == one.sum
            words = f"{'the same' if same else 'another'} record has the id {_short(key)} at line {other.line}"
            yield Damage(one.line, one.offset, "reused-id", words, same)


def _missing(records: list[Record]) -> Iterator[Damage]:
    """Parents that are missing."""
    known = {one.links.id for one in records if one.links.id}
    for one in records if known else ():  # Qwen Code's ids occur twice, so none is told: no parent can be looked up
        parent = one.links.parent
        if parent and parent not in known:
            yield missing_parent(one.line, one.offset, parent)


def _cycles(records: list[Record]) -> Iterator[Damage]:
    """Chains of parents that lead back to their start, each once."""
    at = {one.links.id: one for one in records if one.links.id}
    done: set[str] = set()
    for start in at.values():
        seen: dict[str, None] = {}
        one: Record | None = start
        while one is not None and one.links.id not in done and one.links.id not in seen:
            seen[one.links.id] = None
            one = at.get(one.links.parent)
        if one is not None and one.links.id in seen:
            yield Damage(one.line, one.offset, "cycle", f"its parents lead back to it: {_short(one.links.id)}")
        done.update(seen)


def _sessions(records: list[Record]) -> Iterator[Damage]:
    """The first record of each further session, except of one that goes on from another: a record has its parent there.

    Claude Code gives a resumed session a new id, and keeps both in its file.
    """
    of = {one.links.id: one.links.session for one in records if one.links.id and one.links.session}
    linked = {
        frozenset({one.links.session, of[one.links.parent]})
        for one in records
        if one.links.session and one.links.parent in of and of[one.links.parent] != one.links.session
    }
    forked = {one.links.origin for one in records}
    seen: dict[str, None] = {}
    for one in records:
        session = one.links.session
        if session and session not in seen:
            if seen and not any(frozenset({session, other}) in linked for other in seen):
                words = f"from here on records of the session {_short(session)}, after {_short([*seen][-1])}"
                if session in forked:
                    words = f"from here on records of the session {_short(session)}, copied into a fork of it"
                yield Damage(one.line, one.offset, "other-session", words)
            seen[session] = None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
