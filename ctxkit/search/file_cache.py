"""Caches previews and token counts of files in the user's index, as long as the files do not change.

Pipeline: `search/sessions.py` asks here before it reads a file, and saves the preview of a file that it read; `status`
saves the tokens that it counted. A cached value is used only if the file's times, size and inode are the same. Nothing
is cached for a file that changed just now, because its next change may not show in its times.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ctxkit.errors import CtxkitError
from ctxkit.search.preview import SessionPreview
from ctxkit.store.index import Index, Row, settled, stamp

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog
    from ctxkit.measure.status import Budget

T = TypeVar("T")
GLANCE, TOKENS = "preview", "tokens"
"""The kinds of rows."""
AT_ONCE = 1000
"""Rows that are written together; fewer are lost if the search is interrupted."""

SAMPLE = 100
"""Random rows that are checked with each write; rows of missing files are removed."""

_NOTHING = b""
"""The value of a file that is not a session."""
_glance = msgspec.json.Decoder(SessionPreview).decode


class CachedTokens(msgspec.Struct, frozen=True):
    """The tokens of a log's context at the last count, the counter's name, and the limit, if known."""

    count: int
    counter: str
    limit: int | None = None


_tokens = msgspec.json.Decoder(CachedTokens).decode


class CachedFiles:
    """The cached values of files below some places."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._glances: dict[bytes, Row] = {}
        self._tokens: dict[bytes, Row] = {}
        self._seen: set[bytes] = set()
        self._new: dict[bytes, Row] = {}

    def enter(self, place: Path) -> None:
        """Load the cached values of a place and of everything below it."""
        start = key(place)
        self._glances |= self._index.below(GLANCE, start)
        self._tokens |= self._index.below(TOKENS, start)

    def glance(self, path: Path, known_as: str) -> tuple[bool, SessionPreview | None]:
        """Whether there is a valid cached preview, and the preview, None for a file that is not a session."""
        self._seen.add(key(path))
        found = self._glances.get(key(path))
        if found == (known_as, _NOTHING):
            return True, None
        preview = _valid(found, known_as, _glance)
        return preview is not None, preview

    def learn(self, path: Path, known_as: str, preview: SessionPreview | None) -> None:
        """Cache the preview of a file, None for a file that is not a session."""
        self._new[key(path)] = known_as, _NOTHING if preview is None else msgspec.json.encode(preview)
        if len(self._new) >= AT_ONCE:
            self._put()

    def tokens(self, path: Path, known_as: str) -> CachedTokens | None:
        """The cached tokens of a file; None if they are missing or not valid."""
        return _valid(self._tokens.get(key(path)), known_as, _tokens)

    def leave(self) -> None:
        """Write new values to the index, and remove those of missing files."""
        unseen = (self._glances.keys() | self._tokens.keys()) - self._seen
        self._put([path for path in unseen if not os.path.lexists(path)])

    def _put(self, gone: list[bytes] | None = None) -> None:
        self._index.put(GLANCE, self._new, gone or (), sample=SAMPLE)
        self._new = {}


def _valid(row: Row | None, known_as: str, decode: Callable[[bytes], T]) -> T | None:
    """The value of a row; None if there is none for this stamp, or it cannot be read."""
    if row is None or row[0] != known_as:
        return None
    with suppress(msgspec.MsgspecError):
        return decode(row[1])
    return None


def note_tokens(log: OpenLog, budget: Budget) -> None:
    """Save the tokens of a log as it is now, so that a list of sessions needs no counting.

    Not for a stream, one conversation of many, or a history in many files.
    """
    opening, seen = log.opening, log.opening.source.seen
    if opening.path is None or seen is None or opening.conversation is not None:
        return
    if log.transcript.inherited or log.transcript.missing:  # the stamp is of this file alone
        return
    if budget.used is None or budget.counter is None:
        return
    try:
        found = os.stat(opening.path)
        beside = opening.sidecar
        ops = None if beside is None or beside.ops_size() is None else os.stat(beside.ops_path)
    except (OSError, CtxkitError):
        return  # the file was moved since it was counted
    if (
        log.cache_folder is None
        or (found.st_dev, found.st_ino, found.st_size) != (seen.dev, seen.ino, seen.size)
        or not settled(found)
    ):
        return
    if ops is not None and (ops.st_size != opening.sidecar_size or not settled(ops)):
        return
    tokens = CachedTokens(budget.used, budget.counter, budget.limit.value)
    index, row = Index(log.cache_folder), (known_as(found, ops), msgspec.json.encode(tokens))
    if index.get(TOKENS, key(opening.path)) != row:
        index.put(TOKENS, {key(opening.path): row})


def key(path: Path) -> bytes:
    """The key of a file in the index: its absolute path."""
    try:
        return os.fsencode(os.path.abspath(path))
    except FileNotFoundError:  # the working folder is gone
        return os.fsencode(path)


def known_as(found: os.stat_result, ops: os.stat_result | None, *more: str) -> str:
    """The stamp of a log, with the ops in its sidecar; `more`: what else counts."""
    return stamp(found, "" if ops is None else stamp(ops), *more)
