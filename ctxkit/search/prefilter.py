"""Excludes files that cannot contain a text, by an index of words that grows with each search.

Used by `recall` over folders and `sessions --grep`. An excluded file has no trace of the text in its bytes, so reading
it would find nothing. The index is used only for files that did not change since.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ctxkit.core.text.search_pattern import Needle
from ctxkit.errors import CtxkitError
from ctxkit.logfile.history import goes_on
from ctxkit.search.file_cache import key
from ctxkit.store.folder import FolderEntry
from ctxkit.store.index import settled, stamp
from ctxkit.store.source import open_log
from ctxkit.store.words import NO_LOG, ODD, PLAIN, WordIndex, available, looked_at

BUDGET = 0.5
"""Seconds that a run spends on indexing new files; the others are left for the next run."""
AT_ONCE = 200
"""Files whose words are written together."""


class WordPrefilter:
    """The excluded files of one search. `words`: the index; None: nothing is excluded or indexed."""

    def __init__(self, needle: Needle, words: WordIndex | None) -> None:
        self._stems = needle.stems
        self._words = words if available() else None
        self._lacking: dict[bytes, tuple[str, int]] = {}
        self._known: dict[bytes, str] = {}
        self._seen: set[bytes] = set()
        self._new: list[tuple[bytes, os.stat_result]] = []

    def enter(self, folder: Path) -> None:
        """Load the index's data of the files below a folder."""
        if self._words is not None:
            self._known |= self._words.known(key(folder))
            self._lacking |= {} if self._stems is None else self._words.lacking(key(folder), self._stems)

    def of(self, entry: FolderEntry) -> bool | None:
        """True for a log that does not contain the text, None for a file that is not a log; False if it may."""
        if self._words is None or entry.found is None or not entry.alone:
            return False
        name, now = key(entry.path), stamp(entry.found)
        self._seen.add(name)
        if self._known.get(name) != now:
            self._new.append((name, entry.found))
            return False
        lacks = self._lacking.get(name)
        return (None if lacks[1] == NO_LOG else True) if lacks is not None and lacks[0] == now else False

    def leave(self) -> None:
        """Remove missing files from the index, once whole folders were walked."""
        if self._words is not None:
            self._words.learn({}, [path for path in self._known.keys() - self._seen if not os.path.lexists(path)])

    def learn(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Index new files, as far as there is time; called when everything is printed."""
        if self._words is None:
            return
        end = clock() + BUDGET
        rows: dict[bytes, tuple[str, int, bytes]] = {}
        for path, found in self._new:
            if clock() > end:
                break
            row = _row(path, found)
            if row is not None:
                rows[path] = row
            if len(rows) >= AT_ONCE:
                self._words.learn(rows)
                rows = {}
        self._words.learn(rows)
        self._new = []


def _row(path: bytes, found: os.stat_result) -> tuple[str, int, bytes] | None:
    """The stamp, kind and words of a file; None if it changed since, or so recently that a change may not show."""
    try:
        with open_log(os.fsdecode(path)) as source:
            what, text = looked_at(source)
            if what == PLAIN and goes_on(source) is not None:  # the text may stand in the file before it
                what, text = ODD, b""
        now = os.stat(path)
    except (CtxkitError, OSError):
        return None
    return (stamp(found), what, text) if stamp(now) == stamp(found) and settled(found) else None
