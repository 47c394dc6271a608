"""fastokens is used where it is installed, and done without where it is not."""

from __future__ import annotations

import sys

import pytest

from ctxkit.tokens import fast
from ctxkit.tokens.encodings import Encoding


def test_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """None."""
    monkeypatch.setitem(sys.modules, "fastokens", None)
    assert fast.reader("o200k_base") is None


def test_equal() -> None:
    """What it counts is what tiktoken counts."""
    pytest.importorskip("fastokens")
    texts = ["def f(x):\n    return x  # comment", "Ünïcode — dash", "<|endoftext|>", "\t\t  \n\n\n", "1234567890"]
    count = fast.reader("cl100k_base")
    assert count is not None and count(texts) == Encoding("cl100k_base").counts(texts)
