"""A spool gives back what it was given, as often as it is asked, wherever it keeps it."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from ctxkit.errors import WriteFailed
from ctxkit.store import spool
from ctxkit.store.spool import Spool, Spooled


@pytest.mark.parametrize("room", [1, 1 << 20])
@pytest.mark.parametrize(
    ("places", "expected"),
    [((), b"ab\ncd\ne"), ((0, 3, 7), b"XXab\nXXcd\neXX"), ((2,), b"abXX\ncd\ne")],
)
def test_it_gives_back_what_it_was_given(
    monkeypatch: pytest.MonkeyPatch, places: Sequence[int], expected: bytes, room: int
) -> None:
    """In memory and in a file, with what came late in between, as often as that is asked."""
    monkeypatch.setattr(spool, "IN_MEMORY", room)
    monkeypatch.setattr(spool, "CHUNK", 2)
    made = Spool([b"ab\nc", b"d\ne"])
    made.put_in(places, b"XX")
    for _ in range(2):
        assert b"".join(made.pieces()) == expected
        assert list(made.lines()) == expected.split(b"\n")
    assert made.size == 7


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an error of its own, and nothing was written."""
    made = Spool()

    def full(_: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(made.stream, "write", full)
    with pytest.raises(WriteFailed, match="cannot keep the result in a temporary file: no space left on device"):
        made.write(b"a")


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_values_are_read_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """In order, by place, and while others are being read."""
    monkeypatch.setattr(spool, "IN_MEMORY", room)
    monkeypatch.setattr(spool, "CHUNK", 5)
    values = [{"a": "x" * n, "b": "\ud800\n"} for n in range(4)]
    made = Spooled(iter(values), dict)
    assert [(one, made[place], made[place - 4]) for place, one in enumerate(made)] == [(v, v, v) for v in values]
    assert (len(made), made[1:3], list(reversed(made))) == (4, values[1:3], values[::-1])
    assert made == values and made != values[1:] and made != [*values[1:], {}] and not Spooled([], dict)
    with pytest.raises(IndexError):
        made[4]
