"""Ranks texts by their relevance to some terms, with SQLite's FTS5 (BM25, a stemmer), in memory.

Used by `search/about.py` and `search/across.py`. Nothing is written: an index is made for one query and then dropped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from math import log

from ctxkit.core.derive.topic import TopicTerm, spaced, weight
from ctxkit.core.text.utf8 import sound

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
"""Words of any script without accents, English ones as their stem. Combining marks belong to their letter."""
HELD = 16 << 20
"""Bytes of words that are collected before they are sorted: with fewer rounds it takes half the time."""
LEAST = 1e-6
"""The weight that FTS5 gives a term that is in half of the texts or more."""


class TextRanking:
    """Ranks texts that are added one by one. A context manager: its index is dropped at the end."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        quoted = TOKENIZER.replace("'", "''")
        self._db.execute(f"CREATE VIRTUAL TABLE said USING fts5(words, content='', tokenize='{quoted}')")
        self._db.execute("INSERT INTO said (said, rank) VALUES ('hashsize', ?)", (HELD,))
        self._db.execute("BEGIN")
        self.count = 0
        """How many texts were added."""

    def __enter__(self) -> TextRanking:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, text: str) -> int:
        """Add a text; returns its place, from 0."""
        self._db.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (self.count, sound(spaced(text))))
        self.count += 1
        return self.count - 1

    def scores(self, terms: Sequence[TopicTerm]) -> dict[int, float]:
        """Place of each text with any of the terms -> its score: the sum over the terms in it.

        A term's score is FTS5's, but with another weight for how rare the term is: `topic.weight`.
        """
        scores: dict[int, float] = {}
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        for term in terms:
            query = "SELECT rowid, bm25(said) FROM said WHERE said MATCH ?"
            found = self._db.execute(query, (_match(term),)).fetchall()
            if not found:
                continue
            rarity = log((self.count - len(found) + 0.5) / (len(found) + 0.5))  # as FTS5 weights the term
            factor = weight(self.count, len(found)) / (rarity if rarity > 0 else LEAST)
            for place, score in found:
                scores[place] = scores.get(place, 0.0) - score * factor
        return scores


def ranked(texts: Iterable[str], terms: Sequence[TopicTerm]) -> dict[int, float]:
    """Place of each text with any of the terms -> its score, as `TextRanking.scores`. One pass over the texts."""
    with TextRanking() as ranking:
        for text in texts:
            ranking.add(text)
        return ranking.scores(terms)


def _match(term: TopicTerm) -> str:
    """The term as a string of FTS5's query syntax."""
    text = sound(term.words).replace('"', '""')
    return f'"{text}" *' if term.start else f'"{text}"'
