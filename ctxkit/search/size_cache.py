"""Saves the counted tokens of a log's context in the user's index, so that a list of sessions needs no counting.

Used by `status`; `search/sessions.py` reads them through `search/file_cache.py`. They are not valid for a log that
changed since.
"""

from __future__ import annotations

import os

from ctxkit.errors import CtxkitError
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.status import Budget
from ctxkit.search.file_cache import CachedFiles, CachedTokens, known_as
from ctxkit.store.index import Index, settled


def note(log: OpenLog, budget: Budget) -> None:
    """Save the tokens of a log as it is now; not for a stream, one conversation of many, or a history in many files."""
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
    CachedFiles(Index(log.cache_folder)).note(opening.path, known_as(found, ops), tokens)
