"""The chain: each op holds the digest of the op before it, so that an op that was changed, taken out or moved shows.

Pipeline: `Ledger` -> `links`, `breaks`; `logfile/append.py` writes `prev`, `check` proves it (replay 61). Ops of older
versions have no `prev`: they are not chained, until the first op that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Interrupted
from ctxkit.core.text.json_text import digest

DIGITS = 64
FIRST = ""
"""What the first op of a log has for `prev`."""
_ENVELOPE = frozenset({"v", "id", "ts", "at", "by", "sum", "prev"})


class ChainBreak(msgspec.Struct, frozen=True):
    """A place where the chain does not hold. `op`: the number and `name` of the op behind it; `said`: its `prev`, None
    for none; `found`: the digest of what stands before it; `own`: its own digest.
    """

    op: int
    name: str
    said: str | None
    found: str
    own: str

    @property
    def text(self) -> str:
        """What is wrong, in words."""
        if self.said is None:
            return "does not name the op before it, although earlier ops do: another program wrote or changed it"
        return "does not follow the op before it: an op was changed, removed, inserted or moved there"

    @property
    def key(self) -> str:
        """What an accepted break is known by: all that stands at it."""
        return f"{self.found}:{self.said}:{self.own}"


def link(body: Mapping[str, Any]) -> str:
    """The digest of an op as the next one names it: all 64 hex digits; "" for what has no canonical JSON (NaN)."""
    try:
        return digest(body, DIGITS)
    except (ValueError, RecursionError):
        return ""


class ChainLink(msgspec.Struct, frozen=True):
    """An op in the chain. `before`: the digest of the one before it; `own`: its own; `holds`: it names the one before
    it, or need not.
    """

    entry: LedgerEntry
    before: str
    own: str
    holds: bool

    @property
    def broken(self) -> ChainBreak:
        """What is wrong, where it does not hold."""
        said = self.entry.body.get("prev")
        text = said if isinstance(said, str) or said is None else str(said)
        return ChainBreak(self.entry.number, self.entry.name, text, self.before, self.own)


def linked(entries: Iterable[LedgerEntry]) -> list[ChainLink]:
    """The ops in the order in which they were written, each with its digest, as the next one names it.

    That is the merged order but for one thing: a line `interrupted` that another program wrote into its log behind an
    op of the sidecar, with no row between, stands before that op there (replay 21). Which came first is told by what
    the op names. Such a line has no `prev`: its digest is that of the line with the `prev` that it would have, or
    nothing would vouch for the ops before it.
    """
    found: list[ChainLink] = []
    waiting: list[LedgerEntry] = []  # lines of other programs at one row
    chained = False

    def take(entry: LedgerEntry) -> None:
        nonlocal chained
        before, bare = found[-1].own if found else FIRST, _is_bare(entry)
        chained = chained or "prev" in entry.body
        found.append(
            ChainLink(entry, before, _own(entry, before), not chained or bare or entry.body.get("prev") == before)
        )

    def take_waiting(count: int) -> None:
        for one in waiting[:count]:
            take(one)
        del waiting[:count]

    for entry in entries:
        if waiting and entry.place != waiting[0].place:
            take_waiting(len(waiting))
        if _is_bare(entry) and not entry.line.sidecar:
            waiting.append(entry)
            continue
        if waiting:
            take_waiting(_written_before(entry, waiting, found[-1].own if found else FIRST))
        take(entry)
    take_waiting(len(waiting))
    return found


def _is_bare(entry: LedgerEntry) -> bool:
    return isinstance(entry.op, Interrupted) and "prev" not in entry.body


def _own(entry: LedgerEntry, before: str) -> str:
    return link({**entry.body, "prev": before} if _is_bare(entry) and before != FIRST else entry.body)


def _written_before(entry: LedgerEntry, waiting: Sequence[LedgerEntry], before: str) -> int:
    """How many of the lines at the row of an op were written before it; all, where the op does not tell."""
    said = entry.body.get("prev")
    if not entry.line.sidecar or said is None:
        return len(waiting)
    for count, one in enumerate(waiting):
        if said == before:
            return count
        before = _own(one, before)
    return len(waiting)


def links(entries: Sequence[LedgerEntry]) -> list[str]:
    """The digest of each op, in their own order."""
    found = {one.entry.number: one.own for one in linked(entries)}
    return [found[entry.number] for entry in entries]


def head(entries: Sequence[LedgerEntry]) -> str:
    """The digest of the op that was written last: what the next one names."""
    if not entries:
        return FIRST
    last = next((k for k in range(len(entries) - 1, -1, -1) if "prev" in entries[k].body), 0)
    if entries[last].line.sidecar:  # lines at its row may have been written behind it
        row = takewhile(lambda one: one.place == entries[last].place, reversed(entries[:last]))
        last = 0 if any(map(_is_bare, row)) else last
    return linked(entries[last:])[-1].own


def is_chained(entries: Iterable[LedgerEntry]) -> bool:
    """Whether any of these ops names the one before it."""
    return any("prev" in entry.body for entry in entries)


def breaks(entries: Sequence[LedgerEntry]) -> list[ChainBreak]:
    """Where the chain does not hold, in order; nothing is digested where no op is chained."""
    return [one.broken for one in linked(entries) if not one.holds] if is_chained(entries) else []


def vouching(own: str, known: Sequence[ChainBreak]) -> str:
    """What vouches for an op and for all before it, across breaks that are known.

    An op vouches for those before it up to the newest break. With each break goes the digest of what stood before it,
    and that vouches for the rest.
    """
    return digest([own, *(one.key for one in known)], DIGITS) if known else own


def resembles_op(record: Mapping[str, Any]) -> bool:
    """Whether a record has the fields of an op but not its key `ctxkit`, as where that key was damaged."""
    at = record.get("at")
    if isinstance(record.get("ctxkit"), str) or isinstance(record.get("role"), str) or not isinstance(at, dict):
        return False
    return isinstance(at.get("messages"), int) and len(_ENVELOPE & record.keys()) > len(_ENVELOPE) // 2
