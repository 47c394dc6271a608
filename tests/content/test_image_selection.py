"""Which pictures a provider refuses, and which are left out: as few as will do, the oldest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.content.image_selection import Picture, refusals, too_many
from ctxkit.core.derive.image_size import ImageLimits

LIMITS = ImageLimits("p", side=80, many=3, side_of_many=20, most=6, encoded=500, decoded=350, images=900, request=1500)


def some(*sides: int) -> list[Picture]:
    """Pictures of these sides, numbered from 1."""
    return [Picture(n, str(n), n, encoded=8, side=side) for n, side in enumerate(sides, start=1)]


@pytest.mark.parametrize(
    ("sides", "out"),
    [
        ((10, 10), ""),
        ((90, 10), "1"),
        ((10, 90, 10), "2"),
        ((30, 30, 30), ""),
        ((30, 30, 30, 30, 30), "1 2"),
        ((10, 10, 10, 30, 10), "4"),
        ((10, 10, 10, 10, 10, 10, 10, 10), "1 2"),
        ((30, 10, 10, 10, 10, 10, 10), "1"),
        ((90, 30, 30, 30, 30), "1 2"),
        ((0, 0, 0, 0), ""),
    ],
)
def test_which_are_left_out(sides: tuple[int, ...], out: str) -> None:
    """A picture that no request may hold; the oldest beyond the number; the few that are large among many."""
    assert " ".join(one.label for one in too_many(some(*sides), LIMITS)) == out


PICTURES = st.lists(
    st.builds(
        Picture, st.just(1), st.text("123", min_size=1, max_size=2), st.integers(0, 9), st.integers(0, 700),
        st.integers(0, 100), st.booleans(),
    ),
    max_size=12,
)  # fmt: skip


@given(PICTURES, st.sampled_from([LIMITS, LIMITS._replace(most=None, many=None), ImageLimits("p", most=2)]))
def test_what_is_left_is_taken(found: list[Picture], limits: ImageLimits) -> None:
    """Nothing of the rest is refused; where nothing was refused, nothing is left out; no more than must go, goes."""
    size = sum(one.encoded for one in found)
    out = too_many(found, limits, max(0, size - (limits.request or size)))
    gone = set(map(id, out))
    rest = [one for one in found if id(one) not in gone]
    assert refusals(rest, limits) == []
    assert bool(out) == bool(refusals(found, limits))
    if out and limits.images is None:
        back = next(one for one in reversed(out))
        assert refusals([one for one in found if id(one) not in gone or one is back], limits)


def test_protected_pictures_go_last() -> None:
    """A protected picture is older, and stays."""
    found = [Picture(n, str(n), 0, protected=n == 1) for n in range(1, 9)]
    assert [one.label for one in too_many(found, LIMITS)] == ["2", "3"]


def test_words() -> None:
    """Each limit that is broken is named, with the pictures that break it."""
    told = [(one.text, [picture.label for picture in one.pictures]) for one in refusals(some(90, 30, 10, 10), LIMITS)]
    assert told == [
        ("more than 80 pixels a side", ["1"]),
        ("more than 20 pixels a side, in a request with more than 3 images", ["1", "2"]),
    ]
