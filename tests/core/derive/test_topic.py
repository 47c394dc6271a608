"""Topics: which terms a text has, and what is cut off."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.topic import LONGEST, TOP, TopicTerm, cut, spaced, terms, traces, weight
from ctxkit.errors import Usage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("database schema", ["database", "schema"]),
        ("Everything about the Database", ["database"]),
        ("What did we discuss about the port?", ["port"]),
        ("what\u2019s the schema's name, and why didn't we've said it", ["schema", "name"]),
        ("the about", ["the", "about"]),  # nothing else: they count
        ("schema, schema SCHEMA", ["schema"]),
        ("max_tokens", ["max tokens", "max", "tokens"]),
        ("store/words.py!", ["store words py", "store", "words", "py"]),
        ('"NEAR(a', ["near a", "near"]),  # `a` alone says nothing
        ("x* OR -y ^z", ["x", "y", "z"]),
        ("v1.2", ["v1 2", "v1", "2"]),
        ("数据库", ["数据", "据库"]),
        ("用 FTS5 索引", ["用*", "fts5", "索引"]),
        ("FTS5索引表", ["fts5", "索引", "引表"]),
        ("데이터", ["데이", "이터"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    """Words, each once; what is written as one also as one; pairs where there are no blanks."""
    assert [term.words + "*" * term.start for term in terms(text)] == expected


@pytest.mark.parametrize(("text", "said"), [("", "no words"), ("?! --", "no words"), ("x" * (LONGEST + 1), "at most")])
def test_what_is_no_topic(text: str, said: str) -> None:
    """Nothing to rank by, or a whole text."""
    with pytest.raises(Usage, match=said):
        terms(text)


def test_spaced() -> None:
    """In pairs, the last character alone, so that each begins something; other scripts as they are."""
    assert spaced("use 数据库 here").split() == ["use", "数据", "据库", "库", "here"]
    assert spaced("a库b").split() == ["a", "库", "b"]
    assert spaced("café x") == "café x"


@given(st.text(max_size=30))
def test_a_text_is_words_whatever_it_is(text: str) -> None:
    """No term holds anything but letters, digits, marks and blanks."""
    try:
        found = terms(text)
    except Usage:
        return
    assert found
    for term in found:
        assert '"' not in term.words
        assert term.words.split(" ") == [word for word in term.words.split(" ") if word]


@pytest.mark.parametrize(
    ("topic", "text", "expected"),
    [
        ("migrations", "They migrated it", ["migrated"]), ("user", "getuser USER my_user", ["USER", "user"]),
        ("max_tokens", "max_tokens", ["max", "tokens"]), ("数据", "我们的数据库", ["数据"]),
        ("zebra", "no such\nanimal", [""]), ("a.b*", "xab", [""]),
    ],
)  # fmt: skip
def test_traces(topic: str, text: str, expected: list[str]) -> None:
    """Where the words stand; the beginning of a text without any."""
    assert [match[0] for match in re.finditer(traces(topic), text)] == expected


def test_cut() -> None:
    """Above half of the best, at most so many, equal ones in order."""
    scores = {1: 4.0, 2: 2.0, 3: 2.1, 4: 8.0 / 2, 5: 3.0}
    assert cut(scores, None) == {1: 100, 4: 100, 5: 75, 3: 52}
    assert cut(scores, 2) == {1: 100, 4: 100}
    assert cut({}, None) == {}
    assert len(cut(dict.fromkeys(range(50), 1.0), None)) == TOP
    assert TopicTerm("x") == TopicTerm("x", start=False)


def test_weight() -> None:
    """The rarer the heavier, and never nothing."""
    found = [weight(10, having) for having in range(1, 11)]
    assert found == sorted(found, reverse=True) and found[-1] > 0
