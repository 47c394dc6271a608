"""The watcher: follows logs, makes events, and starts compactions, checkpoints and archive copies.

One thread, `run`, holds all state. The others hand it their results through one queue: `watch/file_changes.py` (paths
that changed), the reader (full readings, which take long for a large log), the actor (checkpoints), and one for each
compaction and each round of the archive. An append costs what was appended (`watch/appended.py`); full readings take a
bounded share of the processor (`ALLOWED`).
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ctxkit.core.times import iso
from ctxkit.errors import CtxkitError, Warned, reason_of
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.measure.status import level
from ctxkit.store.folder import LOG_ENDINGS, SIDECAR, logs_of
from ctxkit.watch import claims
from ctxkit.watch.appended import AppendedOp, Rewritten, RunningFigures, ops_beside, read_appended
from ctxkit.watch.archiving import Archiving, copy
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
from ctxkit.watch.full_reading import ConfigFiles, FullReading, config_files, read_fully
from ctxkit.watch.growth_rate import GrowthRate
from ctxkit.watch.places import Places

TICK = 1.0
"""Seconds between two checks of the size and time of all files, for changes without a notification."""
RESCAN = 30.0
"""Seconds between two searches for new logs without a notification."""
POLLED, POLLED_RESCAN = 0.25, 5.0
"""The same two if no notifications come."""
STARTING = 3.0
"""Seconds after the folders changed that are followed, in which notifications may be missing."""
QUIET = 0.4
"""Seconds without an append after which estimated figures are counted."""
ALLOWED, SAVED = 0.1, 2.0
"""The share of a processor that full readings take in the long run, and the seconds of it that can be saved up."""
APART = 10
"""After a full reading of a log that took n seconds, the next one is APART * n seconds later at the earliest."""
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
NOTED, ALIVE = 1.0, 60.0
"""Seconds between two writes of a note, at least and at most. Its time says until when the watcher lived."""
RETOLD = 60.0
"""Seconds without an event after which figures are sent again if the rate changed: it sinks while nothing comes."""
SAID = 1000
"""Warnings that are remembered, so that none is repeated."""
OPS = 500
"""Ids of ops that are remembered for each log, so that none is reported twice."""


Warn = Callable[[str | CtxkitError, Path | None], None]
"""Takes a warning and the log that it is about."""


class FollowedLog:
    """A log that is followed. `reading`: the last full reading; `figures`: the figures now.

    `claim`: this watcher acts on it; `holder`: another one does.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading: FullReading | None = None
        self.figures: RunningFigures | None = None
        self.rate = GrowthRate()
        self.claim: Claim | None = None
        self.holder: Note | None = None
        self.told: StatusChanged | None = None
        self.told_at = 0.0
        """The last event with its figures, and its time on the monotonic clock."""
        self.stamp: tuple[int, int, int, int] | None = None
        """Device, inode, size and time of the file at the last check."""
        self.written = 0.0
        """When the log was written last, in seconds since 1970."""
        self.counted = True
        """Whether the figures are those of a full reading."""
        self.due: float | None = 0.0
        """When a full reading is due; None: none is needed."""
        self.first_due = 0.0
        self.reading_number = 0
        """The number of the full reading under way, 0 for none."""
        self.read_at = 0.0
        self.files: ConfigFiles = ()
        self.gone = False
        self.unnotified: float | None = None
        """When a change was found without a notification so far."""
        self.ops: deque[str] = deque(maxlen=OPS)
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


class Watcher:
    """Watches the logs of `places`. `emit` gets each event, `warn` each warning, once; both are called in the thread of
    `run`. `env`: the environment. `compacts`, `checkpoints`: whether it makes these, also where the config of a log
    does not ask for them. `archiving`: where sessions are copied to meanwhile.
    """

    def __init__(
        self, places: Places, emit: Callable[[AnyEvent], None], warn: Warn, *,
        env: Mapping[str, str], tick: Callable[[], None] = lambda: None, compacts: bool = False,
        checkpoints: bool = False, archiving: Archiving | None = None,
    ) -> None:  # fmt: skip
        self.places = places
        self._compacts, self._checkpoints = compacts, checkpoints
        self._archiving, self._copying = archiving, False
        self._copied: float | None = None
        """When the last round of the archive began, in seconds since 1970."""
        self._acts: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.env = env
        self.followed: dict[str, FollowedLog] = {}
        self._real: dict[str, FollowedLog] = {}
        """The followed logs by the target of their links."""
        self._emit, self._warning, self._tick = emit, warn, tick
        self._said: dict[str, None] = {}
        self._standing: dict[str, list[str]] = {}
        """Warnings that hold now: what is wrong -> the warnings."""
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._asked: queue.SimpleQueue[tuple[FollowedLog, int] | None] = queue.SimpleQueue()
        self._readings = 0
        self._saved, self._refilled = SAVED, time.monotonic()
        self._changes = FileChanges(
            lambda paths: self._queue.put(lambda: self._changed(paths)),
            lambda why: self._queue.put(lambda: self._poll(why)),
        )
        self._polls = False
        """Whether all files are checked every POLLED seconds, because no notifications come."""
        self._rescan = True
        self._scanned = self._ticked = self._polled = 0.0
        self.failed: list[CtxkitError] = []
        """The errors of logs that could not be read in a round of `once`."""
        self.stopped = 0
        """The signal that ended it."""

    def stop(self, signal: int = 0) -> None:
        """End `run`; a signal handler may call this."""
        self.stopped = signal
        self._queue.put(None)

    def run(self) -> None:
        """Watch until `stop`. Raises what `places` raises, and what `emit` raises."""
        threading.Thread(target=self._reader, daemon=True).start()
        threading.Thread(target=self._actor, daemon=True).start()
        try:
            while True:
                self._housekeeping()
                try:
                    step = self._queue.get(timeout=self._patience())
                except queue.Empty:
                    continue
                if step is None:
                    return
                step()
        finally:
            self._changes.close()
            self._asked.put(None)
            self._acts.put(None)
            for one in self.followed.values():
                if one.compaction is not None:
                    one.compaction.stop()
                if one.claim is not None:
                    one.claim.release()

    def once(self) -> None:
        """Read each log once, and do what is due. Raises what `run` raises."""
        if self._archiving is not None:
            self._archived(*copy(self._archiving.folder, self.env))
        for path in self.places.logs():
            one = FollowedLog(path)
            self.followed[os.path.abspath(path)] = one
            try:
                self._claim(one)
                found = self._read_fully(one)
                if isinstance(found, CtxkitError):
                    self.failed.append(found)
                else:
                    self._stamp(one)
                    self._see(one, found)
                    self._tell(one)
                    self._act_once(one)
            finally:
                if one.claim is not None:
                    one.claim.release(keep=True)  # the next watcher is told of it, too
                    one.claim = None

    def warn(self, what: str | CtxkitError, log: Path | None = None) -> None:
        """Give a warning, about a log or about none, once."""
        if (text := _text(what)) not in self._said:
            self._said[text] = None
            self._warning(what, log)
        while len(self._said) > SAID:
            del self._said[next(iter(self._said))]

    def _problems(self, source: str, found: Sequence[str | CtxkitError], log: Path | None = None) -> None:
        """Give those warnings of `source` that did not hold before, there or elsewhere.

        A warning that no longer holds is forgotten: it is given again when it comes back.
        """
        standing = {text for texts in self._standing.values() for text in texts} if found else set()
        self._standing.pop(source, None)
        if found:
            self._standing[source] = [_text(what) for what in found]
        for what in found:
            if (text := _text(what)) not in standing:
                standing.add(text)
                self._warning(what, log)

    # the loop

    def _patience(self) -> float:
        """Seconds until something is due."""
        now = time.monotonic()
        due = min(self._ticked + TICK, self._polled + POLLED) if self._polls else self._ticked + TICK
        for one in self.followed.values():
            if one.ended is not None:
                due = min(due, one.settles)
            if one.due is not None and not one.reading_number:
                due = min(due, one.due if one.reading is None else max(one.due, now + self._wait()))
        return max(0.001, due - now)

    def _wait(self) -> float:
        """Seconds until full readings have their share of the processor again."""
        return max(0.0, -self._saved / ALLOWED)

    def _housekeeping(self) -> None:
        now = time.monotonic()
        self._saved = min(SAVED, self._saved + (now - self._refilled) * ALLOWED)
        self._refilled = now
        rescan = TICK if self._rescan else POLLED_RESCAN if self._polls else RESCAN
        if now - self._scanned >= rescan or not self._scanned:
            self._scan()
        if self._polls and now - self._polled >= POLLED:
            self._polled = now
            for one in list(self.followed.values()):
                self._update(one)
        if now - self._ticked >= TICK:
            self._ticked = now
            for one in list(self.followed.values()):
                self._find_change(one, now)
                self._check_config(one)
                self._note(one)
                if one.claim is None:
                    self._claim(one)
                if one.told is not None and one.told.per_minute is not None and now - one.told_at >= RETOLD:
                    self._tell(one, counted=one.counted, rate=True)
            self._archive()
            self._tick()
        for one in self.followed.values():
            allowed = self._saved >= 0 or one.reading is None  # a replaced log has no other figures
            if one.due is not None and one.due <= now and not one.reading_number and allowed:
                self._readings += 1
                one.reading_number, one.due = self._readings, None
                self._asked.put((one, self._readings))
            if one.ended is not None and one.settles <= now:
                self._checkpoint(one)
            self._compact(one)

    def _find_change(self, one: FollowedLog, now: float) -> None:
        """Read a change of a log without a notification; if none comes within TICK seconds, poll."""
        before = one.stamp
        self._update(one)
        if before is None or self._polls or now - self._changes.began < STARTING:
            one.unnotified = None
        elif one.unnotified is not None and now - one.unnotified >= TICK:
            self._poll(f"none came of a change of {one.path}")
        elif one.stamp != before and one.unnotified is None and not one.gone:
            one.unnotified = now

    def _poll(self, why: str) -> None:
        """From now on check all files every POLLED seconds, because no notifications come."""
        self._polls = True
        often = f"{POLLED * 1000:g} ms"
        self.warn(f"the system gives no notifications of changes ({why}): all logs are checked every {often}")

    def _scan(self) -> None:
        """Follow new logs, and no longer those that `places` leaves out."""
        first = not self._scanned
        self._rescan, self._scanned = False, time.monotonic()
        try:
            logs = self.places.logs()
        except (CtxkitError, OSError) as error:
            if first:
                raise
            self.warn(f"no new sessions are searched for: {error}")
            return
        wanted = {os.path.abspath(path): path for path in logs}
        for key, path in wanted.items():
            if key not in self.followed:
                one = self.followed[key] = FollowedLog(path)
                self._claim(one)
        for key in self.followed.keys() - wanted.keys():
            gone = self.followed.pop(key)
            gone.reading_number = 0  # the result of a reading under way is dropped
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
                one.unnotified = None
                self._update(one)
                if path == beside or path.endswith("config.toml"):
                    self._check_config(one)
                    self._rescan = True
            elif self.places.scope != "named" and (path.endswith(LOG_ENDINGS) or os.path.isdir(path)):
                self._rescan = True  # files that a new folder had from the start have no notification

    # one log

    def _update(self, one: FollowedLog) -> None:
        """Read what changed in a log since the last check."""
        try:
            found = os.stat(one.path)
        except OSError:
            if not one.gone and one.stamp is not None:
                one.gone = True
                self._replaced(one, "removed")
            return
        stamp = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        before, one.stamp, one.written, one.gone = one.stamp, stamp, found.st_mtime, False
        if one.reading is None or one.figures is None:
            if stamp != before and not one.reading_number and one.due is None:
                one.due = time.monotonic()
            return
        ops: list[AppendedOp] = []
        offset = one.figures.offset
        try:
            if stamp != before and one.reading.whole:
                one.figures.recount = True
            elif stamp != before:
                if stamp[:2] != (one.reading.dev, one.reading.ino):
                    self._replaced(one, "replaced")
                    return
                if found.st_size < one.figures.offset:
                    self._replaced(one, "truncated")
                    return
                ops += read_appended(one.figures, one.reading)
            ops += ops_beside(one.figures, one.reading)
        except Rewritten:
            self._replaced(one, "rewritten")
            return
        except CtxkitError as error:
            one.figures.recount = True
            self.warn(error, one.path)
        for op in ops:
            self._op(one, op)
        if one.figures.offset != offset:
            self._exchange(one)
            self._tell(one, lag=time.time() - one.written, counted=False)
            self._note(one)
        if one.figures.recount or one.figures.offset != offset:
            self._ask(one, soon=one.figures.recount)

    def _op(self, one: FollowedLog, op: AppendedOp) -> None:
        if op.id in one.ops:
            return
        one.ops.append(op.id)
        self.emit(OpFromElsewhere(log=str(one.path), time=moment(), op=op.id, name=op.name))

    def _replaced(self, one: FollowedLog, how: Replacement) -> None:
        """Handle a log that is no longer the same file: all of it is read again."""
        cost = one.reading.seconds if one.reading is not None else 0.0
        one.reading = one.figures = None
        one.rate, one.reading_number = GrowthRate(), 0
        one.due = None if how == "removed" else max(time.monotonic(), one.read_at + APART * cost)
        self.emit(LogReplaced(log=str(one.path), time=moment(), how=how))

    def _ask(self, one: FollowedLog, *, soon: bool) -> None:
        """Ask for a full reading: at once if `soon`, else when nothing more comes, after TICK seconds at the latest."""
        now = time.monotonic()
        if one.due is None:
            one.first_due = now
        apart = one.read_at + APART * (one.reading.seconds if one.reading is not None else 0.0)
        one.due = max(apart, now if soon else min(now + QUIET, one.first_due + TICK))

    def _check_config(self, one: FollowedLog) -> None:
        """Ask for a full reading if the files of a log's config changed."""
        if one.reading is not None and (files := config_files(one.path)) != one.files:
            one.files = files
            self._ask(one, soon=True)

    # full readings

    def _reader(self) -> None:
        while (asked := self._asked.get()) is not None:
            one, number = asked
            found = self._read_fully(one)
            self._queue.put(lambda one=one, number=number, found=found: self._take_reading(one, number, found))  # type: ignore[misc]  # mypy: defaults of a lambda

    def _read_fully(self, one: FollowedLog) -> FullReading | CtxkitError:
        try:
            with one_of_many(str(one.path)):
                return read_fully(one.path)
        except CtxkitError as error:
            return error
        except OSError as error:
            return CtxkitError(f"{one.path}: {reason_of(error)}")

    def _take_reading(self, one: FollowedLog, number: int, found: FullReading | CtxkitError) -> None:
        """Take the result of a full reading; it is dropped if the file was replaced meanwhile."""
        if one.reading_number != number:
            return
        one.reading_number, one.read_at = 0, time.monotonic()
        if isinstance(found, CtxkitError):
            if os.path.exists(one.path):
                self._problems(str(one.path), [found], one.path)
            return
        self._saved = max(-SAVED, self._saved - found.seconds)
        self._see(one, found)
        with suppress(CtxkitError, Rewritten):  # appended during the reading; errors are reported on the next append
            for op in (*read_appended(self._running(one), found), *ops_beside(self._running(one), found)):
                self._op(one, op)
        grown = self._running(one).offset != found.offset
        if grown:
            self._exchange(one)
        self._tell(one, counted=not grown)
        if grown or self._running(one).recount:
            self._ask(one, soon=False)
        self._note(one)

    def _running(self, one: FollowedLog) -> RunningFigures:
        assert one.figures is not None, "after a full reading"  # noqa: S101  # for mypy
        return one.figures

    def _see(self, one: FollowedLog, found: FullReading) -> None:
        first = one.reading is None
        one.reading, one.figures = found, RunningFigures.of(found)
        if first:
            one.files = found.files
        if time.time() - one.written < JUST_NOW if first else found.turns.ended != one.exchange:
            self._exchange(one)
        one.exchange = found.turns.ended
        self._problems(str(one.path), found.notices, one.path)

    def _stamp(self, one: FollowedLog) -> None:
        with suppress(OSError):
            one.written = os.stat(one.path).st_mtime

    # events

    def emit(self, event: AnyEvent) -> None:
        """Send an event."""
        self._emit(event)

    def _tell(self, one: FollowedLog, *, lag: float | None = None, counted: bool = True, rate: bool = False) -> None:
        """Send the figures of a log if they changed. `rate`: also if only the rate changed."""
        found, running = one.reading, one.figures
        if found is None or running is None:
            return
        one.counted = counted
        tokens = found.status.tokens
        limit, used, percent = tokens.limit.value, running.used, None
        colour = None
        if limit and used is not None:
            percent = round(100 * used / limit, 2)
            colour = level(percent, found.config["status.yellow"], found.config["status.red"])
        now = time.monotonic()
        if used is not None and not rate:
            one.rate.note(now, used)
        per_minute, full_in = one.rate.per_minute(now), one.rate.full_in(limit, now)
        event = StatusChanged(
            log=str(one.path), time=moment(), format=found.format.name, model=running.model, used=used, limit=limit,
            percent=percent, level=colour, counted=counted, messages=running.messages,
            per_minute=per_minute, full_in=full_in,
            window=found.status.parameters.window.value or 0,
            marks=[mark.label or "" for mark in found.status.marks], last_op=found.last_op,
            checkpoint=found.checkpoint, waits_for=running.turns.waits_for, tools=running.turns.tools,
            lag=None if lag is None else round(max(0.0, lag), 4),
        )  # fmt: skip
        same = one.told is not None and _figures(event) == _figures(one.told)
        if not same or (rate and one.told is not None and one.told.per_minute != per_minute):
            one.told, one.told_at = event, now
            self.emit(event)

    # checkpoints, compactions, archive

    def _exchange(self, one: FollowedLog) -> None:
        """Notice after an append that an exchange ended, or that the next one began."""
        if one.figures is None:
            return
        turns = one.figures.turns
        if turns.waits_for == "user":
            one.ended, one.settles = one.written, time.monotonic() + SETTLED
        elif one.ended is not None or turns.ended != one.exchange:  # both may come in one append
            one.ended, one.settles = one.ended or one.written, time.monotonic()
        one.exchange = turns.ended

    def _wants_checkpoints(self, one: FollowedLog) -> bool:
        return one.reading is not None and (self._checkpoints or one.reading.config["checkpoint.auto"] is True)

    def _checkpoint(self, one: FollowedLog) -> None:
        """Let the actor decide the checkpoint for the exchange that ended."""
        ended, one.ended = one.ended, None
        if ended is None or one.claim is None or not self._wants_checkpoints(one):
            return
        self._acts.put(lambda: self._checkpointed(one, ended))

    def _actor(self) -> None:
        while (act := self._acts.get()) is not None:
            act()

    def _checkpointed(self, one: FollowedLog, ended: float) -> None:
        """Make the checkpoint, in the actor's thread, and queue the result."""
        try:
            with one_of_many(str(one.path)):
                found = checkpoint(one.path)
        except (CtxkitError, OSError) as error:
            reason = error.message if isinstance(error, CtxkitError) else reason_of(error)
            text = Warned(f"{one.path}: no checkpoint was made: {reason}", "checkpoint-failed")
            self._queue.put(lambda: self._problems(f"checkpoint of {one.path}", [text], one.path))
            return
        self._queue.put(lambda: self._problems(f"checkpoint of {one.path}", []))
        if found is not None:
            self._queue.put(lambda: self._kept(one, found, time.time() - ended))

    def _kept(self, one: FollowedLog, found: WatchedCheckpoint, took: float) -> None:
        if one.reading is not None:
            one.reading.checkpoint = found.kept
        kept = found.kept
        event = CheckpointMade(
            log=str(one.path), time=moment(), id=kept.id, label=kept.label, tags=kept.tags,
            seconds=round(max(0.0, took), 3), over=found.over, note="; ".join(found.notes) or None,
        )  # fmt: skip
        self.emit(event)
        for text in found.warned:
            self.warn(Warned(f"{one.path}: {text}", "checkpoint-failed"), one.path)
        self._tell(one, counted=one.counted)

    def _compact(self, one: FollowedLog) -> None:
        """Start a compaction if the context is full and nothing prevents it."""
        found, running, told = one.reading, one.figures, one.told
        if found is None or running is None or told is None or told.percent is None or one.claim is None:
            return
        strategy = strategy_of(found.config, asked=self._compacts)
        now = time.monotonic()
        if strategy is None or one.compaction is not None or now < one.compacts:
            return
        if told.percent < found.config["compact.threshold"] or running.turns.pending:
            return
        if sum(other.compaction is not None for other in self.followed.values()) >= TOGETHER:
            return
        one.claim.note.compacting = True
        one.claim.write()  # before it is told: whoever hears of it may end this process
        self.emit(CompactionStarted(log=str(one.path), time=moment(), percent=told.percent))
        try:
            one.compaction = BackgroundCompaction(
                one.path, strategy, lambda end: self._queue.put(lambda: self._compacted(one, end)), self.env
            )
        except (OSError, RuntimeError) as error:  # no process or thread could be started
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            self._compacted(one, not_started(one.path, reason))
            return
        one.ops.append(one.compaction.op)  # it is not from elsewhere

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
        cooldown = float(one.reading.config["compact.cooldown"]) if one.reading is not None else 0.0
        one.compacts = time.monotonic() + (CALLED if why == "open call" else max(cooldown, one.pause))
        if not why or why != one.skipped:  # the same reason is reported once
            self.emit(msgspec.structs.replace(end, time=moment()))
        one.skipped = why
        self._ask(one, soon=True)

    def _act_once(self, one: FollowedLog) -> None:
        """Do what is due in a round of `once`, one after the other."""
        if one.claim is None:
            return
        if self._wants_checkpoints(one):
            self._checkpointed(one, one.written)
        self._compact(one)
        begun = one.compaction
        if begun is not None:
            begun.join()
        while not self._queue.empty():
            if (step := self._queue.get()) is not None:
                step()
        if begun is not None and not isinstance(found := self._read_fully(one), CtxkitError):
            self._see(one, found)
            self._tell(one)

    def _archive(self) -> None:
        """Copy sessions if that is due, in a thread of its own, because it may take minutes."""
        asked = self._archiving
        if asked is None or self._copying or not asked.due(self._copied):
            return
        self._copying, self._copied = True, time.time()

        def work() -> None:
            done, warnings = copy(asked.folder, self.env)
            self._queue.put(lambda: self._archived(done, warnings))

        threading.Thread(target=work, daemon=True).start()

    def _archived(self, done: ArchiveDone | None, warnings: list[str]) -> None:
        self._copying = False
        self._problems("archive", warnings)
        if done is not None:
            self.emit(msgspec.structs.replace(done, time=moment()))

    # notes of watchers

    def _claim(self, one: FollowedLog) -> None:
        """Claim a log, or say who holds it. A watcher that was killed before is reported."""
        try:
            found = claims.claim(one.path, self.env)
        except OSError as error:
            self.warn(
                f"{claims.folder(self.env)}: cannot keep a note of who watches: {reason_of(error)}: "
                "no compaction and no checkpoint is made"
            )
            one.holder = None
            return
        if isinstance(found, Note):
            if one.holder is None:
                self.warn(f"{one.path} is watched already by {claims.held_by(found)}: this one looks on", one.path)
            one.holder = found
            return
        one.claim, one.holder = found, None
        if found.left is not None and claims.is_told(found.left):
            why = claims.at_work(one.path)
            self.emit(claims.abnormal_end(LeftNote(found.left, why)))

    def _note(self, one: FollowedLog) -> None:
        """Note how far a log was read, for the next watcher after a crash."""
        now = time.monotonic()
        if one.claim is None or one.figures is None or now - one.noted < NOTED:
            return
        reached = one.figures.offset, one.figures.messages
        known = one.claim.note.bytes, one.claim.note.messages
        if reached == known and now - one.noted < ALIVE:
            return
        one.noted = now
        one.claim.note.bytes, one.claim.note.messages = reached
        one.claim.write()


def moment() -> str:
    """The time of an event."""
    return iso(round(time.time(), 3))


def _text(what: str | CtxkitError) -> str:
    """The words of a warning."""
    return what.message if isinstance(what, CtxkitError) else what


def _figures(event: StatusChanged) -> StatusChanged:
    """The part of an event by which two events of figures are compared."""
    return msgspec.structs.replace(event, time="", lag=None, per_minute=None, full_in=None, counted=True)
