"""chunks: the parts that a model takes, one after the other, are the whole."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.llm.chunks import Chunk, chunks, halved, pieces
from tests.effort import examples

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=60)
PARTS = st.lists(st.tuples(TEXTS, st.integers(1, 90), st.booleans()), max_size=14)


def made(rows: list[tuple[str, int, bool]]) -> list[Chunk]:
    """Parts, each of the exchange before it or of one more."""
    found: list[Chunk] = []
    for text, tokens, more in rows:
        found.append(Chunk(text, tokens, (found[-1].exchange if found else 0) + more))
    return found


def whole(found: list[list[Chunk]]) -> str:
    """All that is told."""
    return "".join(part.text for chunk in found for part in chunk)


@settings(max_examples=examples(150), deadline=None)
@given(PARTS, st.integers(1, 200))
def test_union(rows: list[tuple[str, int, bool]], room: int) -> None:
    """Whatever the room: nothing left out, nothing told twice, no chunk above it but one that is a letter."""
    parts = made(rows)
    found = chunks(parts, room)
    assert whole(found) == "".join(part.text for part in parts)
    assert all(found) or not parts
    for chunk in found:
        assert sum(part.tokens for part in chunk) <= room or (len(chunk) == 1 and len(chunk[0].text) < 2)


@settings(max_examples=examples(60), deadline=None)
@given(PARTS, st.integers(20, 200))
def test_boundaries(rows: list[tuple[str, int, bool]], room: int) -> None:
    """An exchange that fits stands in one chunk, and so does a part."""
    parts = made(rows)
    found = chunks(parts, room)
    for _, some in groupby(parts, key=lambda part: part.exchange):
        exchange = list(some)
        if sum(part.tokens for part in exchange) <= room:
            assert any(all(part in chunk for part in exchange) for chunk in found)
    for part in parts:
        assert part.tokens > room or any(part in chunk for chunk in found)


@settings(max_examples=examples(60), deadline=None)
@given(PARTS, st.integers(1, 200))
def test_halved(rows: list[tuple[str, int, bool]], room: int) -> None:
    """Again and again, until nothing can be cut: the whole stays the whole, and it ends."""
    waiting = chunks(made(rows), room)
    before, taken = whole(waiting), ""
    for _ in range(10_000):
        if not waiting:
            break
        less = halved(waiting[0], waiting[1:])
        if less is None:  # the model takes it
            taken += whole(waiting[:1])
            waiting = waiting[1:]
            continue
        assert taken + whole(less) == before
        waiting = less
    assert not waiting and taken == before


def test_cut_at_lines() -> None:
    """Where a line ends near."""
    part = Chunk("".join(f"line {n} of the text\n" for n in range(40)), 400, 1)
    found = list(pieces(part, 100))
    assert (
        len(found) in (4, 5)
        and all(one.text.endswith("\n") for one in found)
        and len({one.exchange for one in found}) == 1
    )
