"""Steps: which messages belong together.

A step is one model response with its tool results and is never split. A result
belongs to the nearest earlier call with its id; a second answer to the same call is unpaired.
"""

from __future__ import annotations

from collections.abc import Iterable

from ctxkit.core.messages import Message
from ctxkit.core.names import Names
from ctxkit.core.ranges import Ranges


class Steps:
    """The steps of a log. Building is O(messages with calls or results)."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._leader: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self.caller: dict[tuple[int, str], int] = {}
        """(message number, call id) of an answer -> number of the message that made the call."""
        open_calls: dict[str, int] = {}
        for message in messages:
            if message.results:
                for call in message.results:
                    made_by = open_calls.pop(call, None)
                    if made_by is not None:
                        self.caller[message.n, call] = made_by
                        self._join(made_by, message.n)
            for call in message.calls:
                open_calls[call] = message.n

    def _join(self, one: int, other: int) -> None:
        first, second = self._leader.get(one, one), self._leader.get(other, other)
        if first == second:
            return
        first, second = min(first, second), max(first, second)
        moved = self._members.pop(second, [second])
        for n in moved:
            self._leader[n] = first
        self._leader[first] = first
        self._members.setdefault(first, [first]).extend(moved)

    def leader(self, n: int) -> int:
        """The message that opened n's step; n itself where it stands alone."""
        return self._leader.get(n, n)

    def members(self, n: int) -> list[int]:
        """All messages of n's step, n included."""
        return self._members.get(self._leader.get(n, n), [n])

    def close(self, names: Names) -> Names:
        """`names` with every step that they touch taken whole (replay 35). Items stand alone."""
        return Names(names.numbers | self._touched(names.numbers), names.items)

    def _touched(self, numbers: Ranges) -> Ranges:
        if len(numbers) < len(self._leader):
            more = [m for n in numbers if n in self._leader for m in self.members(n)]
        else:
            more = [m for n, first in self._leader.items() if n in numbers for m in self._members[first]]
        return Ranges.of(set(more))

    def whole(self, names: Names) -> Names:
        """`names` without every step that they hold only in part (compact, trim, the complement of remember)."""
        broken = [
            n for first, group in self._members.items() if not all(m in names.numbers for m in group) for n in group
        ]
        return Names(names.numbers - Ranges.of(broken), names.items)
