"""What the last look at files told, as long as they are what they were; kept in the user's index.

Pipeline: `search/sessions.py` asks here before it reads a file, and tells what it read. Nothing is taken from a file
that changed since, in any way that its folder shows, or that changed just now and may so again unseen.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from ctxkit.search.preview import SessionPreview
from ctxkit.store.index import Index, Row, stamp

GLANCE, TOKENS = "told", "tokens"
"""The kinds of rows."""
AT_ONCE = 1000
"""Rows that are held until they are put in: what is lost where a look is broken off."""
JUST_NOW = 50_000_000
"""Nanoseconds in which a file can change twice, and its time once."""

SAMPLE = 100
"""Files elsewhere that are looked at whenever something is kept: those that are gone are forgotten."""

_NOTHING = b""
"""What is told of a file that is no session."""
_glance = msgspec.json.Decoder(SessionPreview).decode


class CachedTokens(msgspec.Struct, frozen=True):
    """What the context of a log came to when it was counted last, and by which counter; of which limit, where known."""

    count: int
    counter: str
    limit: int | None = None


_tokens = msgspec.json.Decoder(CachedTokens).decode


class CachedFiles:
    """What is remembered of files below some places."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._glances: dict[bytes, Row] = {}
        self._tokens: dict[bytes, Row] = {}
        self._seen: set[bytes] = set()
        self._new: dict[bytes, Row] = {}

    def enter(self, place: Path) -> None:
        """Recall what is known of a place and what is below it."""
        start = key(place)
        self._glances |= self._index.below(GLANCE, start)
        self._tokens |= self._index.below(TOKENS, start)

    def glance(self, path: Path, known_as: str) -> tuple[bool, SessionPreview | None]:
        """Whether something is known of the file as it is now, and what it is."""
        name = key(path)
        self._seen.add(name)
        found = self._glances.get(name)
        if found is None or found[0] != known_as:
            return False, None
        if found[1] == _NOTHING:
            return True, None
        try:
            return True, _glance(found[1])
        except msgspec.MsgspecError:
            return False, None

    def learn(self, path: Path, known_as: str, told: SessionPreview | None) -> None:
        """This is what a file tells."""
        self._new[key(path)] = known_as, _NOTHING if told is None else msgspec.json.encode(told)
        if len(self._new) >= AT_ONCE:
            self._put()

    def tokens(self, path: Path, known_as: str) -> CachedTokens | None:
        """What the file as it is now was counted to hold."""
        found = self._tokens.get(key(path))
        if found is None or found[0] != known_as:
            return None
        try:
            return _tokens(found[1])
        except msgspec.MsgspecError:
            return None

    def leave(self) -> None:
        """Keep what was learnt, and forget what is gone."""
        unseen = (self._glances.keys() | self._tokens.keys()) - self._seen
        self._put([path for path in unseen if not os.path.lexists(path)])

    def note(self, path: Path, known_as: str, tokens: CachedTokens) -> None:
        """So much the context of a log came to."""
        row = known_as, msgspec.json.encode(tokens)
        if self._index.get(TOKENS, key(path)) != row:
            self._index.put(TOKENS, {key(path): row})

    def _put(self, gone: list[bytes] | None = None) -> None:
        self._index.put(GLANCE, self._new, gone or (), sample=SAMPLE)
        self._new = {}


def key(path: Path) -> bytes:
    """What a file is called in the index."""
    try:
        return os.fsencode(os.path.abspath(path))
    except FileNotFoundError:  # the working folder is gone
        return os.fsencode(path)


def settled(found: os.stat_result) -> bool:
    """Whether a file changed long enough ago that its next change will show in its times."""
    return max(found.st_mtime_ns, found.st_ctime_ns) < time.time_ns() - JUST_NOW


def known_as(found: os.stat_result, ops: os.stat_result | None, *more: str) -> str:
    """What a log is known by, with the ops in its sidecar."""
    return stamp(found, "" if ops is None else stamp(ops), *more)
