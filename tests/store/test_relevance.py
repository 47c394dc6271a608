"""Relevance: which texts have the words of another, and which of them more so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.topic import terms
from ctxkit.errors import Usage
from ctxkit.store.relevance import ranked


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("migration", "they MIGRATED it"),
        ("migrating", "a migration"),
        ("cafe", "the Café"),
        ("café", "the cafe"),
        ("café", "the cafe\u0301"),
        ("max_tokens", "maxTokens or max_tokens"),
        ("数据", "我们的数据库"),
        ("库", "我们的数据库"),
        ("데이터", "데이터베이스를"),
        ("ฐานข้อมูล", "เกี่ยวกับฐานข้อมูล"),
        ("हिन्दी", "यह हिन्दी है"),
        ("a b", "x\0b"),
        ("\ud800word", "a word \udfff"),
        ("not near or and", "NEAR by"),
        ('"quoted"', 'a "quoted" one'),
        ("col:word", "word"),
    ],
)
def test_found(topic: str, text: str) -> None:
    """By the stem, without accents and case, in any script; nothing of it is syntax."""
    assert ranked([text, "zzz", "yyy"], terms(topic)).keys() == {0}


@pytest.mark.parametrize(("topic", "text"), [("rule", "ruler"), ("据我", "我们的数据库"), ("हि", "हिन्दी")])
def test_not_found(topic: str, text: str) -> None:
    """A word within a word is another word."""
    assert ranked([text, "zzz"], terms(topic)) == {}


def test_order() -> None:
    """More of the words, the rarer ones, more often, in fewer words around."""
    texts = [
        "the schema of the database", "the database", "a schema " + "and more words " * 50, "nothing", "the database",
        "schema schema", "database",
    ]  # fmt: skip
    found = ranked(texts, terms("database schema"))
    assert sorted(found, key=lambda place: -found[place])[:2] == [0, 5]
    assert found[1] == found[4] < found[6]
    assert 3 not in found and min(found.values()) > 0


def test_a_word_that_all_have_counts() -> None:
    """FTS5 by itself takes it for nothing, and two words of a short log for one."""
    found = ranked(["schema database", "schema", "schema"], terms("schema database"))
    assert found[0] > found[1] > 0.1


@given(st.lists(st.text(max_size=8), max_size=4), st.text(max_size=12))
def test_whatever_the_texts(texts: list[str], topic: str) -> None:
    """Never an error of SQLite's."""
    try:
        sought = terms(topic)
    except Usage:
        return
    assert all(score > 0 for score in ranked([*texts, topic], sought).values())


@given(st.text("aZé_- '\"*()^:数据库ข้हि\u0301\0", max_size=12))
def test_a_text_is_about_itself(topic: str) -> None:
    """Whatever its words are, it has them."""
    try:
        sought = terms(topic)
    except Usage:
        return
    assert 1 in ranked(["", topic], sought)


def test_more_terms_than_an_expression_takes() -> None:
    """Each is asked for by itself."""
    words = [f"word{i}" for i in range(900)]
    assert ranked([" ".join(words), "word7"], terms(" ".join(words))).keys() == {0, 1}
