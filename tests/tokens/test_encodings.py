"""Encodings count what tiktoken counts, also where tiktoken itself breaks."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens import fast
from ctxkit.tokens.encodings import Encoding
from tests.shared import SHARED

MADE = {name: Encoding(name) for name in ("o200k_base", "cl100k_base")}
NAMES = sorted(MADE)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(max_size=200))
def test_any_text(name: str, text: str) -> None:
    """As tiktoken itself."""
    made = MADE[name]
    assert made.counts([text]) == [len(made._tiktoken.encode_ordinary(text))]


def test_real_texts() -> None:
    """Lines of all real transcripts: prose, code, JSON, other scripts, emoji, base64."""
    folder = SHARED / "transcripts"
    if not folder.is_dir():
        pytest.skip("the shared transcripts are not here")
    texts = []
    for path in sorted(folder.rglob("*.json*")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        texts += [line[:4000] for line in lines[:: max(1, len(lines) // 60)]]
    made = MADE["o200k_base"]
    assert made.counts(texts) == list(map(len, made._tiktoken.encode_ordinary_batch(texts, num_threads=1)))


def test_special_tokens_are_words() -> None:
    """A transcript that talks of them is not cut by them."""
    assert MADE["o200k_base"].counts(["<|endoftext|>"])[0] > 1


HOSTILE = {
    "a letter": ("a" * 10**6, 125_000),
    "spaces": (" " * 10**6, 7_813),
    "five million spaces": (" " * 5_000_000, 39_063),
    "between words": ("x" + " " * 1_500_000 + "x", 11_721),
    "before a line": (" " * 2_000_000 + "\nx", 15_627),
    "line breaks": ("\n" * 10**6, 62_500),
    "combining marks": ("e" + "\u0301" * 10**6, 1_000_001),
    "base64": (base64.b64encode(random.Random(0).randbytes(750_000)).decode(), None),
    "a lone surrogate": ("\ud800abc", 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile(what: str) -> None:
    """A megabyte of one thing neither crashes nor stalls."""
    text, expected = HOSTILE[what]
    [tokens] = MADE["o200k_base"].counts([text])
    assert tokens == expected if expected is not None else tokens > 100_000


def test_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large texts go through fastokens where it is installed; the counts are the same, in the same order."""
    pytest.importorskip("fastokens")
    made = MADE["o200k_base"]
    texts = ["one two", "", "x " * 50, "漢字 😀", "\ud800a", "  \n\n  y"]
    expected = made.counts(texts)
    asked: list[str] = []
    monkeypatch.setattr(fast, "PAYS", 1)
    monkeypatch.setattr(fast, "reader", lambda name, real=fast.reader: asked.append(name) or real(name))
    assert made.counts(texts) == expected and asked == ["o200k_base"]
