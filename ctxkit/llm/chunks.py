"""Chunks: a conversation cut into parts that a model takes, at exchanges, else at steps, else at lines. Pure.

Nothing is left out and nothing is told twice: the parts, one after the other, are the whole, whatever the room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple


class Chunk(NamedTuple):
    """What is sent together: a step, a message that stands alone, or a piece of one that is too large. `exchange`: the
    number of the exchange that it is of; `tokens`: for the model.
    """

    text: str
    tokens: int
    exchange: int


def chunks(parts: Sequence[Chunk], room: int) -> list[list[Chunk]]:
    """The parts as chunks of at most `room` tokens (at least 1). Whole exchanges stand together where they fit, else
    whole parts; a part that does not fit alone is cut into pieces, whose tokens are told by their length.
    """
    found: list[list[Chunk]] = []
    used = 0
    for _, some in groupby(parts, key=lambda part: part.exchange):
        exchange = list(some)
        size = sum(part.tokens for part in exchange)
        blocks = [exchange] if size <= room else [[piece] for part in exchange for piece in pieces(part, room)]
        for block in blocks:
            size = sum(part.tokens for part in block)
            if not found or used + size > room:
                found.append([])
                used = 0
            found[-1] += block
            used += size
    return found


def pieces(part: Chunk, room: int) -> Iterator[Chunk]:
    """A part in pieces of at most `room` tokens, cut at line ends where one is near; a letter is never cut."""
    if part.tokens <= room or len(part.text) < 2:
        yield part
        return
    size = max(1, len(part.text) * room // part.tokens)
    start = 0
    while start < len(part.text):
        end = min(start + size, len(part.text))
        if end < len(part.text):
            line = part.text.rfind("\n", start + size // 2, end)
            end = line + 1 if line >= 0 else end
        yield Chunk(part.text[start:end], -(-part.tokens * (end - start) // len(part.text)), part.exchange)
        start = end


def halved(chunk: Sequence[Chunk], rest: Iterable[Sequence[Chunk]]) -> list[list[Chunk]] | None:
    """What a model did not take, in chunks of half its tokens, and what was to follow it in chunks no larger; None for
    what cannot be cut.
    """
    room = sum(part.tokens for part in chunk) // 2
    if room < 1 or (len(chunk) == 1 and len(chunk[0].text) < 2):
        return None
    return [*chunks(chunk, room), *chunks([part for other in rest for part in other], room)]
