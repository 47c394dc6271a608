"""Increments: what lies between two requests is their difference, shared out; read only as far as it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.measure.increments import Increments


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
