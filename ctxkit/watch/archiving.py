"""Archives the agents' sessions while logs are watched, because agents delete old ones.

Pipeline: `watch/watcher.py` starts it in a thread of its own, once a period -> `search/archive.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ctxkit.errors import ArchiveFailed, CtxkitError, Locked
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.archive import Archived, archive
from ctxkit.watch.events import ArchiveDone

DAY = 24 * 3600


class Archiving(NamedTuple):
    """The folder for the copies, and the period: seconds from one start to the next."""

    folder: Path
    every: int = DAY

    def due(self, began: float | None) -> bool:
        """Whether the next copies are due. `began`: the start of the last ones, in seconds since 1970.

        They are due if the clock was put back, because nobody knows how long ago the last ones were.
        """
        return began is None or not 0 <= time.time() - began < self.every


def _archived(folder: Path, env: Mapping[str, str]) -> Iterator[Archived]:
    """As `archive`; a bug of ours is an error like others, because the watcher goes on."""
    with one_of_many(str(folder)):
        yield from archive(folder, env)


def copy(folder: Path, env: Mapping[str, str]) -> tuple[ArchiveDone | None, list[str]]:
    """Copy what is new; returns the event (without its time; None if the archive cannot be written to) and warnings."""
    began, warnings = time.monotonic(), []
    sessions = copied = size = failed = 0
    try:
        for one in _archived(folder, env):
            size += one.difference.bytes
            if one.error is not None:
                failed += 1
                path, text = str(one.item.original), one.error.message
                warnings.append(text if path in text else f"{path}: {text}")
            elif one.item.session:
                sessions += 1
                copied += one.difference.change != "same"
    except (ArchiveFailed, Locked) as error:
        return None, [*warnings, f"not all sessions were archived: {error.message}"]
    except (CtxkitError, OSError) as error:
        reason = error.message if isinstance(error, CtxkitError) else str(error).lower()
        return None, [*warnings, f"no session was archived: {reason}"]
    took = round(time.monotonic() - began, 3)
    done = ArchiveDone(
        log=str(folder), time="", sessions=sessions, copied=copied, bytes=size, failed=failed, seconds=took
    )
    return done, warnings
