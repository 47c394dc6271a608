"""Steps: which messages belong together.

A step is one model response with its tool results and is never split. A result
belongs to the nearest earlier call with its id; a second answer to the same call is unpaired.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from copy import copy

from ctxkit.core.item_names import Names
from ctxkit.core.messages import Message
from ctxkit.core.sets.ranges import Ranges


class Steps:
    """The steps of a log. Building is O(messages with calls or results); some numbers are held of each message."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._leader = array("i")
        """Of each message that shares its step, by number, the one that opened it; else 0."""
        self._next = array("i")
        """Of the same, the next message of its step; 0 behind the last one."""
        self._last = array("i")
        """Of what opened a step, the last message of it."""
        self._joined = 0
        """Messages that share their step with others."""
        self._caller = array("i")
        """Of each message that answers one call, by number, what made it; else 0."""
        self._callers: dict[tuple[int, str], int] = {}
        """(message number, call id) of one of several answers in a message -> what made the call."""
        self._open: dict[str, int] = {}
        """Calls without a result so far, with the numbers of their messages."""
        self._add(messages)

    def grown(self, messages: Iterable[Message]) -> Steps:
        """These steps with those of more messages at the end. Copies columns of numbers, and looks at the new only."""
        found = copy(self)
        for name, held in vars(self).items():
            setattr(found, name, copy(held))
        found._add(messages)
        return found

    def _add(self, messages: Iterable[Message]) -> None:
        open_calls = self._open
        for message in messages:
            if message.results:
                for call in message.results:
                    made_by = open_calls.pop(call, None)
                    if made_by is not None:
                        self._answer(message.n, call, made_by, alone=len(message.results) == 1)
                        self._join(made_by, message.n)
            for call in message.calls:
                open_calls[call] = message.n

    def _answer(self, n: int, call: str, made_by: int, *, alone: bool) -> None:
        if not alone:
            self._callers[n, call] = made_by
            return
        self._caller.frombytes(bytes(self._caller.itemsize * (n + 1 - len(self._caller))))
        self._caller[n] = made_by

    def caller(self, n: int, call: str) -> int | None:
        """The message that made the call `call`, which message n answers; None where none did."""
        alone = self._caller[n] if n < len(self._caller) else 0
        return alone or self._callers.get((n, call))

    def _join(self, one: int, other: int) -> None:
        for column in (self._leader, self._next, self._last):
            column.frombytes(bytes(column.itemsize * max(0, max(one, other) + 1 - len(column))))
        for n in (one, other):
            if not self._leader[n]:
                self._leader[n] = self._last[n] = n
                self._joined += 1
        first, second = sorted((self._leader[one], self._leader[other]))
        if first != second:
            for n in self._chain(second):
                self._leader[n] = first
            self._next[self._last[first]] = second
            self._last[first] = self._last[second]

    def _chain(self, n: int) -> Iterator[int]:
        """The messages of a step from one on."""
        while n:
            yield n
            n = self._next[n]

    def leader(self, n: int) -> int:
        """The message that opened n's step; n itself where it stands alone."""
        return (self._leader[n] if n < len(self._leader) else 0) or n

    def members(self, n: int) -> list[int]:
        """All messages of n's step, n included."""
        leader = self.leader(n)
        return list(self._chain(leader)) if leader < len(self._leader) else [n]

    def close(self, names: Names) -> Names:
        """`names` with every step that they touch taken whole (replay 35). Items stand alone."""
        return Names(names.numbers | self._touched(names.numbers), names.items)

    def _touched(self, numbers: Ranges) -> Ranges:
        if len(numbers) < self._joined:
            return Ranges.of(sorted({m for n in numbers for m in self.members(n)}))
        touched = bytearray(len(self._leader))
        for n, first in enumerate(self._leader):
            if first and not touched[n] and n in numbers:
                for m in self._chain(first):
                    touched[m] = 1
        return Ranges.of(n for n, is_touched in enumerate(touched) if is_touched)

    def whole(self, names: Names) -> Names:
        """`names` without every step that they hold only in part (compact, trim, the complement of remember)."""
        broken = (
            n
            for opened, first in enumerate(self._leader)
            if first == opened != 0
            if not all(m in names.numbers for m in self._chain(first))
            for n in self._chain(first)
        )
        return Names(names.numbers - Ranges.of(broken), names.items)
