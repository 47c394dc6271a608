"""Rewrites the usage in an exported session, if ops changed its context.

Programs decide to compact by the newest usage. A session that was trimmed to a quarter, with the usage from before,
would be compacted as soon as it is resumed. The figures are those of `measure/size.py`, so the session has the size
that `status` reported for the log. Each reply records its request. If messages follow the last reply with a usage, the
newest of them records the size of the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ctxkit.core.compare.align import align
from ctxkit.core.derive.usage import RequestUsage, retell, usage, whole
from ctxkit.core.messages import Span
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.utf8 import exact
from ctxkit.formats.base import MessageToWrite
from ctxkit.formats.bodies import fingerprint
from ctxkit.tokens.calibration import PARTIAL

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

COUNTED = b'"last_token_usage"'
"""A key in rows of Codex. Several rows may repeat the usage of the newest reply; Codex takes the last."""


class RequestSize(NamedTuple):
    """A message of a context. `before`: tokens of the request before it; `thought`: of its thinking that is not sent;
    `in_place`: it is in the place where it was counted.
    """

    before: float
    thought: float
    in_place: bool


def recounted(log: OpenLog, context: Sequence[MessageToWrite], stream: BinaryIO, made: OpenLog) -> Iterator[bytes]:
    """Yields the lines of `stream`, a session that was written from `context`, with the usage of that context.

    `made`: the session, as it is read. A reply keeps its usage if the context before it is unchanged.
    """
    sizes = _sizes(log, context)
    edits, again = _edits(log, context, sizes, made) if sizes else ({}, {})
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
        yield exact(dumps(row)) + b"\n"


def _last(stream: BinaryIO) -> int:
    """Offset of the last row with COUNTED; -1 if there is none."""
    stream.seek(0)
    offset, last = 0, -1
    for line in stream:
        last = offset if COUNTED in line else last
        offset += len(line)
    return last


def _sizes(log: OpenLog, context: Sequence[MessageToWrite]) -> list[RequestSize]:
    """The sizes of each message of a context, and of a next one; empty if no usage is recorded."""
    from ctxkit.measure.count import Counting  # imports sqlite3: needed only if a context was changed
    from ctxkit.measure.size import Measuring

    measuring = Measuring(Counting(log, log.model))
    thoughts = [measuring.thinking(kept.n) if kept.bare else 0.0 for kept in context]
    found = measuring.before_each([(kept.n or None, kept.content) for kept in context])
    gone = accumulate(thoughts, initial=0.0)
    return [
        RequestSize(before - left, thought, in_place)
        for (before, in_place), thought, left in zip(found, [*thoughts, 0.0], gone, strict=False)
    ]


def _edits(
    log: OpenLog, context: Sequence[MessageToWrite], sizes: Sequence[RequestSize], made: OpenLog
) -> tuple[dict[int, RequestUsage], dict[RequestUsage, RequestUsage]]:
    """Offset in the session -> the new usage of the row there; and former usage of a reply -> its new usage."""
    numbers = [n for n in made.names() if isinstance(n, int)]
    edits: dict[int, RequestUsage] = {}
    again: dict[RequestUsage, RequestUsage] = {}
    had = now = None
    for n, start, end in _places(log, context, made, numbers):
        message, beside = made.messages[n - 1], made.transcript.counts.get(n)
        had, size = made.usage(n) if message.role == "assistant" else None, sizes[start]
        request, after = whole(size.before), whole(sizes[end].before)
        # `after` is smaller if the program took old results out
        now = RequestUsage(min(request, after), max(0, after - request))
        if had is None:
            continue
        counted = log.usage(context[start].n) if size.in_place else None
        if counted is not None:
            reply = max(1, whole(counted.reply - size.thought)) if size.thought else counted.reply
            if n == numbers[-1] and reply < PARTIAL * (after - request):  # recorded while it streamed
                reply = after - request
            now = counted._replace(request=max(1, request), reply=reply)
        again[had] = now
        if had != now:  # `beside`: Codex writes its counts into rows of their own, behind the reply
            spans: Sequence[Span] = ((message.offset, message.size), *message.more) if beside is None else (beside,)
            edits.update((offset, now) for offset, _ in spans)
    if had is None and now is not None:  # no reply records the newest message: it gets a usage itself
        newest = made.messages[numbers[-1] - 1]
        edits[newest.offset] = now if newest.role == "assistant" else RequestUsage(now.request + now.reply, 0)
    return edits, again


def _places(
    log: OpenLog, context: Sequence[MessageToWrite], made: OpenLog, numbers: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yields each message of the session, and start and end of the places in `context` that it was written from.

    Several messages of `context` may have become one, as copies of a reply; one with text and results may be two.
    """
    if len(numbers) == len(context):
        yield from ((n, at, at + 1) for at, n in enumerate(numbers))
        return
    ours = [(at, one) for at, kept in enumerate(context) for one in fingerprint(kept.content or log.content(kept.n))]
    theirs = [(at, one) for at, n in enumerate(numbers) for one in fingerprint(made.content(n))]
    starts: dict[int, int] = {}
    for a, b, count in align([one for _, one in ours], [one for _, one in theirs]):
        for k in range(count):
            starts.setdefault(theirs[b + k][0], ours[a + k][0])
    found = [starts.get(0, 0)]
    for at in range(1, len(numbers)):
        found.append(starts.get(at, min(found[-1] + 1, len(context) - 1)))
    yield from zip(numbers, found, [*found[1:], len(context)], strict=True)
