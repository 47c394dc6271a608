"""Increments: what lies between two requests is their difference, shared out; read only as far as it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.measure.increments import IncrementalContext, Increments


def made(requests: list[tuple[int, float]], end: tuple[int, float], read: list[int] | None = None) -> Increments:
    def newest() -> Iterator[tuple[int, float]]:
        for place, tokens in reversed(requests):
            if read is not None:
                read.append(place)
            yield place, tokens

    return Increments(end, newest(), lambda start, stop: [1.0 + at % 3 for at in range(start, stop)],
                      lambda place, request: request - 10 * place)  # fmt: skip


def test_by_hand() -> None:
    """Between two requests by estimates; before the first by what stands around the messages."""
    found = made([(2, 1000.0), (5, 1060.0)], (7, 1100.0))
    assert [found.before(at) for at in (0, 2, 5, 7)] == [980.0, 1000.0, 1060.0, 1100.0]
    assert [found.between(at, at + 1) for at in (2, 3, 4)] == [30.0, 10.0, 20.0]
    assert found.between(2, 7) == 100.0


def test_what_left_is_taken_back_with_its_stretch() -> None:
    """A smaller request: forgetting all around it leaves what the earlier one had."""
    found = made([(1, 900.0), (3, 600.0), (5, 700.0)], (6, 750.0))
    assert found.between(1, 5) == -200.0 and found.between(3, 5) == 100.0


def test_the_start_is_weighed_once() -> None:
    """What stands around the first request costs a look at all before it, so it is asked for once, at the end."""
    asked: list[int] = []

    def base(place: int, request: float) -> float:
        asked.append(place)
        return request - 10 * place

    requests = iter([(5, 1060.0), (3, 1020.0), (2, 1000.0)])
    found = Increments((7, 1100.0), requests, lambda start, stop: [1.0] * (stop - start), base)
    found.before(4)
    assert asked == []
    assert (found.before(0), asked) == (980.0, [2])


def test_only_what_is_asked_for_is_read() -> None:
    """A look at the newest messages costs no look at all replies."""
    read: list[int] = []
    found = made([(at, 100.0 * at) for at in range(1, 50)], (50, 5000.0), read)
    found.between(47, 49)
    assert read == [49, 48, 47]


REQUESTS = st.lists(st.integers(1, 10**6), min_size=1, max_size=20)


@given(requests=REQUESTS, first=st.integers(0, 5), more=st.integers(1, 4))
def test_they_add_up(requests: list[int], first: int, more: int) -> None:
    """Each message's own: together they are the differences, whatever was asked for first."""
    places = [first + more * k for k in range(len(requests))]
    end = places[-1] + more, requests[-1] + 50.0
    found = made([(at, float(tokens)) for at, tokens in zip(places, requests, strict=True)], end)
    each = [found.between(at, at + 1) for at in range(end[0])]
    for at, tokens in zip(places, requests, strict=True):
        assert abs(found.before(0) + sum(each[:at]) - tokens) < 0.01
    assert abs(found.before(0) + sum(each) - end[1]) < 0.01


KEPT = st.lists(st.booleans(), min_size=1, max_size=100)


@given(requests=REQUESTS, more=st.integers(1, 4), marks=KEPT, least=st.integers(0, 10**6))
def test_a_context_is_never_smaller_than_what_stands_around_it(
    requests: list[int], more: int, marks: list[bool], least: int
) -> None:
    """Whatever is kept: where a request shrank, what left was before it, so that is taken off what was kept alone."""
    places = [more * k for k in range(1, len(requests) + 1)]
    end = places[-1] + more
    counted = [*zip(places, map(float, requests), strict=True), (end, requests[-1] + 50.0)]

    def fresh() -> Increments:
        return Increments(
            counted[-1], iter(counted[-2::-1]), lambda a, z: [1.0 + at % 3 for at in range(a, z)],
            lambda place, request: min(float(least), request), lambda: float(least),
        )  # fmt: skip

    found = fresh()
    chosen = [place for place in range(end) if marks[place % len(marks)]]
    one, runs, added = IncrementalContext(found), IncrementalContext(fresh()), found.before(0)
    low = min(least, *map(int, (tokens for _, tokens in counted)))
    for place in chosen:
        one.keep(place, place + 1)
        added += found.between(place, place + 1)
        assert one.tokens >= min(low, found.before(place + 1)) - 0.01
    start = 0
    for place in [*chosen[1:], -1] if chosen else []:
        last = chosen[start:].index(place) + start if place >= 0 else len(chosen)
        if place < 0 or chosen[last - 1] != place - 1:
            runs.keep(chosen[start], chosen[last - 1] + 1)
            start = last
    assert abs(one.tokens - runs.tokens) < 0.01
    assert one.tokens >= added - 0.01 and (found.falls or abs(one.tokens - added) < 0.01)
    if len(chosen) == end:
        assert abs(one.tokens - counted[-1][1]) < 0.01


def test_what_left_is_taken_off_what_was_before_it() -> None:
    """A request that shrank: where nothing before it is kept, the messages between it and the next one count."""

    def kept(*runs: tuple[int, int]) -> float:
        counted = [(1, 900.0), (3, 600.0), (5, 700.0)]
        found = IncrementalContext(Increments((6, 750.0), iter(counted[::-1]), lambda a, z: [10.0] * (z - a),
                                lambda place, request: 500.0, lambda: 500.0))  # fmt: skip
        for start, end in runs:
            found.keep(start, end)
        return found.tokens

    assert kept((1, 3)) == 520 and kept((2, 3)) == 510 and kept((1, 3), (5, 6)) == 570
    assert kept((0, 3)) == kept((0, 1), (1, 3)) == 600 and kept((0, 6)) == 750
    assert kept((0, 1), (2, 3)) == 750, "half of the messages, half of what left"
