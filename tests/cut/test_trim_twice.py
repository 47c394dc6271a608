"""A trim after a trim, on random logs: what one trim to the smaller budget reaches, two in a row reach too."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.errors import DoesNotFit, NothingChanges
from tests.cli.runner import lines
from tests.cut.test_trim import opened, size, step
from tests.effort import examples

WORDS = st.integers(1, 60) | st.integers(60, 1500)
LONG = st.integers(1500, 5000)
SHARES = st.integers(5, 98)
MARK = re.compile(r"characters were cut here\]")


def said(key: str, words: int) -> str:
    """So many words, each different, in lines."""
    return "".join(f"{key}{n}{' ' if n % 8 else '.' + chr(10)}" for n in range(words))


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """A first message of any length, then steps, answers, questions."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": said("first", draw(WORDS | LONG))}]
    for n in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from("urwa"))
        if kind == "u":
            rows.append({"role": "user", "content": said(f"ask{n}x", draw(WORDS))})
        elif kind == "a":
            rows.append({"role": "assistant", "content": said(f"tell{n}x", draw(WORDS))})
        elif kind == "r":
            rows += step(n, "Read", {"file_path": f"{n % 3}.py"}, said(f"read{n}x", draw(WORDS)))
        else:
            rows += step(n, "Write", {"file_path": f"{n % 3}.py", "content": said(f"put{n}x", draw(WORDS))}, "ok")
    return lines(*rows, {"role": "user", "content": "And now?"})


def cut(log: Log, budget: int) -> bool:
    """Trims it; returns whether it fits."""
    try:
        log.trim(budget)
    except DoesNotFit:
        return False
    return True


LONG_FIRST = lines({"role": "user", "content": said("first", 4500)}, {"role": "user", "content": "And now?"})


LEAST = 200
"""The most tokens of the least part of anything: a step with the marks of what was cut, a line of a summary."""


def free(log: Log, budget: int) -> int:
    """The tokens that a trim left free. What is more than a tenth is said, with what it could not hold."""
    left = budget - size(log)
    assert left <= max(0.1 * budget, LEAST), (size(log), budget)
    assert left <= 0.1 * budget or "it fits" in log.said or any("are not used" in note for note in log.notes)
    return left


@example(raw=LONG_FIRST, first=64, second=38, compacted=False)
@example(raw=LONG_FIRST + lines({"role": "user", "content": said("ask", 200)}), first=50, second=60, compacted=True)
@settings(max_examples=examples(400))
@given(raw=logs(), first=SHARES, second=SHARES, compacted=st.booleans())
def test_two_trims_reach_what_one_reaches(raw: bytes, first: int, second: int, *, compacted: bool) -> None:
    """The same budget is met, and its room is used: but for a tenth, or for less than the least part of what left. What
    was shortened is shortened further, as the original is.
    """
    log, once = opened(raw), opened(raw)
    for one in (log, once) if compacted else ():
        try:
            one.compact(target=60)
        except NothingChanges:
            return
    budget = size(log) * first // 100
    smaller = budget * second // 100
    if not cut(log, budget):
        return
    free(log, budget)
    assert cut(log, smaller) == cut(once, smaller)
    if size(once) <= smaller:
        assert size(log) <= smaller
        assert free(log, smaller) <= LEAST or size(log) >= 0.95 * size(once), (size(log), size(once), smaller)
    for name in log.names():
        if isinstance(name, int):
            assert len(MARK.findall(log.text(name))) <= 1
