"""Paths that change below folders, as notifications of the system tell them: watchfiles, in a thread of its own.

Pipeline: here -> the queue of `watch/watcher.py`, which looks at the files itself where no notifications come.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

STEP, DEBOUNCE = 10, 40
"""Milliseconds: how often watchfiles looks for notifications, and how long it gathers what comes together."""

Identity = tuple[str, int, int]
"""A folder: its path, its device and its inode."""


class FileChanges:
    """Calls `put` with the paths that changed, and `failed` with the reason if no notifications come; both in the
    other thread.
    """

    def __init__(self, put: Callable[[set[str]], None], failed: Callable[[str], None]) -> None:
        self._put, self._failed = put, failed
        self._stop = threading.Event()
        self._following: tuple[tuple[Identity, ...], bool] = (), False
        self.began = time.monotonic()
        """When the folders were followed that are followed now."""

    def follow(self, folders: Sequence[str], *, below: bool) -> None:
        """From now on, follow these folders, and with `below` all folders in them.

        Nothing is done if they are followed already. A folder that another one replaced is followed anew.
        """
        wanted = tuple(found for folder in folders if (found := _identity(folder)) is not None), below
        if wanted == self._following:
            return
        self._stop.set()
        self._following, self._stop, self.began = wanted, threading.Event(), time.monotonic()
        if wanted[0]:
            paths = tuple(path for path, _, _ in wanted[0])
            threading.Thread(target=self._run, args=(paths, below, self._stop), daemon=True).start()

    def close(self) -> None:
        """Follow nothing any more."""
        self._stop.set()

    def _run(self, folders: tuple[str, ...], below: bool, stop: threading.Event) -> None:
        try:
            import watchfiles  # brings anyio: only where logs are followed
        except ImportError:
            self._failed("watchfiles is not installed: pip install watchfiles")
            return
        try:
            for changes in watchfiles.watch(
                *folders, watch_filter=None, debounce=DEBOUNCE, step=STEP, stop_event=stop, recursive=below,
                raise_interrupt=False, ignore_permission_denied=True, force_polling=False,
            ):  # fmt: skip
                self._put({path for _, path in changes})
        except (OSError, RuntimeError) as error:  # RuntimeError: the base of its own errors
            if not stop.is_set():
                self._failed(str(error))


def _identity(folder: str) -> Identity | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return folder, found.st_dev, found.st_ino
