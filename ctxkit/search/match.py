"""Filters sessions by a text in their title, their path, or any of their messages.

Used by `sessions --grep`; `search/full_search.py` searches within a log. Files that do not have the text's words, by
the index of `search/prefilter.py`, are not opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ctxkit.core.select import NoLimit, SearchLimit
from ctxkit.core.text.search_pattern import Needle
from ctxkit.logfile.open import OpenLog
from ctxkit.search.full_search import Search
from ctxkit.search.prefilter import WordPrefilter
from ctxkit.search.sessions import Session
from ctxkit.store.folder import entry_of
from ctxkit.store.private import user_cache
from ctxkit.store.scan import Scan
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log
from ctxkit.store.words import WordIndex


class MentionSearch:
    """Tests whether sessions below `places` contain a needle. `limit` bounds a regular expression."""

    def __init__(
        self, needle: Needle, places: Iterable[Path], env: Mapping[str, str], limit: SearchLimit | None = None
    ) -> None:
        self._needle = needle
        self._limit = limit
        self._lacking = WordPrefilter(needle, WordIndex(user_cache(env)))
        for place in places:
            self._lacking.enter(place)

    def __call__(self, session: Session) -> bool:
        """Whether a session contains the needle, as in `mentions`."""
        if _named(session, self._needle):
            return True
        lacks = not session.thread and self._lacking.of(entry_of(session.path))
        return not lacks and mentions(session, self._needle, self._limit)

    def learn(self) -> None:
        """Index the words of new sessions, as far as there is time; called when everything is printed."""
        self._lacking.learn()


def _named(session: Session, needle: Needle) -> bool:
    return needle.within(str(session.path)) or needle.within(session.glance.title)


def mentions(session: Session, needle: Needle, limit: SearchLimit | None = None) -> bool:
    """Whether the needle is in the title, the path, the text of an op, or a message, in the context or not.

    `limit` bounds a regular expression. Raises what opening the log and replaying its ops raise, and BadPattern.
    """
    if _named(session, needle):
        return True
    if session.thread:
        return _prompted(session.prompts, needle, limit or NoLimit())
    scan = Scan(needle.traces, fold=needle.ignore_case)
    with open_log(session.path) as source:
        scan.start(source, beside=False)
    if not (session.glance.before or scan.everywhere or scan.stretches() or Sidecar(session.path).may_hold_ops()):
        return False
    many = session.glance.conversations
    return any(_in(session, number, needle, scan, limit) for number in (range(1, many + 1) if many > 1 else (None,)))


def _prompted(prompts: Iterable[str], needle: Needle, limit: SearchLimit) -> bool:
    try:
        for text in prompts:
            limit.restart(len(text))
            if needle.within(text):
                return True
        return False
    finally:
        limit.stop()


def _in(session: Session, conversation: int | None, needle: Needle, scan: Scan, limit: SearchLimit | None) -> bool:
    log = OpenLog.open(session.path, conversation=conversation)
    log.limit = limit or NoLimit()
    try:
        return next(Search(log, needle, scan).hits(), None) is not None
    finally:
        log.limit.stop()
