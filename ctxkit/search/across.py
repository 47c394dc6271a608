"""Ranks the messages of many logs together by a text, and groups the best by day and topic.

Used by `recall FOLDER --about`, `recall --here --about` and `memory search`. Pipeline: logs are added one after the
other, each message as a text of `store/relevance.py` -> `best` -> `grouped`. A topic is an exchange. A message that
stands in several logs, because a session was resumed or copied, is ranked once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from ctxkit.core.derive.topic import TOP, terms
from ctxkit.core.messages import Content
from ctxkit.core.text.message_words import texts
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import Usage
from ctxkit.logfile.open import OpenLog
from ctxkit.store.relevance import TextRanking
from ctxkit.store.words import available

T = TypeVar("T")
DIGEST = 16
"""Bytes of the digest by which a message is known again in another log."""


class RankedMessage(NamedTuple):
    """A message that has words of the text. `log`: the place of its log, in the order in which logs were added;
    `percent`: its score, of the best one's; `also`: the places of other logs with the same message.
    """

    log: int
    n: int
    percent: int
    also: tuple[int, ...] = ()


class AcrossLogs:
    """The messages of many logs, to be ranked by texts. A context manager, because of its index.

    Raises Usage if SQLite has no FTS5.
    """

    def __init__(self) -> None:
        if not available():
            raise Usage("--about needs FTS5, which this SQLite was built without: nothing was searched", "--grep REGEX")
        self._ranking = TextRanking()
        self._names: list[tuple[int, int]] = []
        self._known: dict[bytes, int] = {}
        self._also: dict[int, list[int]] = {}
        self.logs = 0
        """How many logs were added."""

    def __enter__(self) -> AcrossLogs:
        return self

    def __exit__(self, *_: object) -> None:
        self._ranking.__exit__()

    def add(self, log: OpenLog, names: Iterable[int] | None = None) -> None:
        """Add messages of a log (default: all, whether they are in its context or not)."""
        place, self.logs = self.logs, self.logs + 1
        state = log.state()
        for n in range(1, state.count + 1) if names is None else names:
            content = log.recorded(n)
            text = said(content)
            if not text.strip():
                continue
            moment = state.original(n)
            if moment is not None:
                key = hashlib.blake2b(exact(f"{content.role} {moment} {text}"), digest_size=DIGEST)
                known = self._known.setdefault(key.digest(), self._ranking.count)
                if known != self._ranking.count:
                    self._also.setdefault(known, []).append(place)
                    continue
            self._names.append((place, n))
            self._ranking.add(text)

    def add_text(self, text: str) -> None:
        """Add a text of its own, as a log with one message."""
        self._names.append((self.logs, 1))
        self._ranking.add(text)
        self.logs += 1

    def best(self, text: str, top: int | None = None) -> list[RankedMessage]:
        """The messages that are best by `text`, the best first, at most `top` (default: TOP). Of equal scores, those
        added first. Nothing can be added afterwards. Raises Usage for a text without words.
        """
        found = self._ranking.scores(terms(text))
        order = sorted(found, key=lambda place: (-found[place], place))[: TOP if top is None else top]
        return [
            RankedMessage(*self._names[one], round(100 * found[one] / found[order[0]]), tuple(self._also.get(one, ())))
            for one in order
        ]


def said(content: Content) -> str:
    """The words of a message by which it is ranked, after the name of its speaker."""
    words = "\n".join(one.text for one in texts(content))
    return f"{content.name}: {words}" if content.name else words


class Topic(NamedTuple):
    """The hits of an exchange. `log`: the place of its log; `exchange`: the number of its user message, 0 for none;
    `percent`: the best score in it.
    """

    log: int
    exchange: int
    percent: int


def grouped(
    found: Sequence[T], day: Callable[[T], str | None], topic: Callable[[T], Topic]
) -> list[tuple[str | None, list[tuple[Topic, list[T]]]]]:
    """Hits by day and topic: the day with the best hit first, in it the topic with the best hit first.

    `found`: the best first. Hits of a topic keep this order.
    """
    days: dict[str | None, dict[tuple[int, int], tuple[Topic, list[T]]]] = {}
    for one in found:
        of = topic(one)
        days.setdefault(day(one), {}).setdefault((of.log, of.exchange), (of, []))[1].append(one)
    return [(name, list(topics.values())) for name, topics in days.items()]
