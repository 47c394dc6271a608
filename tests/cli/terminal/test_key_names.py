"""What a terminal sends, as keys."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal.key_names import keys


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []), (b"ab", ["a", "b"]), (b"\r", ["enter"]), (b"\n", ["enter"]), (b"\x1b", ["escape"]),
        (b"\x1b[A\x1b[B", ["up", "down"]), (b"\x1bOA", ["up"]), (b"\x1b[5~\x1b[6~", ["page up", "page down"]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~", ["home", "end", "home", "end"]), (b"\x03", ["break"]), (b"\x7f", ["backspace"]),
        (b"\x10\x0e", ["up", "down"]), (b"\x15\x17", ["clear", "word"]), (b"\x1b[200~x\x1b[201~", ["x"]),
        (b"\x1b[1;5C", []), (b"\x1bx", []), (b"\x1b\x1b[A", ["up"]), (b"\x00\x02", []),
        ("é漢🙂".encode(), ["é", "漢", "🙂"]),
        (b"\xff\xc3", []), (b"\xc3(", []), ("\u202e\x9b".encode(), []), (b"\x1b[" + b"1" * 80, ["escape"]),
        (b" ", [" "]),
    ],
)  # fmt: skip
def test_keys(data: bytes, expected: list[str]) -> None:
    """Names, characters, and nothing for what is unknown or cannot be seen."""
    found, left = keys(data, more=False)
    assert (found, left) == (expected, b"")


@pytest.mark.parametrize("data", ["\x1b[A", "é", "🙂", "\x1b[5~", "\x1bOB", "a\x1b[Bb"])
def test_in_pieces(data: str) -> None:
    """However the bytes come."""
    raw = data.encode()
    whole = keys(raw, more=False)[0]
    for cut in range(1, len(raw)):
        first, left = keys(raw[:cut], more=True)
        second, rest = keys(left + raw[cut:], more=False)
        assert first + second == whole and rest == b""


def test_a_long_sequence_is_none() -> None:
    """Nothing is held for ever."""
    assert keys(b"\x1b[" + b"1" * 80, more=True) == (["escape"], b"")
