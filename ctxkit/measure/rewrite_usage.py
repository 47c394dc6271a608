"""What an exported session says of its requests, once ops made its context another.

Programs go by the newest usage when they decide to compact: a session that was trimmed to a quarter, and still told
what it had been, would be compacted as soon as it is resumed. The figures are those of `measure/size.py`, so the
session says what `status` said of the log: each reply tells its request, and where messages stand behind the last that
does, the newest of them tells the size of the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ctxkit.core.compare.align import align
from ctxkit.core.derive.usage import RequestUsage, retell, usage, whole
from ctxkit.core.messages import Span
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.formats.base import MessageToWrite
from ctxkit.formats.bodies import told
from ctxkit.tokens.calibration import PARTIAL

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

COUNTED = b'"last_token_usage"'
"""In rows of Codex, which may say again what was counted of the newest reply, and goes by the last of them."""


class RequestSize(NamedTuple):
    """Tokens of the request before a message of a context; `thought`: of its thinking, which does not go along.
    `stands`: it is where it was counted.
    """

    before: float
    thought: float
    stands: bool


def recounted(log: OpenLog, context: Sequence[MessageToWrite], stream: BinaryIO) -> Iterator[bytes]:
    """The lines of `stream`, a session that was written from `context`, with usages that fit it.

    Replies whose context is still what was counted keep their usage.
    """
    from ctxkit.logfile.open import OpenLog

    sizes = _sizes(log, context)
    stream.seek(0)
    edits, again = _edits(log, context, sizes, OpenLog.open(stream, env={})) if sizes else ({}, {})
    last = _last(stream) if again or edits else -1
    stream.seek(0)
    offset = 0
    for line in stream:
        now = edits.get(offset)
        if now is None and sizes and COUNTED in line:
            had = usage([loads(line)])
            now = (
                again.get(had) if had in again else None if offset != last else RequestUsage(whole(sizes[-1].before), 0)
            )
            now = None if now == had else now
        offset += len(line)
        if now is None:
            yield line
            continue
        row = loads(line)
        retell(row, now)
        yield dumps(row).encode("utf-8", "surrogatepass") + b"\n"


def _last(stream: BinaryIO) -> int:
    """Where the last row stands that says what was counted; -1: none does."""
    stream.seek(0)
    offset, last = 0, -1
    for line in stream:
        last = offset if COUNTED in line else last
        offset += len(line)
    return last


def _sizes(log: OpenLog, context: Sequence[MessageToWrite]) -> list[RequestSize]:
    """Of each message of a context, and of a next one; none where nothing is known of what a provider counted."""
    from ctxkit.measure.count import Counting  # brings sqlite3: only where a context was changed
    from ctxkit.measure.size import Measuring

    measuring = Measuring(Counting(log, log.model))
    thoughts = [measuring.thinking(kept.n) if kept.bare else 0.0 for kept in context]
    found = measuring.before_each([(kept.n or None, kept.content) for kept in context])
    gone = accumulate(thoughts, initial=0.0)
    return [
        RequestSize(before - left, thought, stands)
        for (before, stands), thought, left in zip(found, [*thoughts, 0.0], gone, strict=False)
    ]


def _edits(
    log: OpenLog, context: Sequence[MessageToWrite], sizes: Sequence[RequestSize], made: OpenLog
) -> tuple[dict[int, RequestUsage], dict[RequestUsage, RequestUsage]]:
    """Offset in the session -> the usage that the row there tells; and usages of replies -> what they are now."""
    numbers = [n for n in made.names() if isinstance(n, int)]
    edits: dict[int, RequestUsage] = {}
    again: dict[RequestUsage, RequestUsage] = {}
    had = now = None
    for n, start, end in _places(log, context, made, numbers):
        message, beside = made.messages[n - 1], made.transcript.counts.get(n)
        had, size = made.usage(n) if message.role == "assistant" else None, sizes[start]
        request, after = whole(size.before), whole(sizes[end].before)
        now = RequestUsage(
            min(request, after), max(0, after - request)
        )  # less than nothing: the program took old results out
        if had is None:
            continue
        counted = log.usage(context[start].n) if size.stands else None
        if counted is not None:
            reply = max(1, whole(counted.reply - size.thought)) if size.thought else counted.reply
            if n == numbers[-1] and reply < PARTIAL * (after - request):  # counted while it streamed: its size, as told
                reply = after - request
            now = counted._replace(request=max(1, request), reply=reply)
        again[had] = now
        if had != now:  # Codex's counts of replies that are gone stand behind the one that is left
            spans: Sequence[Span] = ((message.offset, message.size), *message.more) if beside is None else (beside,)
            edits.update((offset, now) for offset, _ in spans)
    if had is None and now is not None:  # no reply tells of the newest: it does so itself
        newest = made.messages[numbers[-1] - 1]
        edits[newest.offset] = now if newest.role == "assistant" else RequestUsage(now.request + now.reply, 0)
    return edits, again


def _places(
    log: OpenLog, context: Sequence[MessageToWrite], made: OpenLog, numbers: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Each message of the session, and the places in `context` of what it tells: the first, and behind the last.

    Copies of one reply are read as one, and what holds words and results as two.
    """
    if len(numbers) == len(context):
        yield from ((n, at, at + 1) for at, n in enumerate(numbers))
        return
    ours = [(at, one) for at, kept in enumerate(context) for one in told(kept.content or log.content(kept.n))]
    theirs = [(at, one) for at, n in enumerate(numbers) for one in told(made.content(n))]
    starts: dict[int, int] = {}
    for a, b, count in align([one for _, one in ours], [one for _, one in theirs]):
        for k in range(count):
            starts.setdefault(theirs[b + k][0], ours[a + k][0])
    found = [starts.get(0, 0)]
    for at in range(1, len(numbers)):
        found.append(starts.get(at, min(found[-1] + 1, len(context) - 1)))
    yield from zip(numbers, found, [*found[1:], len(context)], strict=True)
