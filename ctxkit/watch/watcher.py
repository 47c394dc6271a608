"""The watcher: a loop over the logs that it follows, each read on after an append (`watch/followed.py`).

The thread of `run` holds all state. One worker does what may take long, job by job: whole readings, checkpoints, copies
for the archive. Each job gives a step back that `run` takes, as does `watch/file_changes.py` when files changed.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ctxkit.errors import CtxkitError
from ctxkit.store.folder import LOG_ENDINGS, SIDECAR
from ctxkit.watch.archiving import Archiving, Round, copy
from ctxkit.watch.events import AnyEvent, ArchiveDone
from ctxkit.watch.file_changes import FileChanges
from ctxkit.watch.followed import FollowedLog, Step, Surroundings
from ctxkit.watch.places import Places

TICK = 0.5
"""Seconds between two checks of all files, for changes without a notification."""
RESCAN = 15.0
"""Seconds between two searches for new logs without a notification."""
TOGETHER = 2
"""Compactions of all logs that run at a time."""

Warn = Callable[[str | CtxkitError, Path | None], None]
"""Takes a warning and the log that it is about."""


class Watcher:
    """Watches the logs of `places`. `emit` gets each event, `warn` each warning that did not hold before; both are
    called in the thread of `run`. `env`: the environment. `compacts`, `checkpoints`: whether it makes these, also where
    the config of a log does not ask for them. `archiving`: where sessions are copied to meanwhile.
    """

    def __init__(
        self, places: Places, emit: Callable[[AnyEvent], None], warn: Warn, *,
        env: Mapping[str, str], tick: Callable[[], None] = lambda: None, compacts: bool = False,
        checkpoints: bool = False, archiving: Archiving | None = None,
    ) -> None:  # fmt: skip
        self.places = places
        self.followed: dict[str, FollowedLog] = {}
        self.failed: list[CtxkitError] = []
        """The errors of logs that could not be read in a round of `once`."""
        self.stopped = 0
        """The signal that ended it."""
        self._env, self._emit, self._warn, self._tick, self._archiving = env, emit, warn, tick, archiving
        self._round: Round | None = None
        self._copied: float | None = None
        """The round of the archive under way, and when the last one began, in seconds since 1970."""
        self._standing: dict[str, list[str]] = {}
        """Warnings that hold now: what is wrong -> the warnings."""
        self._steps: queue.SimpleQueue[Step | None] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[Callable[[], Step] | None] = queue.SimpleQueue()
        self._changes = FileChanges(
            lambda paths: self._steps.put(partial(self._changed, paths)),
            lambda why: self._steps.put(partial(self._without_notifications, why)),
        )
        self._around = Surroundings(
            env, emit, self._problems, self._jobs.put, self._may_compact, compacts, checkpoints
        )  # fmt: skip
        self._rescan = True
        self._scanned = self._ticked = 0.0

    def stop(self, signal: int = 0) -> None:
        """End `run`; a signal handler may call this."""
        self.stopped = signal
        self._steps.put(None)

    def run(self) -> None:
        """Watch until `stop`. Raises what `places` raises, and what `emit` raises."""
        threading.Thread(target=self._work, daemon=True).start()
        try:
            while True:
                self._do_what_is_due()
                now = time.monotonic()
                patience = min([self._ticked + TICK - now, *(one.patience(now) for one in self.followed.values())])
                try:
                    step = self._steps.get(timeout=max(0.001, patience))
                except queue.Empty:
                    continue
                if step is None:
                    return
                step()
        finally:
            self._changes.close()
            self._jobs.put(None)
            for one in self.followed.values():
                one.let_go()

    def once(self) -> None:
        """Read each log once, and do what is due. Raises what `run` raises."""
        self._archive()
        while not self._jobs.empty() and (job := self._jobs.get()) is not None:
            job()()
        for path in self.places.logs():
            one = self.followed[os.path.abspath(path)] = FollowedLog(path, self._around)
            try:
                if (error := one.act_once()) is not None:
                    self.failed.append(error)
            finally:
                one.let_go(keep=True)

    def _work(self) -> None:
        """The worker."""
        while (job := self._jobs.get()) is not None:
            self._steps.put(job())

    def _problems(self, source: str, found: Sequence[str | CtxkitError], log: Path | None = None) -> None:
        """Give those warnings of `source` that did not hold before, there or elsewhere.

        A warning that no longer holds is forgotten: it is given again when it comes back.
        """
        standing = {text for texts in self._standing.values() for text in texts} if found else set()
        self._standing[source] = []
        for what in found:
            text = what.message if isinstance(what, CtxkitError) else what
            self._standing[source].append(text)
            if text not in standing:
                standing.add(text)
                self._warn(what, log)

    def _may_compact(self) -> bool:
        return sum(one.compaction is not None for one in self.followed.values()) < TOGETHER

    def _do_what_is_due(self) -> None:
        now = time.monotonic()
        if now - self._scanned >= (TICK if self._rescan else RESCAN) or not self._scanned:
            self._scan()
        if now - self._ticked >= TICK:
            self._ticked = now
            for one in self.followed.values():
                one.check(now)
            self._archive()
            self._tick()
        for one in self.followed.values():
            one.act(now)

    def _scan(self) -> None:
        """Follow new logs, and no longer those that `places` leaves out."""
        first = not self._scanned
        self._rescan, self._scanned = False, time.monotonic()
        try:
            logs = self.places.logs()
        except (CtxkitError, OSError) as error:
            if first:
                raise
            self._problems("search", [f"no new sessions are searched for: {error}"])
            return
        self._problems("search", [])
        wanted = {os.path.abspath(path): path for path in logs}
        for key, path in wanted.items():
            if key not in self.followed:
                self.followed[key] = FollowedLog(path, self._around)
        for key in self.followed.keys() - wanted.keys():
            gone = self.followed.pop(key)
            gone.let_go()
            self._standing.pop(gone.name, None)
        folders, below = self.places.folders()
        self._changes.follow(folders, below=below)

    def _changed(self, paths: set[str]) -> None:
        """Handle notifications: a look at all logs costs less than to tell whose files changed."""
        for one in self.followed.values():
            one.update()
        for path in paths - self.followed.keys():
            if path.endswith((SIDECAR, *LOG_ENDINGS)) or os.path.isdir(path):
                self._rescan = True  # files that a new folder had from the start have no notification

    def _without_notifications(self, why: str) -> None:
        often = f"{TICK * 1000:g} ms"
        text = f"the system gives no notifications of changes ({why}): all logs are checked every {often}"
        self._problems("notifications", [text])

    def _archive(self) -> None:
        """Begin to copy sessions if that is due."""
        asked = self._archiving
        if asked is not None and self._round is None and asked.due(self._copied):
            self._round, self._copied = copy(asked.folder, self._env), time.time()
            self._jobs.put(partial(self._copy_next, self._round))

    def _copy_next(self, some: Round) -> Step:
        """Copy one file, in the worker, which does other jobs before the next one: a round may take minutes."""
        try:
            next(some)
        except StopIteration as end:
            return partial(self._archived, *end.value)
        return partial(self._jobs.put, partial(self._copy_next, some))

    def _archived(self, done: ArchiveDone | None, warnings: list[str]) -> None:
        self._round = None
        self._problems("archive", warnings)
        if done is not None:
            self._emit(done)
