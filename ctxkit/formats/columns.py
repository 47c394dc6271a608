"""Messages in columns: a million light messages in a tenth of the memory, made into `Message`s when asked for.

Used by `formats/chat.py` and `formats/pi/reader.py`, whose rows are one message each. Whole blocks are added by list
operations, so reading a native log is about as fast as decoding it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import repeat
from operator import attrgetter, le
from typing import Any, overload

import msgspec

from ctxkit.core.messages import Message, Span

BLOCK = 256
"""Values that are packed together."""
NEAR = 64
"""Messages that are made together when some neighbours are asked for."""
SOME = 5
"""So many neighbours: making NEAR together costs as much as ten alone, and the context of a long log has gaps."""
_NO_CALLS: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
_ID, _TOOL = attrgetter("id"), attrgetter("function.name")


class Function(msgspec.Struct, gc=False):
    """The tool of a call."""

    name: str


class ColumnCall(msgspec.Struct, gc=False):
    """A call that a message makes: the kept fields of OpenAI's `tool_calls`, in its own nesting."""

    id: str
    function: Function


class PackedValues:
    """A column of JSON values. Hundreds of short texts are stored as one text until one is asked for."""

    def __init__(self) -> None:
        self._blocks: list[str | list[Any]] = []
        self._last: list[Any] = []
        self._open: tuple[int, list[Any]] = -1, []
        """The block that was read last, and its values."""

    def extend(self, values: Iterable[Any]) -> None:
        """Append values."""
        last = self._last
        last.extend(values)
        whole = len(last) - len(last) % BLOCK
        for start in range(0, whole, BLOCK):
            some = last[start : start + BLOCK]
            text = "\n".join(some) if set(map(type, some)) == {str} else None
            self._blocks.append(some if text is None or text.count("\n") >= BLOCK else text)
        del last[:whole]

    def part(self, start: int, end: int) -> list[Any]:
        """The values from `start` to before `end`, as many as there are."""
        found: list[Any] = []
        while start < end:
            block, place = divmod(start, BLOCK)
            found += self._values(block)[place : place + end - start]
            start += BLOCK - place
        return found

    def __getitem__(self, at: int) -> Any:
        block, place = divmod(at, BLOCK)
        return self._values(block)[place]

    def _values(self, block: int) -> list[Any]:
        if block >= len(self._blocks):
            return self._last
        number, values = self._open
        if number != block:
            held = self._blocks[block]
            values = held.split("\n") if isinstance(held, str) else held
            self._open = block, values
        return values


class CallLinks:
    """Call ids with the numbers of their messages, in ascending order; a message may have several."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._ids = PackedValues()

    def extend(self, numbers: Sequence[int], ids: Iterable[str]) -> None:
        """Append ids of messages that come after all others."""
        self._numbers += array("q", numbers)
        self._ids.extend(ids)

    def of(self, n: int) -> range:
        """The places of the ids of message `n`."""
        numbers = self._numbers
        first = end = bisect_left(numbers, n)
        while end < len(numbers) and numbers[end] == n:
            end += 1
        return range(first, end)

    def among(self, first: int, end: int, *beside: PackedValues) -> list[dict[int, tuple[str, ...]]]:
        """The ids of the messages from `first` to before `end`, by message, then the same for each column `beside`.

        Messages without ids are left out.
        """
        start, stop = bisect_left(self._numbers, first), bisect_left(self._numbers, end)
        numbers = self._numbers[start:stop]
        columns = [column.part(start, stop) for column in (self._ids, *beside)]
        if len(set(numbers)) == len(numbers):
            return [dict(zip(numbers, zip(column), strict=True)) for column in columns]
        found: list[dict[int, tuple[str, ...]]] = [{} for _ in columns]
        for values, column in zip(found, columns, strict=True):
            for n, value in zip(numbers, column, strict=True):
                values[n] = *values.get(n, ()), value
        return found

    def all(self) -> tuple[list[str], array[int]]:
        """Every id, and the number of its message."""
        return self._ids.part(0, len(self._numbers)), self._numbers

    def ids(self, places: range) -> tuple[str, ...]:
        """The ids at these places."""
        return tuple([self._ids[place] for place in places]) if places else ()


class Columns(Sequence[Message]):
    """The messages of a log whose rows are one message each. It grows only at its end; message n is at index n - 1.

    `roles`: of each; `agents`, `threads`: by number, of the messages that name one; `quiet`: user messages that start
    no exchange, besides those with results; `more`: further rows, by number. Only for reading, except `quiet`.
    """

    def __init__(self) -> None:
        self._offsets = array("q")
        self._sizes = array("q")
        self.roles: list[str] = []
        self._times = PackedValues()
        self._keys: PackedValues | None = None
        self._calls, self._results = CallLinks(), CallLinks()
        self._tools = PackedValues()
        """The tool of each call."""
        self.agents: dict[int, str] = {}
        self.threads: dict[int, str] = {}
        self.quiet: set[int] = set()
        self.more: Mapping[int, tuple[Span, ...]] = {}
        self._instead: Mapping[int, Mapping[str, str]] = {}
        """Changed calls: number -> id -> tool."""
        self._asked = -1
        """Index of the run of NEAR messages in which one was asked for last."""
        self._alone = 0
        """How many of it were made alone."""
        self._near: list[Message] = []
        """Its messages if more than SOME were asked for, else empty."""

    def extend(
        self, roles: Sequence[str], times: Sequence[Any], offsets: Sequence[int], sizes: Sequence[int],
        keys: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Append messages, given as columns of one length. `keys`: their own ids, in a log that has them."""
        self._asked, self._near = -1, []
        self.roles += roles
        self._times.extend(times)
        self._offsets += array("q", offsets)  # half the time of `extend`
        self._sizes += array("q", sizes)
        if keys is not None:
            self._keys = self._keys or PackedValues()
            self._keys.extend(keys)

    def take(
        self, calling: Sequence[int], calls: Sequence[ColumnCall], answering: Sequence[int], answers: Sequence[str]
    ) -> None:
        """Append calls and results, of messages after those of earlier ones.

        `calling` and `answering` give the message number of each call and result, in ascending order.
        """
        self.link(calling, map(_ID, calls), map(_TOOL, calls), answering, answers)

    def link(
        self, calling: Sequence[int], ids: Iterable[str], tools: Iterable[str], answering: Sequence[int],
        answers: Iterable[str],
    ) -> None:  # fmt: skip
        """Append calls and results as `take` does, with the ids and tools of the calls."""
        self._calls.extend(calling, ids)
        self._tools.extend(tools)
        self._results.extend(answering, answers)

    def assign(self, n: int, agent: object, thread: object) -> None:
        """Set the agent and thread of message n; what is not text names none."""
        if isinstance(agent, str):
            self.agents[n] = agent
        if isinstance(thread, str):
            self.threads[n] = thread

    def at_present(self, more: Mapping[int, tuple[Span, ...]], calls: Mapping[int, Mapping[str, str]]) -> Columns:
        """A copy with as many messages as there are now, whatever is added later.

        `more`: further rows of messages; `calls`: other calls of messages, id -> tool.
        """
        found = copy(self)
        found.roles = self.roles[:]
        found._asked, found._near = -1, []
        found.more, found._instead = more, calls
        return found

    def unpaired(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]] | None:
        """The calls without a result and the results without a call before them, each id with its message.

        No `Message` is made. None if only a walk through the messages tells: an id occurs twice, or a call was changed.
        """
        calls, callers = self._calls.all()
        results, answers = self._results.all()
        if calls == results and len(set(calls)) == len(calls) and all(map(le, callers, answers)) and not self._instead:
            return [], []  # the common case, in a tenth of the time
        made, given = dict(zip(calls, callers, strict=True)), dict(zip(results, answers, strict=True))
        if self._instead or len(made) < len(calls) or len(given) < len(results):
            return None
        far = len(self) + 1
        return (
            [(call, n) for call, n in made.items() if given.get(call, 0) < n],
            [(call, n) for call, n in given.items() if made.get(call, far) > n],
        )

    def first_rows(self) -> Iterator[Span]:
        """Offset and size of the first row of each message; no `Message` is made."""
        return zip(self._offsets[: len(self)], self._sizes[: len(self)], strict=True)

    def spans(self, numbers: Sequence[int]) -> array[int]:
        """Offset and size of each row of these messages, given in ascending order; no `Message` is made."""
        if self.more and not self.more.keys().isdisjoint(numbers):
            rows = array("q")
            for n in numbers:
                for span in ((self._offsets[n - 1], self._sizes[n - 1]), *self.more.get(n, ())):
                    rows.extend(span)
            return rows
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
            places = range(*at.indices(len(self)))
            if places.step == 1:
                return [message for start in places[::BLOCK] for message in self._part(start, places.stop)]
            return [self._at(i) for i in places]
        i = range(len(self))[at]
        asked, place = divmod(i, NEAR)
        if asked != self._asked:
            self._asked, self._alone, self._near = asked, 0, []
        if self._alone < SOME:
            self._alone += 1
            return self._at(i)
        if not self._near:
            self._near = self._part(i - place, i - place + NEAR)
        return self._near[place]

    def __iter__(self) -> Iterator[Message]:
        for start in range(0, len(self), BLOCK):
            yield from self._part(start, len(self))

    def _part(self, start: int, end: int) -> list[Message]:
        """The messages from index `start` to before `end`, at most BLOCK: cheaper than one at a time."""
        end = min(end, start + BLOCK, len(self))
        calls, tools = self._calls.among(start + 1, end + 1, self._tools)
        (results,) = self._results.among(start + 1, end + 1)
        numbers, roles = range(start + 1, end + 1), self.roles[start:end]
        opens = [role == "user" for role in roles]
        for n in results:
            opens[n - start - 1] = False
        nothing: tuple[str, ...] = ()
        found = list(map(
            Message, numbers, self._offsets[start:end], self._sizes[start:end], roles, self._times.part(start, end),
            map(self.agents.get, numbers) if self.agents else repeat(None),
            map(self.threads.get, numbers) if self.threads else repeat(None),
            self._keys.part(start, end) if self._keys is not None else repeat(""),
            map(calls.get, numbers, repeat(nothing)) if calls else repeat(nothing),
            map(tools.get, numbers, repeat(nothing)) if calls else repeat(nothing),
            map(results.get, numbers, repeat(nothing)) if results else repeat(nothing),
            repeat(()), opens,
        ))  # fmt: skip
        quiet, more = self.quiet, self.more
        for n in [n for n in range(start + 1, end + 1) if n in quiet or n in more] if quiet or more else ():
            self._settled(found[n - start - 1])
        return found

    def _at(self, i: int) -> Message:
        n, role = i + 1, self.roles[i]
        results = self._results.ids(self._results.of(n))
        return self._settled(Message(
            n, self._offsets[i], self._sizes[i], role, self._times[i], self.agents.get(n), self.threads.get(n),
            self._keys[i] if self._keys is not None else "", *self._calls_of(self._calls.of(n)), results, (),
            role == "user" and not results,
        ))  # fmt: skip

    def _calls_of(self, places: range) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids and tools of the calls at these places."""
        return (self._calls.ids(places), tuple([self._tools[place] for place in places])) if places else _NO_CALLS

    def _settled(self, message: Message) -> Message:
        """The message with the fields that only some have."""
        if message.n in self.quiet:
            message.opens = False
        if message.n in self.more:
            message.more = self.more[message.n]
            if message.n in self._instead:
                calls = self._instead[message.n]
                message.calls, message.tools = tuple(calls), tuple(calls.values())
        return message
