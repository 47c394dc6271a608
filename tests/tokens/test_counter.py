"""The counter names what it counts by, and falls back where ranks are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxkit.errors import Usage
from ctxkit.tokens import counter as module
from ctxkit.tokens import encodings, ranks, word_shapes
from ctxkit.tokens.counter import Counter, CounterAtHand, OwnCounter, counter


@pytest.mark.parametrize(
    ("asked", "model", "name", "exact"),
    [
        ("auto", "gpt-5.5", "o200k_base", True),
        ("auto", "gpt-4-0613", "cl100k_base", True),
        ("auto", "claude-opus-5", "estimate for claude-5, o200k_base × 1.7", False),
        ("auto", "claude-opus-4-5-20251101", "estimate for claude, o200k_base × 1.3", False),
        ("auto", "", "estimate for unknown model, o200k_base × 1.25", False),
        ("cl100k_base", "claude-opus-5", "cl100k_base", True),
        ("pieces", "gpt-5", "estimate, pieces", False),
    ],
)
def test_name(asked: str, model: str, name: str, exact: bool) -> None:
    """The name is the encoding where it is the model's own or was asked for, else it says estimate."""
    found = counter(asked, model)
    assert (found.name, found.plain) == (name, exact)


def test_an_encoding_counts_as_tiktoken_does() -> None:
    """And a factor is put on its tokens, rounded up."""
    assert counter("auto", "gpt-5").counts(["hello world", ""]) == [2, 0]
    estimate = counter("auto", "claude-opus-5")
    assert [estimate.tokens(n) for n in (0, 1, 2, 10)] == [0, 2, 4, 17]


def test_without_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces count, and the name says so; a family is raised by what pieces may be off."""
    monkeypatch.setattr("ctxkit.tokens.counter.carried", lambda name: False)
    assert counter("auto", "gpt-5").name == "estimate for gpt-5, pieces × 1.1"
    assert counter("o200k_base", "gpt-5").name == "estimate, pieces"
    assert counter("auto", "gpt-5").counts(["hello world"]) == word_shapes.counts(["hello world"])


def test_damaged_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not have the published hash is not used; the name changes with what counted."""
    encodings.encoding.cache_clear()
    found = Counter("o200k_base")
    monkeypatch.setattr(ranks, "_files", lambda name, url: iter(()))
    assert found.name == "o200k_base"
    assert found.counts(["hello world"]) == [2]
    assert (found.name, found.plain) == ("estimate, pieces", False)


def test_texts_together_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their counts are those of these texts in this order, cut as they are, by this base; rough ones are not cached."""
    texts = ["hello world", "", "漢字 and code()", "lone \ud800"]
    expected = Counter("o200k_base").counts(texts)

    def cached(kind: type[Counter] = Counter) -> Counter:
        found = Counter("o200k_base") if kind is Counter else CounterAtHand(Counter("o200k_base"))
        found.cache_folder = tmp_path
        return found

    assert cached(CounterAtHand).counts(texts) == word_shapes.counts(texts)
    assert cached().counts(texts) == expected
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(Counter, "anew", lambda _, some: asked.append(some) or [7] * len(some))
    found = cached(CounterAtHand)
    assert cached().counts(texts) == expected == found.counts(texts) and not asked and not found.rough
    for other in (texts[::-1], texts[:2], ["hello", " world", *texts[1:]], ["".join(texts)]):
        assert cached().counts(other) == [7] * len(other) and asked.pop() == other
    assert cached().counts([]) == []


def test_own_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts each text once, as long as it remembers it; its counts are used as they are."""
    asked: list[str] = []

    def words(text: str) -> int:
        asked.append(text)
        return len(text.split())

    own = OwnCounter(words)
    assert own.counts(["a b", "c", "a b"]) == [2, 1, 2] and asked == ["a b", "c"]
    assert (own.name, own.factor, own.plain, own.tokens(3)) == ("words", 1.0, False, 3)
    monkeypatch.setattr(module, "REMEMBERED", 3)
    assert own.counts(["d", "e", "f", "a b"]) == [1, 1, 1, 2] and asked[2:] == ["d", "e", "f", "a b"]
    for wrong in (lambda text: True, lambda text: -1, lambda text: 1.5):
        with pytest.raises(Usage, match="for a text of 1 characters"):
            OwnCounter(wrong).counts(["x"])  # type: ignore[arg-type]
    with pytest.raises(Usage, match="no counter"):
        OwnCounter("o200k_base")  # type: ignore[arg-type]
