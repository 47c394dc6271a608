"""The scan: where traces stand in the bytes of a log, in one piece or many, and when reading may end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxkit.core.text.search_pattern import Trace
from ctxkit.errors import CtxkitError, NothingMatched, ReadFailed
from ctxkit.store import scan as scanning
from ctxkit.store.scan import Scan
from ctxkit.store.source import Source, open_log


def found(scan: Scan, source: Source) -> list[tuple[int, int]]:
    """The stretches, sorted."""
    scan.start(source)
    return sorted(set(scan.stretches()))


@pytest.mark.parametrize(
    ("text", "traces", "expected"),
    [
        (b"a x\nb\nx", [Trace(b"x")], [(2, 3), (6, 7)]),
        (b"x x\nX", [Trace(b"x")], [(0, 3)]),
        (b"nothing", [Trace(b"x")], []),
        (b"\\u0041\n\\u0099", [Trace(b"\\u00", re.compile(rb"\\u004"))], [(0, 6)]),
        (b"ab\n12", [Trace(b"", re.compile(rb"\d"))], [(3, 5)]),
        (b"x\ny", [Trace(b"x"), Trace(b"y")], [(0, 1), (2, 3)]),
    ],
)
def test_stretches(text: bytes, traces: list[Trace], expected: list[tuple[int, int]]) -> None:
    """From a trace to the end of its line."""
    assert found(Scan(traces), Source("log", text)) == expected


def test_case() -> None:
    """Where it is ignored, the bytes are compared in lower case."""
    assert found(Scan([Trace(b"x")], fold=True), Source("log", b"a\nX")) == [(2, 3)]


def test_everywhere() -> None:
    """Without a trace nothing is known of any record."""
    assert Scan([]).everywhere and not Scan([Trace(b"x")]).everywhere


@pytest.mark.parametrize("large", [1, 1 << 30])
def test_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, large: int) -> None:
    """What stands across the border of two pieces is found; beside the reading as well as before it."""
    monkeypatch.setattr(scanning, "PIECE", 7)
    monkeypatch.setattr(scanning, "LARGE", large)
    path = tmp_path / "log"
    for at in range(40):
        path.write_bytes(b"." * at + b"needle" + b"." * 40)
        with open_log(path) as source:
            assert {low for low, _ in found(Scan([Trace(b"needle")]), source)} == {at}


def test_the_two_ways_to_find_agree() -> None:
    """The C library's and our own."""
    fast = scanning._fast_find()
    for start in range(12):
        for literal in (b"b", b"ba", b"abab", b"zz"):
            for end in (4, 10):
                place = fast(bytearray(b"abab\0ababa"), literal, min(start, end), end)
                assert place == b"abab\0ababa".find(literal, min(start, end), end)


def test_reading_ends_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only behind the first bytes, and only where it was agreed."""
    monkeypatch.setattr(scanning, "LARGE", 1)
    source = Source("log", b"a\n" * 10)
    scan = Scan([Trace(b"x")])
    scan.start(source)
    assert scan.stretches() == []
    source.read(0, 5)
    with pytest.raises(NothingMatched):
        source.read(scanning.READ_ALL, 5)
    other = Source("log", b"a\n" * 10)
    Scan([Trace(b"x")]).start(other, early=False)
    other.read(scanning.READ_ALL, 5)


def test_it_found_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all is read."""
    monkeypatch.setattr(scanning, "LARGE", 1)
    source = Source("log", b"a\n" * 10)
    scan = Scan([Trace(b"a")])
    scan.start(source)
    scan.stretches()
    source.read(scanning.READ_ALL, 5)


def test_utf_16_is_never_passed_over() -> None:
    """Nothing that is looked for is spelled like that."""
    assert found(Scan([Trace(b"zz")]), Source("log", b"\xff\xfea\0")) != []


def test_a_failure_is_told() -> None:
    """Whoever asks for what was found is told why it is not known."""

    class Broken(Source):
        def read(self, offset: int, size: int) -> bytes:
            raise ReadFailed("broken")

    scan = Scan([Trace(b"x")])
    scan.start(Broken("log", b"abc"))
    with pytest.raises(CtxkitError, match="broken"):
        scan.stretches()
