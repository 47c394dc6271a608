"""Messages in columns: a million light messages in a third of the memory, made into `Message`s when asked for.

Used by `formats/chat.py`, whose rows are one message each. Built a block at a time by list operations, which is what
makes reading a native log about as fast as decoding it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from ctxkit.core.messages import Message


class Links(NamedTuple):
    """The calls a message makes, their tools, and the calls it answers."""

    calls: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


NO_LINKS = Links()


class Columns(Sequence[Message]):
    """The messages of a native log. Grows only at its end; message n stands at index n - 1."""

    def __init__(self) -> None:
        self._offsets = array("q")
        self._sizes = array("q")
        self._roles: list[str] = []
        self._times: list[Any] = []
        self._links: dict[int, Links] = {}
        self._answers: dict[int, str] = {}
        self._agents: dict[int, str] = {}
        self._threads: dict[int, str] = {}

    def extend(
        self, roles: Iterable[str], times: Iterable[Any], offsets: Iterable[int], sizes: Iterable[int]
    ) -> None:
        """Take more messages, a column each, of one length."""
        self._roles.extend(roles)
        self._times.extend(times)
        self._offsets.extend(offsets)
        self._sizes.extend(sizes)

    def link(self, links: Mapping[int, Links]) -> None:
        """These messages make or answer calls."""
        self._links.update(links)

    def answer(self, answers: Mapping[int, str]) -> None:
        """These messages answer one call each, and do nothing else: the common case, without a tuple each."""
        self._answers.update(answers)

    def assign(self, n: int, agent: object, thread: object) -> None:
        """Message n belongs to an agent and a thread; what is not text names none."""
        if isinstance(agent, str):
            self._agents[n] = agent
        if isinstance(thread, str):
            self._threads[n] = thread

    def __len__(self) -> int:
        return len(self._roles)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self._at(i) for i in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        return self._at(at)

    def __iter__(self) -> Iterator[Message]:
        return map(self._at, range(len(self)))

    def _at(self, i: int) -> Message:
        n, role = i + 1, self._roles[i]
        answered = self._answers.get(n)
        calls, tools, results = self._links.get(n, NO_LINKS) if answered is None else ((), (), (answered,))
        return Message(
            n, self._offsets[i], self._sizes[i], role, self._times[i], self._agents.get(n), self._threads.get(n), "",
            calls, tools, results, (), role == "user" and not results,
        )  # fmt: skip
