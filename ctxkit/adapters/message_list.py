"""Follows a list of messages that a library holds, and says which of its messages stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ctxkit.api.rolling import RollingBase, ShownMessage

Item = TypeVar("Item")
Row = dict[str, Any]


class MessageList(Generic[Item]):
    """A library's list beside a rolling context. `rows_of`: the rows of a message of the library.

    A message is known by its identity. If the context has messages at first, as one that was loaded, the beginning of
    the list that says the same is not added again.
    """

    def __init__(self, context: RollingBase, rows_of: Callable[[Item], Sequence[Row]]) -> None:
        self.context, self._rows_of = context, rows_of
        self._numbers: dict[int, tuple[Item, int]] = {}
        """Identity -> the message, which is held so that the identity stays its own; and its number, 0 for ours."""
        self._items: dict[int, Item] = {}
        self._before = [(one.number, one.row) for one in context.shown() if one.number]

    def follow(self, items: Sequence[Item]) -> None:
        """Add the messages that are new."""
        for item in items:
            if id(item) in self._numbers:
                continue
            number = 0
            for row in self._rows_of(item):
                number = self._there(row) or self.context.add(row)
            self._numbers[id(item)] = item, number
            self._items[number] = item

    def kept(self, made: Callable[[ShownMessage, Item | None], Item]) -> list[Item]:
        """The messages of the context: those of the list, and what `made` makes of notes, summaries, shortened ones."""
        found = []
        notes = [ShownMessage(None, row, False) for row in self.context.notes_row()]
        for one in [*notes, *self.context.shown()]:
            item = None if one.number is None else self._items.get(one.number)
            if item is None or one.changed:
                item = made(one, item)
                self._numbers[id(item)] = item, 0  # it may come back in the list
            found.append(item)
        return found

    def _there(self, row: Row) -> int:
        """The number of the first message that was there before, if it says the same."""
        if not self._before:
            return 0
        number, held = self._before[0]
        same = all(held.get(key) == row.get(key) for key in ("role", "content", "tool_calls", "tool_call_id"))
        self._before = self._before[1:] if same else []
        return number or 0 if same else 0
