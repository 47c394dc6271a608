"""Ended: which ops in force have no effect any more, what ended it, and what became of an item that an op brought in.

Reads a `State` after its replay; `log` marks these ops, `status` does not count them, `why` and selecting name them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import assert_never

import msgspec

from ctxkit.core.item_names import NOTHING, ItemName, Name, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import (
    Clear,
    Compact,
    Edit,
    Forget,
    Interrupted,
    Mark,
    Op,
    Protect,
    Recall,
    Restore,
    Rewind,
    Trim,
    Undo,
    Unprotect,
    Window,
)
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import OpEnd, State


class ItemFate(msgspec.Struct, frozen=True):
    """What became of an item that is not there: in words, and the op whose undo brings it back; 0 for none."""

    text: str
    undo: int


def in_force(state: State) -> list[LedgerEntry]:
    """The ops that are neither undone nor ended, without undos, in order."""
    over = ended(state)
    return [
        entry for entry in state.ledger.entries
        if entry.name != "undo" and not entry.void and entry.number not in over
    ]  # fmt: skip


def ended(state: State) -> dict[int, OpEnd]:
    """Op number -> what ended its effect, for ops that no undo voids.

    A clear, an edit or a `restore --replace` ends every earlier op whose names it all took out: of a forget behind a
    clear nothing shows, whether it is undone or not.
    """
    found = dict(state.ended)
    own = {boundary.source: boundary.names for boundary in state.boundaries}
    sources = list(own)
    for entry in state.ledger.entries if sources else ():
        if entry.void or entry.op is None or entry.number in found:
            continue
        touched = _touched(state, entry, entry.op)
        names = own.get(entry.number) if touched is None else own.get(entry.number, NOTHING) | touched
        later = state.boundaries[bisect_right(sources, entry.number) :]
        if names is None or not later:
            continue
        for one in (later[0], later[-1]):
            if names.within(one.names):
                found[entry.number] = OpEnd(f"ended by {one.kind} {one.source}", one.source)
                break
    return found


def _touched(state: State, entry: LedgerEntry, op: Op) -> Names | None:
    """The names that an op changes, as it recorded them; None for what no boundary ends: flags, windows."""
    match op:
        case Forget():
            return Names.parse(op.ids) | Names.parse(op.planning) | _all(op.parts)
        case Recall():
            return Names.parse(op.ids)
        case Compact():
            return Names.parse(op.ids) | _all(op.stubs) | Names(items=brought(entry))
        case Trim():
            return Names.parse(op.ids) | _all(op.stubs) | _all(op.parts)
        case Edit() | Restore():
            return Names(Ranges.of(item.n for item in op.items if item.n), brought(entry))
        case Rewind():
            target = state.ledger.by_id[op.to].op
            start = op.at.messages if target is None else target.at.messages
            return Names(Ranges.span(start + 1, op.at.messages))
        case Interrupted():
            return Names(Ranges.span(state.turn(op.at.messages), op.at.messages))
        case Clear() | Mark() | Protect() | Unprotect() | Window() | Undo():
            return None
        case _:
            assert_never(op)


def _all(names: Iterable[str]) -> Names:
    return Names.parse(",".join(names))


def brought(entry: LedgerEntry) -> list[ItemName]:
    """The items that an op brings in where it is in force."""
    match entry.op:
        case Compact(text=text, ids=ids) if text is not None and ids:
            return [ItemName(entry.id, 1)]
        case Edit(items=items) | Restore(items=items):
            return [ItemName(entry.id, k) for k, item in enumerate(items, start=1) if item.n is None]
        case (
            None | Clear() | Mark() | Rewind() | Forget() | Recall() | Protect() | Unprotect() | Window() | Compact()
            | Trim() | Undo() | Interrupted()
        ):  # fmt: skip
            return []
        case _:
            assert_never(entry.op)


def role_of(state: State, name: Name) -> str:
    """The role of a message, or of an item, whether that is there or not."""
    if isinstance(name, int):
        return state.messages[name - 1].role
    if name in state.board.items:
        return state.board.items[name].role
    match state.ledger.by_id[name.op].op:
        case Edit(items=items) | Restore(items=items):
            role = (items[name.k - 1].message or {}).get("role")
            return role if isinstance(role, str) else "user"
        case _:
            return "user"


def fate(state: State, name: ItemName) -> ItemFate:
    """What became of an item that an op of the log brings in, and that is not there."""
    entry = state.ledger.by_id[name.op]
    what = f"op {entry.number} ({entry.name}) brought it in"
    if entry.void:
        return ItemFate(f"{what}, and is undone by op {entry.voided_by}", entry.voided_by)
    if name in state.dropped:
        by = state.dropped[name].source
        words = f"op {by} ({state.ledger.entries[by - 1].name})" if by > 0 else "the log's own program"
        return ItemFate(f"{what}; {words} took its messages out, and the summary with them", max(by, 0))
    if entry.number in state.ended:
        end = state.ended[entry.number]
        return ItemFate(f"{what}: {end.text}", end.by)
    return ItemFate(f"{what}, and was not applied: ctxkit check LOG says why", 0)
