"""Orders the messages of a draft: the context in its order, and the others beside their neighbours. Pure.

Messages outside the context have no place in it. In a draft such a message comes after the one that precedes it in the
log, and an item that an op made of a message after that message, so that it is brought back at the right place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set

from ctxkit.core.board import Key
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.state import State


def arranged(state: State, context: Sequence[Name], pool: Iterable[Name]) -> list[Name]:
    """The names of `context`, in this order, and between them the others of `pool`."""
    shown = Names.of(context)
    others = [name for name in pool if name not in shown]
    if not others:
        return list(context)
    numbers = sorted({name for name in (*context, *others) if isinstance(name, int)})
    items = sorted(name for name in others if isinstance(name, ItemName))
    known = {*context, *others}
    keys = sorted((state.key(name), str(name), name) for name in known & state.board.keys.keys()) if items else []
    behind: dict[Name | None, list[Name]] = {}
    for item in items:
        behind.setdefault(_before_item(state, item, known, numbers, keys), []).append(item)
    previous: int | None = None
    for n in numbers:
        if n not in shown:
            behind.setdefault(previous, []).append(n)
        previous = n
    found: list[Name] = []
    for start in (None, *context):
        waiting: list[Name | None] = [start]
        while waiting:
            name = waiting.pop()
            if name is not None:
                found.append(name)
            waiting.extend(reversed(behind.pop(name, [])))
    return found


def _before_item(
    state: State, name: ItemName, known: Set[Name], numbers: Sequence[int], keys: Sequence[tuple[Key, str, Name]]
) -> Name | None:
    """The name after which an item comes: its origin; for a summary the message before the first one that it covers;
    else the item that its op put before it, or the last message before the op.
    """
    item, key = state.board.items[name], state.key(name)
    if item.origin is not None and item.origin in known:
        return item.origin
    told = (item.tells & state.present()).numbers or item.tells.numbers
    if told:
        return _upto(numbers, told.first() - 1)
    place = bisect_right(keys, (key, "", name)) - 1
    return keys[place][2] if place >= 0 and keys[place][0][:2] == key[:2] else _upto(numbers, key[0])


def _upto(numbers: Sequence[int], highest: int) -> int | None:
    place = bisect_right(numbers, highest)
    return numbers[place - 1] if place else None
