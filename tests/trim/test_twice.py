"""A trim after a trim, on random logs: what one trim to the smaller budget reaches, two in a row reach too."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.errors import DoesNotFit, NothingChanges
from tests.cli.runner import lines
from tests.trim.test_trim import opened, size, step

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


@example(raw=LONG_FIRST, first=64, second=38, compacted=False)
@example(raw=LONG_FIRST + lines({"role": "user", "content": said("ask", 200)}), first=50, second=60, compacted=True)
@given(raw=logs(), first=SHARES, second=SHARES, compacted=st.booleans())
def test_two_trims_reach_what_one_reaches(raw: bytes, first: int, second: int, *, compacted: bool) -> None:
    """The same budget is met, and its room is used. What was shortened is shortened further, as the original is."""
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
    assert cut(log, smaller) == cut(once, smaller)
    if size(once) <= smaller:
        assert size(log) <= smaller
        large = [note for note in log.notes if "are not used" in note]
        assert size(log) >= min(0.9 * smaller, size(once)) or large, (size(log), size(once), smaller)
    for name in log.names():
        if isinstance(name, int):
            assert len(MARK.findall(log.text(name))) <= 1
