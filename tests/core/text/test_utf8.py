"""Text as bytes, whatever it holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.utf8 import exact, is_sound, sound, utf8

ANY = st.text(st.characters() | st.characters(categories=["Cs"]))


@given(ANY, ANY)
def test_bytes_of_any_text(one: str, other: str) -> None:
    """No text is refused; sound text keeps its bytes; other text has other exact bytes."""
    assert utf8(one).decode() == one if is_sound(one) else "?" in utf8(one).decode()
    assert (exact(one) == exact(other)) == (one == other)
    assert is_sound(sound(one))
    assert sound(one) == one or not is_sound(one)


def test_halves() -> None:
    """A pair in two halves is one character; a lone half is none."""
    assert sound("\ud83d\ude00 \ud800") == "\U0001f600 \ufffd"
    assert utf8("a\ud800") == b"a?"
