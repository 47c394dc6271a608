"""The calls of a log without a result, and its results without a call; and those that stop its program.

Pipeline: a `Transcript` -> `unpaired` -> `check`, `status`, the list of sessions. Where messages are in columns, the
columns are compared, and no message is made. The log's own context -> `sent_alone` -> `check`, `resume`; a context that
is to be written -> `left_alone` -> `export/session.py`, which mends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctxkit.core.integrity import Alone, alone
from ctxkit.core.messages import Content, Message
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.formats.base import Format
from ctxkit.formats.columns import Columns

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

WORDS = {
    "no-result": "call {} has no result", "no-call": "a result for {}, which no earlier message calls",
    "second-copy": "a second copy of the result of {}",
    "open-call": "call {} has no result, and nothing comes after it: it may still run, or was interrupted",
}  # fmt: skip
"""What is alone, in words."""
SENT = {"no-result": "call {} has no result", "no-call": "a result for {}, whose call is not before it in the context"}
"""What is sent alone, in words."""


class Unpaired(NamedTuple):
    """A call or a result of message `n` that has no partner. `code`: a key of WORDS."""

    n: int
    code: str
    text: str
    call: str


def unpaired(messages: Sequence[Message], *, last: bool = False) -> Iterator[Unpaired]:
    """Calls without a result, those of a last step, which may still run, only if `last`, as open-call; then results
    without a call, and second results of a call.
    """
    pairs = messages.unpaired() if isinstance(messages, Columns) else None
    calls, results, copies = _walked(messages) if pairs is None else (*pairs, [])
    if calls:
        talk = next((m.n for m in reversed(messages) if m.opens or m.role == "assistant"), 0)
        for call, n in calls:
            code = "no-result" if n < talk else "open-call"
            if n < talk or last:
                yield Unpaired(n, code, WORDS[code].format(call), call)
    for call, n in results:
        yield Unpaired(n, "no-call", WORDS["no-call"].format(call), call)
    for call, n in copies:
        yield Unpaired(n, "second-copy", WORDS["second-copy"].format(call), call)


def sent_alone(log: OpenLog) -> list[Unpaired]:
    """What the log's program sends of its own context, before any op of ctxkit, and its provider refuses.

    Raises Misfit, DamagedOp.
    """
    program = log.opening.format
    if program.leaves.isdisjoint(WORDS):
        return []
    own = log.own()
    contents = LazySequence(len(own), lambda at: log.content(own[at]))
    left = left_alone(program, contents, log.answered)
    return [Unpaired(own[one.at], one.code, SENT[one.code].format(one.call), one.call) for one in left]


def left_alone(program: Format, contents: Sequence[Content], answered: frozenset[str]) -> list[Alone]:
    """The calls and results of a context that `program` sends alone, though its provider refuses the request.

    `answered`: as in `Format.sent`.
    """
    if program.leaves.isdisjoint(WORDS):
        return []
    sent, _ = program.portable(contents, answered)  # each in its place; a failed response takes its calls along
    return [one for one in alone(sent, pairs=program.pairs) if one.code in program.leaves]


def _walked(messages: Iterable[Message]) -> tuple[list[tuple[str, int]], ...]:
    """The calls and the results without a partner, and second results, each with the number of its message."""
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    orphans: list[tuple[str, int]] = []
    copies: list[tuple[str, int]] = []
    for message in messages:
        calls: Iterable[str] = message.calls
        if message.results:
            own = dict.fromkeys(calls)  # some formats keep a call and its result in one message
            for call in message.results:
                if call in waiting:
                    del waiting[call]
                elif call in own:
                    del own[call]
                else:
                    (copies if call in answered else orphans).append((call, message.n))
                    continue
                answered.add(call)
            calls = own
        for call in calls:
            waiting[call] = message.n
    return list(waiting.items()), orphans, copies
