"""Relevance: texts ranked by what they say of some terms, by SQLite's FTS5 (BM25, a stemmer), in memory.

Used by `search/about.py`. Nothing is written: an index is made for one question and gone with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from math import log

from ctxkit.core.derive.topic import TopicTerm, spaced, weight

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
"""Words of any script, accents aside; English ones by their stem. Marks belong to the letter that they stand on."""
HELD = 16 << 20
"""Bytes of words that are held before they are put in order: fewer rounds of that are half the time."""
LEAST = 1e-6
"""The weight that FTS5 gives a term that half of the texts have, or more."""


def ranked(texts: Iterable[str], terms: Sequence[TopicTerm]) -> dict[int, float]:
    """Place of each text that has any of the terms -> its score: the sum over the terms it has.

    One pass over the texts. A term's score is FTS5's, but for how rare the term is: see `topic.weight`.
    """
    scores: dict[int, float] = {}
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        quoted = TOKENIZER.replace("'", "''")
        db.execute(f"CREATE VIRTUAL TABLE said USING fts5(words, content='', tokenize='{quoted}')")
        db.execute("INSERT INTO said (said, rank) VALUES ('hashsize', ?)", (HELD,))
        db.execute("BEGIN")
        count = 0
        for text in texts:
            db.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (count, _storable(spaced(text))))
            count += 1
        db.execute("COMMIT")
        for term in terms:
            found = db.execute("SELECT rowid, bm25(said) FROM said WHERE said MATCH ?", (_match(term),)).fetchall()
            if not found:
                continue
            theirs = log((count - len(found) + 0.5) / (len(found) + 0.5))
            factor = weight(count, len(found)) / (theirs if theirs > 0 else LEAST)
            for place, score in found:
                scores[place] = scores.get(place, 0.0) - score * factor
    return scores


def _match(term: TopicTerm) -> str:
    """The term as FTS5 takes it: a string, in which nothing is syntax."""
    text = _storable(term.words).replace('"', '""')
    return f'"{text}" *' if term.start else f'"{text}"'


def _storable(text: str) -> str:
    """SQLite takes no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
