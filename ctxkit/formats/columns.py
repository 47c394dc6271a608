"""Messages in columns: a million light messages in a third of the memory, made into `Message`s when asked for.

Used by `formats/chat.py`, whose rows are one message each. Built a block at a time by list operations, which is what
makes reading a native log about as fast as decoding it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import msgspec

from ctxkit.core.messages import Message


class Function(msgspec.Struct, gc=False):
    """The tool of a call."""

    name: str


class Made(msgspec.Struct, gc=False):
    """A call that a message makes: as much of OpenAI's `tool_calls` as is kept, decoded as it stands there."""

    id: str
    function: Function


class Columns(Sequence[Message]):
    """The messages of a native log. Grows only at its end; message n stands at index n - 1.

    `agents`, `threads`: by number, of those messages alone that name one; to be read.
    """

    def __init__(self) -> None:
        self._offsets = array("q")
        self._sizes = array("q")
        self._roles: list[str] = []
        self._times: list[Any] = []
        self._calls: dict[int, list[Made] | None] = {}
        self._results: dict[int, str | tuple[str, ...]] = {}  # one answer, the common case, without a tuple
        self.agents: dict[int, str] = {}
        self.threads: dict[int, str] = {}

    def extend(self, roles: Sequence[str], times: Sequence[Any], offsets: Sequence[int], sizes: Sequence[int]) -> None:
        """Take more messages, a column each, of one length."""
        self._roles += roles
        self._times += times
        self._offsets += array("q", offsets)  # half the time of `extend`
        self._sizes += array("q", sizes)

    def take(self, calls: Iterable[tuple[int, list[Made] | None]], answers: Iterable[tuple[int, str]]) -> None:
        """These messages make calls, and those answer one call each."""
        self._calls.update(calls)
        self._results.update(answers)

    def link(self, n: int, calls: list[Made], results: Sequence[str]) -> None:
        """Message n makes these calls and answers the ones with the ids `results`."""
        if calls:
            self._calls[n] = calls
        if results:
            self._results[n] = tuple(results)

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
        return len(self._roles)

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
        n, role = i + 1, self._roles[i]
        made = self._calls.get(n)
        calls = tuple([call.id for call in made]) if made else ()
        tools = tuple([call.function.name for call in made]) if made else ()
        results = self._results.get(n, ())
        if isinstance(results, str):
            results = (results,)
        return Message(
            n, self._offsets[i], self._sizes[i], role, self._times[i], self.agents.get(n), self.threads.get(n), "",
            calls, tools, results, (), role == "user" and not results,
        )  # fmt: skip
