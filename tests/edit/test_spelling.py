"""Spelling: texts as lines that every editor shows and keeps."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given

from ctxkit.edit.spelling import OWN, line, read, spelled, word
from tests.edit.blocks import TEXTS


@given(TEXTS)
def test_there_and_back(text: str) -> None:
    """Whatever a text holds."""
    assert read(spelled(text)) == read(line(text)) == read(word(text)) == text


@given(TEXTS)
def test_editors_keep_it(text: str) -> None:
    """Nothing unseen, no line of the draft's own, no blank line at an end; one line, one word where these are asked."""
    lines = spelled(text).split("\n")
    assert not any(OWN.match(one) for one in lines) and lines[0] and lines[-1]
    assert not [c for c in spelled(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t"]
    assert "\n" not in line(text)
    assert word(text) and not set(word(text)) & set(" \t()") and len(word(text).split()) == 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# a heading\n#%% mine", "# a heading\n\\u{}#%% mine"), ("", "\\u{}"), ("\n", "\\u{}\n\\u{}"),
        ("a\n", "a\n\\u{}"),
        ("\x1b[0m", "\\u{1b}[0m"), ("\\u{41}", "\\u{5c}u{41}"), ("50 %% of it", "50 %% of it"), ("a\\b", "a\\b"),
    ],
)  # fmt: skip
def test_how(text: str, lines: str) -> None:
    """Only what has to be is spelled."""
    assert spelled(text) == lines


@pytest.mark.one_in(4)
@pytest.mark.parametrize("one", ["a", " ", "\\", "\\u{", "%", "#", "\n", "\x00", "\u202e", "%%\n", "\\u{}"])
def test_a_megabyte_is_nothing(one: str) -> None:
    """Linear in its size, whatever it is made of: a guard against hanging, no measure."""
    text = one * ((1 << 20) // len(one))
    start = time.monotonic()
    assert read(spelled(text)) == text
    assert time.monotonic() - start < 20
