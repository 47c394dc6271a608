"""Files below a folder that cannot hold what is searched, by an index of words that grows with each search.

Used by `recall` over folders and `sessions --grep`. A file that is named here would not have been searched further
anyway: its bytes have no trace of the text. Whatever the index says of a file counts only while that is what it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ctxkit.core.text.search_pattern import Needle
from ctxkit.search.file_cache import key, settled
from ctxkit.store.folder import START, FolderEntry, may_be_log
from ctxkit.store.index import stamp
from ctxkit.store.opening import FLAGS
from ctxkit.store.words import NO_LOG, WordIndex, available, looked_at

BUDGET = 0.5
"""Seconds that a run spends on words of files that it did not know: the others are learnt the next time."""
AT_ONCE = 200
"""Files whose words are put in together."""


class WordPrefilter:
    """What is known of files for one search. `words`: the index; None: nothing is, and nothing is learnt."""

    def __init__(self, needle: Needle, words: WordIndex | None) -> None:
        self._stems = needle.stems
        self._words = words if available() else None
        self._lacking: dict[bytes, tuple[str, int]] = {}
        self._known: dict[bytes, str] = {}
        self._seen: set[bytes] = set()
        self._new: list[tuple[bytes, os.stat_result]] = []

    def enter(self, folder: Path) -> None:
        """Recall what is known of what is below a folder."""
        if self._words is not None:
            self._known |= self._words.known(key(folder))
            self._lacking |= {} if self._stems is None else self._words.lacking(key(folder), self._stems)

    def of(self, entry: FolderEntry) -> bool | None:
        """True for a log that does not hold it, None for what is no log; False where it may hold it."""
        if self._words is None or entry.found is None or not entry.alone:
            return False
        name, now = key(entry.path), stamp(entry.found)
        self._seen.add(name)
        if self._known.get(name) != now:
            self._new.append((name, entry.found))
            return False
        lacks = self._lacking.get(name)
        return (None if lacks[1] == NO_LOG else True) if lacks is not None and lacks[0] == now else False

    def leave(self, *, whole: bool) -> None:
        """Forget what is gone (where the `whole` folder was walked)."""
        if self._words is not None and whole:
            self._words.learn({}, [path for path in self._known.keys() - self._seen if not os.path.lexists(path)])

    def learn(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Look at what was new, as far as there is time: when everything is printed."""
        if self._words is None:
            return
        end = clock() + BUDGET
        rows: dict[bytes, tuple[str, int, bytes]] = {}
        for path, found in self._new:
            if clock() > end:
                break
            told = _told(path, found)
            if told is not None:
                rows[path] = told
            if len(rows) >= AT_ONCE:
                self._words.learn(rows)
                rows = {}
        self._words.learn(rows)
        self._new = []


def _told(path: bytes, found: os.stat_result) -> tuple[str, int, bytes] | None:
    """What there is to learn of a file; None where it is not what it was, or may change unseen."""
    try:
        fd = os.open(path, os.O_RDONLY | FLAGS)
        try:
            what, said = looked_at(fd, found.st_size, may_be_log(os.pread(fd, START, 0)))
            now = os.fstat(fd)
        finally:
            os.close(fd)
    except OSError:
        return None
    return (stamp(found), what, said) if stamp(now) == stamp(found) and settled(found) else None
