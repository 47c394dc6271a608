"""The ending of a log: its newest messages, and whether the last exchange came to its end.

Used by the list of sessions and by whoever goes on after a crash. Pure, and it costs what the ending holds: no message
before the last exchange is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.core.messages import Message
from ctxkit.core.transcript import Transcript

_HEARD = frozenset({"user", "tool", "function", "system", "developer"})
"""Roles of what a model is told; whoever else speaks answers."""


def newest_first(transcript: Transcript) -> Iterator[Message]:
    """The messages of the log's own context, the newest first: no branch, no sidechain, nothing that a cut took out."""
    view, messages = transcript.view, transcript.messages
    if view is None:
        yield from (messages[i] for i in range(len(messages) - 1, -1, -1))
        return
    gone = frozenset[int]().union(*(cut.out for cut in view.cuts))
    yield from (messages[n - 1] for n in reversed(view.order) if n not in gone)


def interrupted(transcript: Transcript) -> bool:
    """Whether the last exchange has no end: words of the user or a result that nobody answered, a call without result.

    So it is, too, while an agent is still at work. What nobody typed (notices, system messages) behind it is passed
    over.
    """
    answered: set[str] = set()
    for message in newest_first(transcript):
        if message.role not in _HEARD:
            return bool(answered) or not set(message.results).issuperset(message.calls)
        answered.update(message.results)
        if message.opens:
            return True
    return bool(answered)
