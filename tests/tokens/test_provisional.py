"""The provisional counter says what it is."""

from __future__ import annotations

from ctxkit.tokens import provisional


def test_bytes_by_four() -> None:
    """Bytes, not characters; what cannot be encoded does not end the count."""
    assert provisional.count("abcdefgh") == 2
    assert provisional.count("日本語日") == 3
    assert provisional.count("\ud800abc") == 1
    assert "provisional" in provisional.NAME
