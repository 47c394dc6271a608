"""The ending of a log: its newest messages, whether the last exchange came to its end, and to where one can go back.

Used by the list of sessions and by `recover`, so that both mean the same. Pure, and it costs what the ending holds: no
message before the last exchange that came to its end is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from ctxkit.core.context import shown_names
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Message
from ctxkit.core.state import State
from ctxkit.core.transcript import Transcript

_HEARD = frozenset({"user", "tool", "function", "system", "developer"})
"""Roles of what a model is told; whoever else speaks answers."""

Condition = Literal["clean", "interrupted", "damaged"]
Why = Literal["question", "results", "calls", "stopped"]
"""What the last exchange lacks: an answer to the user, an answer to results, or results of calls; or its user stopped
it in the middle of an answer.
"""
Stopped = Callable[[Message], bool]
"""Whether a message that nobody typed says that the user stopped the turn."""


def _never(message: Message) -> bool:
    return False


def newest_first(transcript: Transcript) -> Iterator[Message]:
    """The messages of the log's own context, the newest first: no branch, no sidechain, nothing that a cut took out."""
    view, messages = transcript.view, transcript.messages
    if view is None:
        yield from (messages[i] for i in range(len(messages) - 1, -1, -1))
        return
    gone = frozenset[int]().union(*(cut.out for cut in view.cuts))
    yield from (messages[n - 1] for n in reversed(view.order) if n not in gone)


def newest_shown(state: State) -> Iterator[tuple[Name, Message]]:
    """The same of a context that ops have changed, before windows, each with its name.

    Older messages that were brought back behind the newest one are older all the same. Of what an op brought in, the
    role alone is known.
    """
    order = list(shown_names(state))
    held = {name for name in order if isinstance(name, int)}
    newest = next((message.n for message in newest_first(state.transcript) if message.n in held), None)
    place = len(order) if newest is None else order.index(newest) + 1
    brought = [name for name in order[place:] if isinstance(name, int)]
    for name in (*(name for name in reversed(order[place:]) if not isinstance(name, int)), *reversed(order[:place]),
                 *reversed(brought)):  # fmt: skip
        yield name, state.messages[name - 1] if isinstance(name, int) else _brought(state, name)


def _brought(state: State, name: ItemName) -> Message:
    return Message(0, 0, 0, state.board.items[name].role)


def interrupted(newest: Iterable[Message], stopped: Stopped = _never) -> bool:
    """Whether the last exchange has no end: words of the user or a result that nobody answered, a call without result,
    an answer that the user `stopped`.

    So it is, too, while an agent is still at work. What else nobody typed (notices, system messages) behind it is
    passed over. `newest`: the messages, the newest first.
    """
    answered: set[str] = set()
    for message in newest:
        if message.role not in _HEARD:
            return bool(answered) or not set(message.results).issuperset(message.calls)
        answered.update(message.results)
        if message.opens or (message.role == "user" and not message.results and stopped(message)):
            return True
    return bool(answered)


def condition(damaged: int, *, torn: bool, interrupted: bool) -> Condition:
    """What a log is called that has so many `damaged` places besides a `torn` end."""
    return "damaged" if damaged else "interrupted" if torn or interrupted else "clean"


class InterruptedEnd(msgspec.Struct, frozen=True):
    """How an interrupted context ends. Of its newest messages, `size` are the last exchange; `step` stand behind the
    newest whole step, and `exchange` behind the newest exchange that came to its end (None: there is none); where there
    is neither, `question` behind what was asked, so that no call is left without a result.

    `calls`: those without a result, of the newest answer: its place from the end, from 0, and the call's in it.
    """

    why: Why
    size: int
    step: int | None
    exchange: int | None
    question: int | None = None
    calls: list[tuple[int, int]] = []


def ending(newest: Iterable[Message], stopped: Stopped = _never) -> InterruptedEnd | None:
    """How a context ends whose last exchange is `interrupted`; None where it came to its end."""
    older = iter(newest)
    last = _exchange(older)
    if not interrupted(last, stopped):
        return None
    calls = _unanswered(last)
    why: Why = "calls" if calls else "question"
    if not calls and any(map(_answers, last)):
        why = "results" if interrupted(last) else "stopped"
    step = exchange = None
    gone, one = 0, last
    while one and exchange is None:
        if any(map(_answers, one)):
            if step is None and (behind := _behind_whole(one)) is not None:
                step = gone + behind
            if not interrupted(one, stopped):
                exchange = gone
        gone += len(one)
        one = _exchange(older)
    alone = step is None and exchange is None and calls and last[-1].opens
    return InterruptedEnd(why, len(last), step, exchange, _behind_answers(last) if alone else None, calls)


def _exchange(newest: Iterator[Message]) -> list[Message]:
    """The next older exchange, the newest message first."""
    found = []
    for message in newest:
        found.append(message)
        if message.opens:
            break
    return found


def _answers(message: Message) -> bool:
    return message.role not in _HEARD


def _response(exchange: Sequence[Message]) -> tuple[int, int]:
    """The newest answer, which may be several messages in a row: its first place, and the one behind it.

    Where what stood between two of them has left the context, they are two answers.
    """
    start = next((i for i, message in enumerate(exchange) if _answers(message)), len(exchange))
    end = start
    while end < len(exchange) and _answers(exchange[end]):
        if end > start and not _adjoin(exchange[end], exchange[end - 1]):
            break
        end += 1
    return start, end


def _adjoin(older: Message, newer: Message) -> bool:
    return not (older.n and newer.n) or newer.n == older.n + 1


def _unanswered(exchange: Sequence[Message]) -> list[tuple[int, int]]:
    """The calls of the newest answer that have no result behind them."""
    start, end = _response(exchange)
    results = {call for message in exchange[:end] for call in message.results}
    return [
        (i, k) for i in range(end - 1, start - 1, -1) for k, call in enumerate(exchange[i].calls) if call not in results
    ]


def _behind_whole(exchange: Sequence[Message]) -> int | None:
    """How many of the newest messages of an exchange stand behind its newest whole step; None where it has none."""
    gone = 0
    while gone < len(exchange):
        rest = exchange[gone:]
        start, end = _response(rest)
        if start == len(rest):
            return None
        if not _unanswered(rest):
            return gone
        gone += end
    return None


def _behind_answers(exchange: Sequence[Message]) -> int:
    """How many of the newest messages of an exchange leave with the first answer to what was asked."""
    return max(i for i, message in enumerate(exchange) if _answers(message)) + 1
