"""The first so many messages of a log, without a copy: a look back costs as little as a look.

Used by `opened` for the state at an op.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from ctxkit.core.messages import Message


class FirstMessages(Sequence[Message]):
    """The first `count` of `messages`."""

    def __init__(self, messages: Sequence[Message], count: int) -> None:
        self._messages = messages
        self._range = range(min(count, len(messages)))

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self._messages[i] for i in self._range[at]]
        return self._messages[self._range[at]]

    def __iter__(self) -> Iterator[Message]:
        return islice(iter(self._messages), len(self))
