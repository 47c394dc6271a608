"""The watcher: follows logs, makes events, and starts compactions, checkpoints and archive copies.

A loop over `read_on` (`watch/reading.py`). The thread of `run` holds all state, and reads what was appended. One worker
does what may take long, job by job: whole readings, checkpoints, copies for the archive. Each job gives a step back
that `run` takes, as does `watch/file_changes.py` with the paths that changed.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from ctxkit.core.times import iso
from ctxkit.errors import CtxkitError, Warned, reason_of
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.store.folder import LOG_ENDINGS, SIDECAR, logs_of
from ctxkit.watch import claims
from ctxkit.watch.archiving import Archiving, Round, copy
from ctxkit.watch.checkpointing import WatchedCheckpoint, checkpoint
from ctxkit.watch.claims import Claim, LeftNote, Note
from ctxkit.watch.compaction import BackgroundCompaction, CompactionEnd, not_started, strategy_of
from ctxkit.watch.events import (
    AnyEvent,
    ArchiveDone,
    CheckpointMade,
    CompactionDone,
    CompactionSkipped,
    CompactionStarted,
    LogReplaced,
    OpFromElsewhere,
    Replacement,
    StatusChanged,
)
from ctxkit.watch.file_changes import FileChanges
from ctxkit.watch.growth_rate import GrowthRate
from ctxkit.watch.places import Places
from ctxkit.watch.reading import ConfigFiles, LogReading, config_files, read, read_on

TICK = 0.5
"""Seconds between two checks of all files, for changes without a notification."""
RESCAN = 15.0
"""Seconds between two searches for new logs without a notification."""
APART = 5
"""After a reading of a log that took n seconds of a processor, the next one is APART * n seconds later at the earliest.
"""
SETTLED = 0.3
"""Seconds after a reply of the model until its exchange counts as finished: a call may follow at once."""
JUST_NOW = 10.0
"""At the first reading, the newest exchange counts as just finished if the log was written in the last seconds."""
AGAIN, LATEST = 60.0, 3600.0
"""Seconds until the next try after a compaction without a result, and the most, as they double each time."""
CALLED = 2.0
"""Seconds until the next try after one that found a call without a result."""
TOGETHER = 2
"""Compactions of all logs that run at a time."""
LOOKED = 0.05
"""Seconds between two looks whether a compaction has ended."""
NOTED, ALIVE = 1.0, 60.0
"""Seconds between two writes of a note, at least and at most. Its time says until when the watcher lived."""
RETOLD = 60.0
"""Seconds without an event after which figures are sent again if the rate changed: it sinks while nothing comes."""

Warn = Callable[[str | CtxkitError, Path | None], None]
"""Takes a warning and the log that it is about."""
Step = Callable[[], object]
"""What the thread of `run` does next."""


class FollowedLog:
    """A log that is followed. `claim`: this watcher acts on it; `holder`: another one does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading: LogReading | None = None
        self.rate = GrowthRate()
        self.claim: Claim | None = None
        self.holder: Note | None = None
        self.told: StatusChanged | None = None
        self.told_at = 0.0
        """The last event with its figures, and its time on the monotonic clock."""
        self.stamp: tuple[int, int, int, int] | None = None
        """Device, inode, size and time of the file at the last check; None: it is not there."""
        self.written = 0.0
        """When the log was written last, in seconds since 1970."""
        self.due: float | None = 0.0
        """When a reading is due; None: none is needed."""
        self.earliest = 0.0
        """No reading begins before this moment."""
        self.whole = True
        """Whether the log must be read whole."""
        self.job: object = None
        """The whole reading under way; None: there is none."""
        self.files: ConfigFiles = ()
        self.own: set[str] = set()
        """The ops of this watcher."""
        self.noted = 0.0
        self.ended: float | None = None
        """When the newest exchange ended, in seconds since 1970; None: the checkpoint for it was decided."""
        self.exchange: int | None = None
        """The last exchange whose end was noticed, as `Turns.ended` has it."""
        self.settles = 0.0
        """When a checkpoint for it is decided."""
        self.compaction: BackgroundCompaction | None = None
        self.compacts = 0.0
        """No compaction starts before this moment."""
        self.pause = 0.0
        """Seconds until the next try after one without a result."""
        self.skipped = ""
        """Why the last try had no result."""

    def stamped(self) -> tuple[int, int, int, int] | None:
        """Set `stamp` and `written` to what the file is now; returns the stamp before."""
        before = self.stamp
        try:
            found = os.stat(self.path)
        except OSError:
            self.stamp = None
        else:
            self.stamp = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
            self.written = found.st_mtime
        return before

    def ask(self) -> None:
        """From now on a reading is due."""
        if self.due is None:
            self.due = max(time.monotonic(), self.earliest)


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
        self.env = env
        self.followed: dict[str, FollowedLog] = {}
        self.failed: list[CtxkitError] = []
        """The errors of logs that could not be read in a round of `once`."""
        self.stopped = 0
        """The signal that ended it."""
        self._emit, self._warn, self._tick = emit, warn, tick
        self._compacts, self._checkpoints, self._archiving = compacts, checkpoints, archiving
        self._round: Round | None = None
        self._copied: float | None = None
        """The round of the archive under way, and when the last one began, in seconds since 1970."""
        self._real: dict[str, FollowedLog] = {}
        """The followed logs by the target of their links."""
        self._standing: dict[str, list[str]] = {}
        """Warnings that hold now: what is wrong -> the warnings."""
        self._steps: queue.SimpleQueue[Step | None] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[Callable[[], Step] | None] = queue.SimpleQueue()
        self._changes = FileChanges(
            lambda paths: self._steps.put(partial(self._changed, paths)),
            lambda why: self._steps.put(partial(self._without_notifications, why)),
        )
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
                with suppress(queue.Empty):
                    step = self._steps.get(timeout=self._patience())
                    if step is None:
                        return
                    step()
        finally:
            self._changes.close()
            self._jobs.put(None)
            for one in self.followed.values():
                if one.compaction is not None:
                    one.compaction.stop()
                if one.claim is not None:
                    one.claim.release()

    def once(self) -> None:
        """Read each log once, and do what is due. Raises what `run` raises."""
        self._archive()
        while not self._jobs.empty() and (job := self._jobs.get()) is not None:
            job()()
        for path in self.places.logs():
            one = self.followed[os.path.abspath(path)] = FollowedLog(path)
            try:
                self._claim(one)
                one.stamped()
                found = _tried(path, partial(read, path))
                if isinstance(found, CtxkitError):
                    self.failed.append(found)
                else:
                    self._take(one, None, found)
                    self._act_once(one)
            finally:
                if one.claim is not None:
                    one.claim.release(keep=True)  # the next watcher is told of it, too
                    one.claim = None

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

    # the loop

    def _patience(self) -> float:
        """Seconds until something is due."""
        now = time.monotonic()
        due = self._ticked + TICK
        for one in self.followed.values():
            if one.ended is not None:
                due = min(due, one.settles)
            if one.due is not None and one.job is None:
                due = min(due, one.due)
            if one.compaction is not None:
                due = min(due, now + LOOKED)
        return max(0.001, due - now)

    def _do_what_is_due(self) -> None:
        now = time.monotonic()
        if now - self._scanned >= (TICK if self._rescan else RESCAN) or not self._scanned:
            self._scan()
        if now - self._ticked >= TICK:
            self._ticked = now
            for one in self.followed.values():
                self._check(one, now)
            self._archive()
            self._tick()
        for one in self.followed.values():
            if one.due is not None and one.due <= now and one.job is None:
                self._read(one)
            if one.ended is not None and one.settles <= now:
                self._checkpoint(one)
            self._compact(one)

    def _check(self, one: FollowedLog, now: float) -> None:
        """What is checked of each log every TICK seconds."""
        self._update(one)
        if one.reading is not None and (files := config_files(one.path)) != one.files:
            one.files, one.whole = files, True
            one.ask()
        self._note(one)
        if one.claim is None:
            self._claim(one)
        if one.told is not None and one.told.per_minute is not None and now - one.told_at >= RETOLD:
            self._tell(one, rate=True)

    def _without_notifications(self, why: str) -> None:
        often = f"{TICK * 1000:g} ms"
        text = f"the system gives no notifications of changes ({why}): all logs are checked every {often}"
        self._problems("notifications", [text])

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
                one = self.followed[key] = FollowedLog(path)
                self._claim(one)
        for key in self.followed.keys() - wanted.keys():
            gone = self.followed.pop(key)
            gone.job = None  # the result of a reading under way is dropped
            self._standing.pop(str(gone.path), None)
            if gone.claim is not None:
                gone.claim.release()
                gone.claim = None
        folders, below = self.places.folders()
        self._changes.follow(folders, below=below)
        self._real = {os.path.realpath(one.path): one for one in self.followed.values()}

    def _changed(self, paths: set[str]) -> None:
        """Handle notifications: of the logs themselves, of files in their sidecars, and of new files."""
        for path in paths:
            at = path.find(SIDECAR + os.sep)
            beside = path[:at] + SIDECAR if at >= 0 else path if path.endswith(SIDECAR) else ""
            known = (self.followed.get(log) or self._real.get(log) for log in (logs_of(beside) if beside else (path,)))
            one = next(filter(None, known), None)
            if one is not None:
                self._update(one)
                self._rescan = self._rescan or path == beside
            elif self.places.scope != "named" and (path.endswith(LOG_ENDINGS) or os.path.isdir(path)):
                self._rescan = True  # files that a new folder had from the start have no notification

    # one log

    def _update(self, one: FollowedLog) -> None:
        """Ask for a reading if a log changed since the last check."""
        before, reading = one.stamped(), one.reading
        if one.stamp is None:
            if before is not None:
                self._replaced(one, "removed")
        elif one.stamp != before:
            how = None
            try:
                how = reading.replacement() if reading is not None else None
            except CtxkitError:
                one.whole = True  # the reading says what is wrong
            if how is not None:
                self._replaced(one, how)
            else:
                one.ask()
        elif reading is not None and reading.has_new_ops():
            one.ask()

    def _replaced(self, one: FollowedLog, how: Replacement) -> None:
        """Handle a log that is no longer the same file: all of it is read again."""
        one.reading, one.job, one.rate = None, None, GrowthRate()
        one.due = None
        if how != "removed":
            one.ask()
        self._emit(LogReplaced(log=str(one.path), time=moment(), how=how))

    def _read(self, one: FollowedLog) -> None:
        """Read a log: at once if only what was appended is to be read, else in the worker."""
        one.due, reading = None, one.reading
        if not one.whole and reading is not None and one.stamp is not None and reading.can_go_on(one.stamp[2]):
            self._take(one, None, _tried(one.path, partial(read_on, reading)))
            return
        one.whole, one.job = False, object()

        def job(asked: object = one.job) -> Step:
            return partial(self._take, one, asked, _tried(one.path, partial(read, one.path)))

        self._jobs.put(job)

    def _take(self, one: FollowedLog, job: object, found: LogReading | CtxkitError) -> None:
        """Take a reading; it is dropped if the file was replaced meanwhile."""
        if one.job is not job:
            return
        one.job, before = None, one.reading
        if isinstance(found, CtxkitError):
            one.whole = True
            if os.path.exists(one.path):
                self._problems(str(one.path), [found], one.path)
            return
        one.reading, one.files, one.earliest = found, found.files, time.monotonic() + APART * found.cost
        self._problems(str(one.path), found.notices, one.path)
        lag = time.time() - one.written
        if before is None:
            grew, new = lag < JUST_NOW, []
        else:
            grew = found.size != before.size or found.turns.ended != one.exchange
            new = [op for op in found.ops if op not in before.ops and op not in one.own]
        for op in new:
            self._emit(OpFromElsewhere(log=str(one.path), time=moment(), op=op, name=found.ops[op]))
        if grew:
            self._exchange(one, found)
        one.exchange = found.turns.ended
        self._tell(one, lag=lag if grew and before is not None else None)
        self._note(one)

    def _tell(self, one: FollowedLog, *, lag: float | None = None, rate: bool = False) -> None:
        """Send the figures of a log if they changed. `rate`: also if only the rate changed."""
        found = one.reading
        if found is None:
            return
        tokens, window = found.status.tokens, found.status.parameters.window.value
        now, used, limit = time.monotonic(), tokens.used, tokens.limit.value
        if used is not None and not rate:
            one.rate.note(now, used)
        event = StatusChanged(
            log=str(one.path), time=moment(), format=found.log.opening.format.name, model=found.status.model,
            used=used, limit=limit, percent=tokens.percent, level=tokens.level, messages=found.status.inside,
            per_minute=one.rate.per_minute(now), full_in=one.rate.full_in(limit, now), window=window or 0,
            marks=[mark.label or "" for mark in found.status.marks], last_op=found.last_op,
            checkpoint=found.checkpoint, waits_for=found.turns.waits_for, tools=found.turns.tools,
            lag=None if lag is None else round(max(0.0, lag), 4),
        )  # fmt: skip
        told = one.told
        if told is None or _figures(event) != _figures(told) or (rate and told.per_minute != event.per_minute):
            one.told, one.told_at = event, now
            self._emit(event)

    # checkpoints, compactions, archive

    def _exchange(self, one: FollowedLog, found: LogReading) -> None:
        """Notice after an append that an exchange ended, or that the next one began."""
        if found.turns.waits_for == "user":
            one.ended, one.settles = one.written, time.monotonic() + SETTLED
        elif one.ended is not None or found.turns.ended != one.exchange:  # both may come in one append
            one.ended, one.settles = one.ended or one.written, time.monotonic()

    def _wants_checkpoints(self, one: FollowedLog) -> bool:
        found = one.reading
        asked = found is not None and (self._checkpoints or found.log.config["checkpoint.auto"] is True)
        return asked and one.claim is not None

    def _checkpoint(self, one: FollowedLog) -> None:
        """Let the worker decide the checkpoint for the exchange that ended."""
        ended, one.ended = one.ended, None
        if ended is not None and self._wants_checkpoints(one):
            self._jobs.put(partial(self._decided, one, ended))

    def _decided(self, one: FollowedLog, ended: float) -> Step:
        """Make the checkpoint, in the worker."""
        try:
            with one_of_many(str(one.path)):
                found = checkpoint(one.path)
        except (CtxkitError, OSError) as error:
            reason = error.message if isinstance(error, CtxkitError) else reason_of(error)
            return partial(self._kept, one, None, [f"no checkpoint was made: {reason}"], 0.0)
        return partial(self._kept, one, found, found.warned if found is not None else [], time.time() - ended)

    def _kept(self, one: FollowedLog, found: WatchedCheckpoint | None, warned: list[str], took: float) -> None:
        if found is not None:
            kept = found.kept
            event = CheckpointMade(
                log=str(one.path), time=moment(), id=kept.id, label=kept.label, tags=kept.tags,
                seconds=round(max(0.0, took), 3), over=found.over, note="; ".join(found.notes) or None,
            )  # fmt: skip
            self._emit(event)
        texts = [Warned(f"{one.path}: {text}", "checkpoint-failed") for text in warned]
        self._problems(f"checkpoint of {one.path}", texts, one.path)
        if found is not None and one.reading is not None:
            one.reading.checkpoint = found.kept
            self._tell(one)

    def _compact(self, one: FollowedLog) -> None:
        """Take the result of a compaction; start one if the context is full and nothing prevents it."""
        if one.compaction is not None:
            if (end := one.compaction.end()) is not None:
                self._compacted(one, end)
            return
        found, told = one.reading, one.told
        if found is None or told is None or told.percent is None or one.claim is None:
            return
        config = found.log.config
        strategy = strategy_of(config, asked=self._compacts)
        if strategy is None or time.monotonic() < one.compacts:
            return
        if told.percent < config["compact.threshold"] or found.turns.pending:
            return
        if sum(other.compaction is not None for other in self.followed.values()) >= TOGETHER:
            return
        one.claim.note.compacting = True
        one.claim.write()  # before it is told: whoever hears of it may end this process
        self._emit(CompactionStarted(log=str(one.path), time=moment(), percent=told.percent))
        try:
            one.compaction = BackgroundCompaction(one.path, strategy, self.env)
        except OSError as error:  # no process could be started
            self._compacted(one, not_started(one.path, reason_of(error)))
            return
        one.own.add(one.compaction.op)

    def _compacted(self, one: FollowedLog, end: CompactionEnd) -> None:
        one.compaction = None
        if one.claim is not None:
            one.claim.note.compacting = False
            one.claim.write()
        why = end.reason if isinstance(end, CompactionSkipped) else ""
        if isinstance(end, CompactionDone) or why == "cooldown":
            one.pause = 0.0
        elif why != "open call":
            one.pause = min(LATEST, max(AGAIN, 2 * one.pause))
        cooldown = float(one.reading.log.config["compact.cooldown"]) if one.reading is not None else 0.0
        one.compacts = time.monotonic() + (CALLED if why == "open call" else max(cooldown, one.pause))
        if not why or why != one.skipped:  # the same reason is reported once
            self._emit(msgspec.structs.replace(end, time=moment()))
        one.skipped = why
        one.ask()

    def _act_once(self, one: FollowedLog) -> None:
        """Do what is due in a round of `once`, one after the other."""
        if self._wants_checkpoints(one):
            self._decided(one, one.written)()
        self._compact(one)
        if one.compaction is not None and one.reading is not None:
            while (end := one.compaction.end()) is None:
                time.sleep(LOOKED)
            self._compacted(one, end)
            self._take(one, None, _tried(one.path, partial(read_on, one.reading)))

    def _archive(self) -> None:
        """Begin to copy sessions if that is due."""
        asked = self._archiving
        if asked is not None and self._round is None and asked.due(self._copied):
            self._round, self._copied = copy(asked.folder, self.env), time.time()
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
            self._emit(msgspec.structs.replace(done, time=moment()))

    # notes of watchers

    def _claim(self, one: FollowedLog) -> None:
        """Claim a log, or say who holds it. A watcher that was killed before is reported."""
        source = f"note of {one.path}"
        try:
            found = claims.claim(one.path, self.env)
        except OSError as error:
            text = f"{claims.folder(self.env)}: cannot keep a note of who watches: {reason_of(error)}"
            self._problems(source, [f"{text}: no compaction and no checkpoint is made"])
            one.holder = None
            return
        if isinstance(found, Note):
            if one.holder is None:
                text = f"{one.path} is watched already by {claims.held_by(found)}: this one looks on"
                self._problems(source, [text], one.path)
            one.holder = found
            return
        self._problems(source, [])
        one.claim, one.holder = found, None
        if found.left is not None and claims.is_told(found.left):
            why = claims.at_work(one.path)
            self._emit(claims.abnormal_end(LeftNote(found.left, why)))

    def _note(self, one: FollowedLog) -> None:
        """Note how far a log was read, for the next watcher after a crash."""
        now, found = time.monotonic(), one.reading
        if one.claim is None or found is None or now - one.noted < NOTED:
            return
        note, reached = one.claim.note, (found.size, found.status.inside)
        if reached == (note.bytes, note.messages) and now - one.noted < ALIVE:
            return
        one.noted = now
        note.bytes, note.messages = reached
        one.claim.write()


def _tried(path: Path, reading: Callable[[], LogReading]) -> LogReading | CtxkitError:
    """The reading, or the error that ends it; a bug of ours is an error like others, because the watcher goes on."""
    try:
        with one_of_many(str(path)):
            return reading()
    except CtxkitError as error:
        return error
    except OSError as error:
        return CtxkitError(f"{path}: {reason_of(error)}")


def moment() -> str:
    """The time of an event."""
    return iso(round(time.time(), 3))


def _figures(event: StatusChanged) -> StatusChanged:
    """The part of an event by which two events of figures are compared."""
    return msgspec.structs.replace(event, time="", lag=None, per_minute=None, full_in=None)
