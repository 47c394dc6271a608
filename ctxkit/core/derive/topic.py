"""Topic: the words of a text that messages are ranked by, and which of the ranked are about it. Pure.

Used by `search/about.py` for `--about`; `store/relevance.py` counts the words. A text is words whatever stands in it:
nothing of it is syntax.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from math import ceil, log
from typing import NamedTuple, TypeVar

from ctxkit.errors import Usage

Key = TypeVar("Key")

TOP = 20
"""Messages that are taken at most, unless it is said."""
HALF = 0.5
"""Of the best score: what is not above it is not about the text."""
KEPT = 0.6
"""Of a word, what words with the same stem have at their beginning, mostly."""
LONGEST = 10_000
"""Characters of a text that says what messages are about."""

FUNCTION_WORDS = frozenset((
    "a", "about", "all", "also", "an", "and", "any", "anything", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "discuss", "discussed", "do", "does", "done", "everything", "for", "from", "had", "has", "have",
    "he", "here", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "mention", "mentioned", "my", "no",
    "not", "of", "on", "or", "our", "over", "said", "say", "shall", "she", "should", "so", "some", "something", "talk",
    "talked", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "told", "under", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would",
    "you", "your",
))  # fmt: skip
"""Words that say nothing of what a text is about, where it has others."""
_SHORT = re.compile(r"(?:(?<=\w)n)?['\u2019](?:s|t|re|ve|ll|d|m)(?!\w)")
"""What is short for a word of these at the end of another: what's, didn't, we've."""

_UNSPACED = "".join(
    f"{chr(low)}-{chr(high)}"
    for low, high in (
        (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x3005, 0x3007),
        (0x3040, 0x30FA), (0x30FC, 0x318F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
        (0xF900, 0xFAFF), (0xFF66, 0xFFDC), (0x20000, 0x3FFFF),
    )
)  # fmt: skip
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese, Korean: scripts that put no blank between words, or write what
other languages make words of without one."""
_RUN = re.compile(f"[{_UNSPACED}]+")


class TopicTerm(NamedTuple):
    """What is counted. `words`: one, or several that stand side by side; `start`: what begins so counts too."""

    words: str
    start: bool = False


def terms(text: str) -> list[TopicTerm]:
    """The terms of a text, each once. Raises Usage where it has no words, or is too long to say what it is about."""
    if len(text) > LONGEST:
        raise Usage(f"--about takes a topic of at most {LONGEST:,} characters, this has {len(text):,}", "a few words")
    found = dict.fromkeys(_terms(text))
    telling = {term: None for term in found if term.words not in FUNCTION_WORDS}
    if not found:
        raise Usage(f"--about {text!r} has no words: nothing was selected", "--about 'database schema'")
    return list(telling or found)


def traces(text: str) -> str:
    """A regular expression for where words that begin as these do stand in a text; in one without any, its beginning.

    For showing why a message was found, not for finding it: words with one stem need not begin alike. Raises Usage.
    """
    words = {word for term in terms(text) for word in term.words.split()}
    starts = sorted({re.escape(word[: max(3, ceil(KEPT * len(word)))]) for word in words})
    found = (
        rf"(?i:(?<![^\W_])(?:{'|'.join(starts)})[^\W_]*)"
        if all(map(str.isascii, words))
        else f"(?i:{'|'.join(starts)})"
    )
    return rf"{found}|\A(?![\s\S]*{found})"


def _terms(text: str) -> Iterator[TopicTerm]:
    for chunk in _SHORT.sub("", text.casefold()).split():
        words = ["".join(run) for is_word, run in groupby(chunk, _is_word) if is_word]
        if len(words) > 1 and not any(map(_RUN.search, words)):
            yield TopicTerm(" ".join(words))  # max_tokens, store/words.py: what is written as one is sought as one, too
        for word in words:
            yield from _pieces(word)


def _pieces(word: str) -> Iterator[TopicTerm]:
    at = 0
    for run in _RUN.finditer(word):
        if run.start() > at:
            yield TopicTerm(word[at : run.start()])
        at = run.end()
        pairs = [run[0][i : i + 2] for i in range(len(run[0]) - 1)]
        yield from map(TopicTerm, pairs)
        if not pairs:
            yield TopicTerm(run[0], start=True)
    if at < len(word):
        yield TopicTerm(word[at:])


def _is_word(character: str) -> bool:
    """Letters, digits, marks on letters, and private signs, as the tokenizer has them."""
    kind = unicodedata.category(character)
    return kind[0] in "LNM" or kind == "Co"


def spaced(text: str) -> str:
    """A text as it is indexed: what is written without blanks in pairs of characters, each with the next."""
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return f" {' '.join(map(''.join, pairwise(text)))} {text[-1]} "


def weight(messages: int, having: int) -> float:
    """How much a term tells that so many of all messages have: never nothing, for in a short log every word is
    frequent.
    """
    return log(1 + (messages - having + 0.5) / (having + 0.5))


def cut(scores: Mapping[Key, float], top: int | None, together: Iterable[Sequence[Key]] = ()) -> dict[Key, int]:
    """The best `top`, as far as they are above half of the best score: the score of each in percent of that.

    Of equal scores, those that come first. `together`: keys that are about it where their scores together are, each
    with the score of all; they are taken whole, also beyond `top`.
    """
    best, whole = max(scores.values(), default=0.0), dict(scores)
    groups: dict[Key, Sequence[Key]] = {}
    for some in together:
        score = min(best, sum(scores.get(key, 0.0) for key in some))
        if score > HALF * best:
            whole.update(dict.fromkeys(some, score))
            groups.update(dict.fromkeys(some, some))
    kept = sorted((key for key, score in whole.items() if score > HALF * best), key=lambda key: -whole[key])
    first = kept[: TOP if top is None else top]
    more = [other for key in first for other in groups.get(key, ())]
    return {key: round(100 * whole[key] / best) for key in dict.fromkeys([*first, *more])}
