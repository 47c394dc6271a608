"""Decisions and open work by their place, in five languages."""

from __future__ import annotations

import pytest

from tests.bench.compaction.languages import LANGUAGES, session, shares


@pytest.mark.parametrize("name", LANGUAGES)
def test_kept_in_any_language(name: str) -> None:
    """At a quarter of the tokens nearly all; at a tenth more than half."""
    assert min(shares(LANGUAGES[name], 25)) >= 0.9
    assert min(shares(LANGUAGES[name], 10)) >= 0.5


def test_no_word_of_english_tells_them() -> None:
    """What is planted has no word by which decisions and open work are known."""
    from ctxkit.cut.rank.facts import DECIDES, PENDS

    texts = [text for said in LANGUAGES.values() for text in (*said.decisions, *said.open)]
    assert not any(DECIDES.search(text) or PENDS.search(text) for text in texts)
    assert all(len(list(session(said))) == len(list(session(LANGUAGES["English"]))) for said in LANGUAGES.values())
