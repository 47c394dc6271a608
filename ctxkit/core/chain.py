"""The chain: each op holds the digest of the op before it, so that an op that was changed, taken out or moved shows.

Pipeline: `Ledger` -> `links`, `breaks`; `committing` writes `prev`, `check` proves it (REPLAY 61). Ops of older
versions have no `prev`: they are not chained, until the first op that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ctxkit.core.jsontext import digest
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Interrupted

DIGITS = 64
FIRST = ""
"""What the first op of a log has for `prev`."""
_ENVELOPE = frozenset({"v", "id", "ts", "at", "by", "sum", "prev"})


class Break(msgspec.Struct, frozen=True):
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
            return (
                "says of no op that it follows it, although the ops before it do: another program wrote or changed it"
            )
        return "does not follow the op before it: one was changed, taken out, put in or moved there"

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


def links(entries: Iterable[LedgerEntry]) -> list[str]:
    """The digest of each op, as the next one names it.

    A line `interrupted` of another program has no `prev`: its digest is that of the line with the `prev` that it would
    have, or nothing would vouch for the ops before it.
    """
    found: list[str] = []
    for entry in entries:
        bare = isinstance(entry.op, Interrupted) and "prev" not in entry.body and found
        found.append(link({**entry.body, "prev": found[-1]} if bare else entry.body))
    return found


def head(entries: Sequence[LedgerEntry]) -> str:
    """The digest of the newest op."""
    last = next((k for k in range(len(entries) - 1, -1, -1) if "prev" in entries[k].body), 0)
    return links(entries[last:])[-1] if entries else FIRST


def is_chained(entries: Iterable[LedgerEntry]) -> bool:
    """Whether any of these ops names the one before it."""
    return any("prev" in entry.body for entry in entries)


def breaks(entries: Sequence[LedgerEntry]) -> list[Break]:
    """Where the chain does not hold, in order; nothing is digested where no op is chained.

    A line `interrupted` of another program needs no `prev`; the next op names it all the same.
    """
    found: list[Break] = []
    if not is_chained(entries):
        return found
    chained, own = False, links(entries)
    for before, mine, entry in zip([FIRST, *own], own, entries, strict=False):
        said = entry.body.get("prev")
        if not chained and "prev" not in entry.body:
            continue
        if "prev" not in entry.body and isinstance(entry.op, Interrupted):
            continue
        chained = True
        if said != before:
            text = said if isinstance(said, str) or said is None else str(said)
            found.append(Break(entry.number, entry.name, text, before, mine))
    return found


def resembles_op(record: Mapping[str, Any]) -> bool:
    """Whether a record has the fields of an op but not its key `ctxkit`, as where that key was damaged."""
    at = record.get("at")
    if isinstance(record.get("ctxkit"), str) or isinstance(record.get("role"), str) or not isinstance(at, dict):
        return False
    return isinstance(at.get("messages"), int) and len(_ENVELOPE & record.keys()) > len(_ENVELOPE) // 2
