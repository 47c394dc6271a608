"""Whose turn it is in a session: what its newest messages wait for.

Pipeline: `watch/reading.py`, `watch/compaction.py` and `watch/checkpointing.py` ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ctxkit.core.derive.tail import newest_first
from ctxkit.core.messages import Message
from ctxkit.core.transcript import Transcript
from ctxkit.watch.events import WaitsFor

EXCHANGE = 2000
"""Messages of the newest exchange that are read at most."""
_ANSWERS = frozenset({"assistant", "model"})
_ASKS = frozenset({"user", "tool", "function"})


class Turns(NamedTuple):
    """`waits_for`: whose turn it is; what a program adds after an answer asks for nothing. `pending`: calls without a
    result: id -> name of the tool.

    `ended`: the last exchange that ended: where the message stands in the file that opened it, -1 without one; None if
    none ended yet. An exchange ends with words of the model, when no call waits for its result; or when the next one
    begins.
    """

    waits_for: WaitsFor
    pending: dict[str, str]
    ended: int | None

    @property
    def tools(self) -> list[str]:
        """The names of the tools whose calls have no result, each once."""
        return list(dict.fromkeys(self.pending.values()))


def turns_of(messages: Iterable[Message]) -> Turns:
    """Whose turn it is after these messages."""
    pending: dict[str, str] = {}
    opener, before = -1, None
    speaks = False  # whether the model spoke in the newest exchange
    waits: WaitsFor = ""
    for message in messages:
        if message.opens:
            pending.clear()  # nobody answers the calls of an exchange that was left
            before = opener if speaks else before
            opener, speaks = message.offset, False
        if message.role in _ANSWERS:
            waits, speaks = "user", True
        elif message.role in _ASKS and (message.opens or message.results or message.role != "user" or not speaks):
            waits = "model"
        pending.update(zip(message.calls, message.tools, strict=False))
        for call in message.results:
            pending.pop(call, None)
        if message.results and message.role in _ANSWERS and not pending:
            waits = "model"
    waits = "tool" if pending else waits
    return Turns(waits, pending, opener if waits == "user" else before)


def whose_turn(transcript: Transcript) -> Turns:
    """What the newest exchange of a log waits for, and whether one before it ended."""
    found: list[Message] = []
    opened = 0
    for message in newest_first(transcript):
        found.append(message)
        opened += message.opens
        if opened > 1 or len(found) >= EXCHANGE:
            break
    return turns_of(reversed(found))
