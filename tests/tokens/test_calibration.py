"""Calibration: sessions whose tokens are known teach their factor; what is odd teaches nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens.calibration import LEAST, MOST, Calibration, CountedRequest, calibrate

SIZES = st.lists(st.tuples(st.integers(1, 2000), st.integers(0, 9000)), min_size=30, max_size=80)


def session(
    sizes: list[tuple[int, int]], factor: float, start: int = 20_000, partial: bool = False
) -> list[CountedRequest]:
    """Steps whose messages come to exactly `factor` tokens for one of the base."""
    steps, size = [], float(start)
    for own, since in sizes:
        reply = 1 if partial else round(own * factor)
        steps.append(CountedRequest(round(size), reply, own, since))
        size += (own + since) * factor
    return steps


@pytest.mark.parametrize("partial", [False, True])
@given(sizes=SIZES, factor=st.floats(1.0, 2.0))
def test_a_session_teaches_its_factor(partial: bool, sizes: list[tuple[int, int]], factor: float) -> None:
    """The next request is told to a few tokens in a hundred of what came, also where replies were recorded half."""
    steps = session(sizes, factor, partial=partial)
    found = calibrate([steps[:-1]], 1.5)
    came = steps[-1].request - steps[-2].request
    assert abs(found.next(steps[-2]) - steps[-1].request) <= 0.5 * came + 2
    assert found.error is not None and found.error < 0.2


def test_without_steps_the_family_counts() -> None:
    """And no error is known."""
    assert calibrate([], 1.6) == Calibration(1.6, 1.6, None)
    assert calibrate([[CountedRequest(100, 5, 4, 3)]], 1.6).inwards == 1.6


def test_a_whole_reply_is_taken_as_recorded() -> None:
    """Hidden thinking included; one that was recorded while it streamed is told by its words."""
    calibration = Calibration(1.5, 2.0)
    assert calibration.after(CountedRequest(1000, 400, 100, 0)) == 1400
    assert calibration.after(CountedRequest(1000, 3, 100, 0)) == 1200
    assert calibration.next(CountedRequest(1000, 400, 100, 10)) == 1415


def test_what_left_the_context_teaches_nothing() -> None:
    """A smaller request follows a compaction of which nobody told; a jump has another cause."""
    grown = session([(100, 1000)] * 40, 1.5)
    odd = [*grown[:20], CountedRequest(500, 150, 100, 1000), *grown[20:], CountedRequest(900_000, 150, 100, 1000)]
    assert calibrate([odd], 1.5).inwards == pytest.approx(calibrate([grown], 1.5).inwards, rel=0.05)


@given(st.lists(st.builds(CountedRequest, *[st.integers(0, 10**6)] * 4), max_size=70), st.floats(1.0, 2.0))
def test_bounded(steps: list[CountedRequest], factor: float) -> None:
    """Whatever a log says."""
    found = calibrate([steps], factor)
    assert LEAST * factor <= found.inwards <= MOST * factor and found.outwards >= factor
