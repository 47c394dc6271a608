"""Follows a list of messages that a library holds, and says which of its messages stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from ctxkit.api.rolling import RollingBase, ShownMessage
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.text.json_text import dumps

Item = TypeVar("Item")
Row = dict[str, Any]


class MessageList(Generic[Item]):
    """A library's list beside a rolling context. `rows_of`: the rows of a message of the library.

    A message is known by its identity; a copy, and one that the log had before, by what it says and what it is behind.
    So a list that is read from a store at each call, as LangGraph's checkpointers do, is not added again.
    """

    def __init__(self, context: RollingBase, rows_of: Callable[[Item], Sequence[Row]]) -> None:
        self.context, self._rows_of = context, rows_of
        self._held: dict[int, tuple[Item, int]] = {}  # by identity: the message, so that it stays; its number, 0: ours
        self._items: dict[int | str, Item] = {}  # by number; ours by their words
        self._said: dict[str, list[int]] = {}  # what messages say: their numbers in the log; 0: ours
        for n in range(1, len(context.log.messages) + 1):
            self._said.setdefault(_words(context.row(n)), []).append(n)
        self._is_ours(one.row for one in context.shown() if one.number is None or one.changed)

    def follow(self, items: Sequence[Item]) -> None:
        """Add the messages that are new."""
        last = 0
        for item in items:
            last = (self._held[id(item)][1] if id(item) in self._held else self._number(item, last)) or last

    def kept(self, made: Callable[[ShownMessage, Item | None], Item]) -> list[Item]:
        """The messages of the context: those of the list, and what `made` makes of notes, summaries, shortened ones."""
        found = []
        shown = self.context.shown()
        first = next((at for at, one in enumerate(shown) if one.row["role"] not in PREAMBLE_ROLES), len(shown))
        shown[first:first] = [ShownMessage(None, row, False) for row in self.context.notes_row()]
        for one in shown:
            item = None if one.number is None else self._items.get(one.number)
            if item is None or one.changed:
                item = self._items.setdefault(dumps([one.number, one.row]), made(one, item))
                self._held[id(item)] = item, 0  # it may come back in the list, or a copy
                self._is_ours(self._rows_of(item))
            found.append(item)
        return found

    def _is_ours(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._said.setdefault(_words(row), [0])

    def _number(self, item: Item, last: int) -> int:
        number = 0
        for row in self._rows_of(item):
            numbers = self._said.setdefault(_words(row), [])
            if numbers != [0]:
                last = number = next((n for n in numbers if n > last), 0) or self.context.add(row)
                numbers += [number] * (number not in numbers)
        self._held.pop(id(self._items.get(number)), None)  # of which it is a copy
        self._held[id(item)], self._items[number] = (item, number), item
        return number


def _words(row: Row) -> str:
    return dumps([row.get(key) or None for key in ("role", "content", "tool_calls", "tool_call_id")])
