"""Lines that hold some bytes, the newest first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.store import backwards
from ctxkit.store.backwards import Backwards
from ctxkit.store.source import Source, open_log


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []), (b"ab", [b"ab"]), (b"x\nab\ny", [b"ab"]), (b"1ab\n2\n3ab\n", [b"3ab", b"1ab"]),
        (b"ab ab ab\nab", [b"ab", b"ab ab ab"]), (b"a\nb\n", []), (b"\n\nab\n\n", [b"ab"]), (b"bab\n", [b"bab"]),
    ],
)  # fmt: skip
def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, text: bytes, expected: list[bytes]) -> None:
    """Each once, wherever a piece ends."""
    monkeypatch.setattr(backwards, "PIECE", piece)
    path = tmp_path / "log"
    path.write_bytes(text)
    with open_log(path) as source:
        assert list(Backwards(source).holding(b"ab")) == expected
    assert list(Backwards(Source("memory", text)).holding(b"ab")) == expected


def test_long_lines_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called something says so in a short line."""
    monkeypatch.setattr(backwards, "PIECE", 16)
    monkeypatch.setattr(backwards, "LONGEST", 8)
    text = b"ab\n" + b"ab" * 40 + b"\nxab\n"
    assert list(Backwards(Source("log", text)).holding(b"ab")) == [b"xab", b"ab"]
