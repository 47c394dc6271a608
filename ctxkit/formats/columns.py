"""Messages in columns: a million light messages in a tenth of the memory, made into `Message`s when asked for.

Used by `formats/chat.py`, whose rows are one message each. Built a block at a time by list operations, which is what
makes reading a native log about as fast as decoding it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, overload

import msgspec

from ctxkit.core.messages import Message

BLOCK = 256
"""Values that are packed together."""
_ID, _TOOL = attrgetter("id"), attrgetter("function.name")


class Function(msgspec.Struct, gc=False):
    """The tool of a call."""

    name: str


class ColumnCall(msgspec.Struct, gc=False):
    """A call that a message makes: as much of OpenAI's `tool_calls` as is kept, decoded as it stands there."""

    id: str
    function: Function


class PackedValues:
    """Values of JSON, most of them short texts: hundreds of these are one text, until one is asked for."""

    def __init__(self) -> None:
        self._blocks: list[str | list[Any]] = []
        self._last: list[Any] = []
        self._open: tuple[int, list[Any]] = -1, []
        """The block that was looked into last, and its values."""

    def extend(self, values: Iterable[Any]) -> None:
        """Take more values."""
        last = self._last
        last.extend(values)
        whole = len(last) - len(last) % BLOCK
        for start in range(0, whole, BLOCK):
            some = last[start : start + BLOCK]
            text = "\n".join(some) if set(map(type, some)) == {str} else None
            self._blocks.append(some if text is None or text.count("\n") >= BLOCK else text)
        del last[:whole]

    def __getitem__(self, at: int) -> Any:
        block, place = divmod(at, BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        number, values = self._open
        if number != block:
            held = self._blocks[block]
            values = held.split("\n") if isinstance(held, str) else held
            self._open = block, values
        return values[place]


class CallLinks:
    """Which messages make or answer calls, in ascending order, with their ids; several of one message in a row."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._ids = PackedValues()

    def extend(self, numbers: Sequence[int], ids: Iterable[str]) -> None:
        """Take more of them, which come behind all others."""
        self._numbers += array("q", numbers)
        self._ids.extend(ids)

    def of(self, n: int) -> range:
        """The places of those of message `n`."""
        numbers = self._numbers
        first = end = bisect_left(numbers, n)
        while end < len(numbers) and numbers[end] == n:
            end += 1
        return range(first, end)

    def ids(self, places: range) -> tuple[str, ...]:
        """The ids at these places."""
        return tuple([self._ids[place] for place in places]) if places else ()


class Columns(Sequence[Message]):
    """The messages of a native log. Grows only at its end; message n stands at index n - 1.

    `roles`: of each; `agents`, `threads`: by number, of those messages alone that name one; to be read.
    """

    def __init__(self) -> None:
        self._offsets = array("q")
        self._sizes = array("q")
        self.roles: list[str] = []
        self._times = PackedValues()
        self._calls, self._results = CallLinks(), CallLinks()
        self._tools = PackedValues()
        """Of each call."""
        self.agents: dict[int, str] = {}
        self.threads: dict[int, str] = {}

    def extend(self, roles: Sequence[str], times: Sequence[Any], offsets: Sequence[int], sizes: Sequence[int]) -> None:
        """Take more messages, a column each, of one length."""
        self.roles += roles
        self._times.extend(times)
        self._offsets += array("q", offsets)  # half the time of `extend`
        self._sizes += array("q", sizes)

    def take(
        self, calling: Sequence[int], calls: Sequence[ColumnCall], answering: Sequence[int], answers: Sequence[str]
    ) -> None:
        """The messages `calling` make these calls, those `answering` answer the calls of these ids: all behind what was
        taken before, in ascending order, and as often as they make or answer some.
        """
        self._calls.extend(calling, map(_ID, calls))
        self._tools.extend(map(_TOOL, calls))
        self._results.extend(answering, answers)

    def assign(self, n: int, agent: object, thread: object) -> None:
        """Message n belongs to an agent and a thread; what is not text names none."""
        if isinstance(agent, str):
            self.agents[n] = agent
        if isinstance(thread, str):
            self.threads[n] = thread

    def spans(self, numbers: Sequence[int]) -> array[int]:
        """Offset and size of each of these messages, which are in ascending order; no message is made."""
        spans = array("q", [0]) * (2 * len(numbers))
        for at, column in enumerate((self._offsets, self._sizes)):
            if numbers[-1] - numbers[0] + 1 == len(numbers):
                spans[at::2] = column[numbers[0] - 1 : numbers[-1]]
            else:
                spans[at::2] = array("q", [column[n - 1] for n in numbers])
        return spans

    def __len__(self) -> int:
        return len(self.roles)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self._at(i) for i in range(*at.indices(len(self)))]
        return self._at(range(len(self))[at])

    def __iter__(self) -> Iterator[Message]:
        return map(self._at, range(len(self)))

    def _at(self, i: int) -> Message:
        n, role = i + 1, self.roles[i]
        made = self._calls.of(n)
        calls = self._calls.ids(made)
        tools = tuple([self._tools[place] for place in made]) if made else ()
        results = self._results.ids(self._results.of(n))
        return Message(
            n, self._offsets[i], self._sizes[i], role, self._times[i], self.agents.get(n), self.threads.get(n), "",
            calls, tools, results, (), role == "user" and not results,
        )  # fmt: skip
