"""Recounting: what the replies of an exported session say of their requests, once ops made its context another.

Programs go by the newest usage when they decide to compact: a session that was trimmed to a quarter, and still told
what it had been, would be compacted as soon as it is resumed. The figures are those of `measuring.py`, so the session
says what `status` said of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from ctxkit.core.jsontext import dumps, loads
from ctxkit.core.messages import Span
from ctxkit.core.usage import Usage, retell, usage, whole
from ctxkit.formats.base import Kept

if TYPE_CHECKING:
    from ctxkit.opened import OpenedLog

REPEATED = b'"last_token_usage"'
"""In rows of Codex, which may say again what was counted of the newest reply."""


def recounted(log: OpenedLog, context: Sequence[Kept], stream: BinaryIO) -> Iterator[bytes]:
    """The lines of `stream`, a session that was written from `context`, with usages that fit it.

    Replies whose context is still what was counted keep their usage.
    """
    from ctxkit.opened import OpenedLog

    stream.seek(0)
    made = OpenedLog.open(stream, env={})
    new = [n for n in made.names() if isinstance(n, int)]
    edits: dict[int, Usage] = {}
    again: dict[Usage, Usage] = {}
    for k, (had, now) in (_told(log, context) if len(new) == len(context) else {}).items():
        if made.usage(new[k]) != now:  # Codex's counts of replies that are gone stand behind the one that is left
            message, beside = made.messages[new[k] - 1], made.transcript.counts.get(new[k])
            spans: Sequence[Span] = ((message.offset, message.size), *message.more) if beside is None else (beside,)
            edits.update((offset, now) for offset, _ in spans)
            again[had] = now
    stream.seek(0)
    offset = 0
    for line in stream:
        now_here = edits.get(offset)
        offset += len(line)
        if now_here is None and again and REPEATED in line and (had_here := usage([loads(line)])) is not None:
            now_here = again.get(had_here)
        if now_here is None:
            yield line
            continue
        row = loads(line)
        retell(row, now_here)
        yield dumps(row).encode("utf-8", "surrogatepass") + b"\n"


def _told(log: OpenedLog, context: Sequence[Kept]) -> dict[int, tuple[Usage, Usage]]:
    """Place in `context` -> what was counted there, and what that comes to now: of each reply that stands as it was
    counted.
    """
    from ctxkit.counting import Counting  # brings sqlite3: only where a context was changed
    from ctxkit.measuring import Measuring

    found: dict[int, tuple[Usage, Usage]] = {}
    measuring = Measuring(Counting(log, log.model))
    thoughts = [measuring.thinking(kept.n) if kept.bare else 0.0 for kept in context]
    left = list(accumulate(thoughts, initial=0.0))
    for place, request in measuring.requests([(kept.n or None, kept.content) for kept in context]):
        n = context[place].n
        had = log.usage(n)
        if had is not None:
            reply = max(1, whole(had.reply - thoughts[place])) if thoughts[place] else had.reply
            found[place] = had, had._replace(request=max(1, whole(request - left[place])), reply=reply)
    return found
