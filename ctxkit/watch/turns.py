"""Whose turn it is in a session: what its newest messages wait for. Pure.

Pipeline: `watch/full_reading.py` feeds the newest exchange, `watch/appended.py` what is appended afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ctxkit.core.messages import Message

_ANSWERS = frozenset({"assistant", "model"})
_ASKS = frozenset({"user", "tool", "function"})


class Turns:
    """Takes messages in order. `pending`: calls without a result: id -> name of the tool.

    An exchange ends with words of the model, when no call waits for its result; or when the next one begins.
    """

    def __init__(self) -> None:
        self.pending: dict[str, str] = {}
        self._opener = -1
        """Where the message stands in the file that opened the newest exchange."""
        self._before: int | None = None
        """The same of the exchange before it, if the model spoke in it."""
        self._speaks = False
        """Whether the model spoke in the newest exchange."""
        self._last = ""

    def take(self, messages: Iterable[Message]) -> None:
        """The next messages."""
        for message in messages:
            if message.opens:
                self.pending.clear()  # nobody answers the calls of an exchange that was left
                self._before = self._opener if self._speaks else self._before
                self._opener, self._speaks = message.offset, False
            if message.role in _ANSWERS:
                self._last, self._speaks = "user", True
            elif message.role in _ASKS and (
                message.opens or message.results or message.role != "user" or not self._speaks
            ):
                self._last = "model"
            self.pending.update(zip(message.calls, message.tools, strict=False))
            for call in message.results:
                self.pending.pop(call, None)
            if message.results and message.role in _ANSWERS and not self.pending:
                self._last = "model"

    @property
    def waits_for(self) -> Literal["", "user", "model", "tool"]:
        """Whose turn it is; "" before the first message. What a program adds after an answer asks for nothing."""
        if self.pending:
            return "tool"
        return "user" if self._last == "user" else "model" if self._last == "model" else ""

    @property
    def ended(self) -> int | None:
        """The last exchange that ended: where the message stands in the file that opened it, -1 without one; None if
        none ended yet.
        """
        return self._opener if self.waits_for == "user" else self._before

    @property
    def tools(self) -> list[str]:
        """The names of the tools whose calls have no result, each once."""
        return list(dict.fromkeys(self.pending.values()))
