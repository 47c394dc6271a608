"""Turns, added up, are what the context shows beside its program's own; tokens: `tests/measure/test_timeline.py`."""

from __future__ import annotations

import io
from collections import Counter

import pytest

from ctxkit.api.log import Log
from ctxkit.core.compare.before_after import ContextOverTime
from ctxkit.core.item_names import Name
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.transcript import ProgramCut
from tests.core.test_walk import cut_short, written


@pytest.mark.parametrize("seed", range(40))
def test_turns_add_up(seed: int) -> None:
    """After each of them."""
    log = Log.open(io.BytesIO(cut_short(seed) if seed % 2 else written(seed, 25)), env={})
    log.force = True
    path = sorted(log.state().order)
    contrast = ContextOverTime(log.state(), path, None, windows=True)
    beside, wrote, held = Counter[int](), dict[Name, object](), Ranges.of(path)
    screened = contrast.screened
    for turn in contrast:
        there = Ranges.of(path[: turn.place])
        beside.update(n for some in turn.more for n in some)
        beside.subtract(n for some in turn.less for n in some)
        for name in turn.unwrote:
            del wrote[name]
        for one in turn.wrote:
            assert one.name not in wrote
            wrote[one.name] = one.stub
        if isinstance(turn.what, ProgramCut):
            left = held - (Ranges.of(turn.what.out) & there)
            assert turn.out is not None and (turn.left if turn.left is not None else left) & there == left & there
            assert turn.left is not None or turn.out == held - left
            held = left
        state = contrast.walk.state
        shown, stubs = state.shown(), state.board.stubs
        in_words = {name: stubs.get(name) for name in [*shown.items, *(n for n in stubs if isinstance(n, int))]}
        assert wrote == {name: stub for name, stub in in_words.items() if name in shown}
        expected = {n: (n in shown) - (n in held) - (n in wrote) for n in there}
        assert {n: beside[n] for n in there} == expected
        assert not turn.screened & turn.open
        screened = (screened | turn.screened) - turn.open
        guarded = state.steps.close(state.board.protected).numbers | Ranges.span(1, state.preamble)
        assert screened == Ranges.of(n for n in path if n not in shown or n in guarded)
