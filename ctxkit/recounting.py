"""Recounting: what the replies of an exported session say of their requests, once ops made its context another.

Programs go by the newest usage when they decide to compact: a session that was trimmed to a quarter, and still told
what it had been, would be compacted as soon as it is resumed. Told by the usage itself, not by a tokenizer: a request
is larger than the one before by what came between, which its messages share by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, BinaryIO

from ctxkit.core.jsontext import dumps, loads
from ctxkit.core.messages import Content, Message, Span
from ctxkit.core.transcript import standing
from ctxkit.core.usage import Usage, retell, usage
from ctxkit.formats.base import Kept

if TYPE_CHECKING:
    from ctxkit.opened import OpenedLog

BYTES = 4
"""Of a message to a token, where no two requests tell."""
REPEATED = b'"last_token_usage"'
"""In rows of Codex, which may say again what was counted of the newest reply."""


def recounted(log: OpenedLog, context: Sequence[Kept], stream: BinaryIO) -> Iterator[bytes]:
    """The lines of `stream`, a session that was written from `context`, with usages that fit it.

    Replies whose context is still what was counted keep their usage.
    """
    from ctxkit.opened import OpenedLog

    own = log.own()
    stream.seek(0)
    made = OpenedLog.open(stream, env={})
    new = [n for n in made.names() if isinstance(n, int)]
    same = next((k for k, (kept, n) in enumerate(zip(context, own, strict=False)) if kept != Kept(n, None, kept.ts)),
                min(len(context), len(own)))  # fmt: skip
    told = _told(log, own, context) if len(new) == len(context) else {}
    edits: dict[int, int] = {}
    again: dict[Usage, int] = {}
    for k, (had, request) in told.items():
        if k >= same:
            message, beside = made.messages[new[k] - 1], made.transcript.counts.get(new[k])
            spans: Sequence[Span] = ((message.offset, message.size), *message.more) if beside is None else (beside,)
            edits.update((offset, request) for offset, _ in spans)
            again[had] = request
    stream.seek(0)
    offset = 0
    for line in stream:
        at = edits.get(offset)
        offset += len(line)
        if at is None and again and REPEATED in line and (had_here := usage([loads(line)])) is not None:
            at = again.get(had_here)
        if at is None:
            yield line
            continue
        row = loads(line)
        retell(row, at)
        yield dumps(row).encode("utf-8", "surrogatepass") + b"\n"


def _told(log: OpenedLog, own: Sequence[int], context: Sequence[Kept]) -> dict[int, tuple[Usage, int]]:
    """Place in `context` -> what was counted there, and tokens of the request as it is now: of each reply that was
    counted since the program's newest compaction.
    """
    messages, view = log.messages, log.transcript.view
    since = (own[place] for place in standing(own, view.cuts if view is not None else (), log.transcript.row_of))
    found = {n: one for n in since if messages[n - 1].role == "assistant" and (one := log.usage(n)) is not None}
    if not found:
        return {}
    sizes = _sizes(messages, own, found)
    before = dict(zip(own, accumulate((sizes[n] for n in own), initial=0.0), strict=False))
    told: dict[int, tuple[Usage, int]] = {}
    held = 0.0
    for k, kept in enumerate(context):
        if kept.n in found:
            told[k] = found[kept.n], max(1, round(found[kept.n].request - before[kept.n] + held))
        held += _size(log, kept, sizes)
    return told


def _size(log: OpenedLog, kept: Kept, sizes: dict[int, float]) -> float:
    """Tokens of a message as it is written."""
    if kept.n not in sizes:
        return _said(kept.content or log.content(kept.n)) / BYTES
    had = sizes[kept.n]
    if kept.content is None:
        return had
    return had * _said(kept.content) / (_said(log.content(kept.n)) or log.messages[kept.n - 1].bytes)


def _sizes(messages: Sequence[Message], own: Sequence[int], found: dict[int, Usage]) -> dict[int, float]:
    """Tokens of each message of the log's own context."""
    counted = [place for place, n in enumerate(own) if n in found]
    grown = {
        (a, b): more for a, b in pairwise(counted) if (more := found[own[b]].request - found[own[a]].request) > 0
    }  # fmt: skip
    weights = [messages[n - 1].bytes for n in own]
    known = sum(sum(weights[a:b]) for a, b in grown)
    rate = sum(grown.values()) / known if known else 1 / BYTES
    sizes = {n: rate * weight for n, weight in zip(own, weights, strict=True)}
    for (a, b), more in grown.items():
        share = more / (sum(weights[a:b]) or 1)
        sizes.update((own[place], share * weights[place]) for place in range(a, b))
    first, last = counted[0], counted[-1]
    net, held = found[own[last]].request - found[own[first]].request, sum(sizes[n] for n in own[first:last])
    if 0 < net < held:  # something left between two requests, which no row says: all have their part of it
        sizes.update((n, sizes[n] * net / held) for n in own[first:last])
    return sizes


def _said(content: Content) -> int:
    """Bytes of the words of a message."""
    from ctxkit.opened import words

    return sum(len(text.encode("utf-8", "surrogatepass")) for text in words(content))
