"""One log that is followed: read on after each append, told of, compacted and given checkpoints by itself.

Pipeline: `watch/watcher.py` (its loop, its worker) -> here -> `watch/reading.py`, `watch/compaction.py`,
`watch/checkpointing.py`, `watch/claims.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from ctxkit.errors import CannotCreate, CtxkitError, Warned, reason_of
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.watch import claims
from ctxkit.watch.checkpointing import checkpoint
from ctxkit.watch.claims import Claim, Note
from ctxkit.watch.compaction import BackgroundCompaction, CompactionEnd, failed, strategy_of
from ctxkit.watch.events import (
    AnyEvent,
    CheckpointMade,
    CompactionDone,
    CompactionSkipped,
    CompactionStarted,
    LogReplaced,
    OpFromElsewhere,
    Replacement,
    StatusChanged,
)
from ctxkit.watch.growth_rate import GrowthRate
from ctxkit.watch.reading import ConfigFiles, LogReading, config_files, read, read_on

APART = 5
"""After a reading of a log that took n seconds of a processor, the next one of that kind (whole, or of what was
appended) is APART * n seconds later at the earliest.
"""
SETTLED = 0.3
"""Seconds after a reply of the model until its exchange counts as finished: a call may follow at once."""
JUST_NOW = 10.0
"""At the first reading, the newest exchange counts as just finished if the log was written in the last seconds."""
AGAIN, LATEST = 60.0, 3600.0
"""Seconds until the next try after a compaction without a result, and the most, as they double each time."""
CALLED = 2.0
"""Seconds until the next try after one that found a call without a result."""
LOOKED = 0.05
"""Seconds between two looks whether a compaction has ended."""
ALIVE = 60.0
"""Seconds between two writes of a note at most: its time says until when the watcher lived."""
RETOLD = 60.0
"""Seconds without an event after which figures are sent again if the rate changed: it sinks while nothing comes."""

Step = Callable[[], object]
"""What the thread of the loop does next."""


class Surroundings(NamedTuple):
    """What a followed log has of its watcher. `problems` gives those warnings of a source, about a log or about none,
    that did not hold before; `later` gives the worker a job, whose result the loop does next.

    `compacts`, `checkpoints`: whether these are made, also where the log's config does not ask for them. `may_compact`:
    whether one more compaction may run.
    """

    env: Mapping[str, str]
    emit: Callable[[AnyEvent], None]
    problems: Callable[[str, Sequence[str | CtxkitError], Path | None], None]
    later: Callable[[Callable[[], Step]], None]
    may_compact: Callable[[], bool]
    compacts: bool
    checkpoints: bool


class FollowedLog:
    """A log that is followed. `claim`: this watcher acts on it; `holder`: another one does.

    All methods but those that are called `_make_…` run in the thread of the loop.
    """

    def __init__(self, path: Path, around: Surroundings) -> None:
        self.path, self.name, self._around = path, str(path), around
        self.reading: LogReading | None = None
        self.claim: Claim | None = None
        self.holder: Note | None = None
        self.compaction: BackgroundCompaction | None = None
        self._told: StatusChanged | None = None
        self._told_at = 0.0
        """The last event with its figures, and its time on the monotonic clock."""
        self._rate = GrowthRate()
        self._stamp: tuple[int, int, int, int] | None = None
        """Device, inode, size and time of the file at the last check; None: it is not there."""
        self._written = 0.0
        """When the log was written last, in seconds since 1970."""
        self._due: float | None = 0.0
        """When a reading is due; None: none is needed."""
        self._rests = {True: 0.0, False: 0.0}
        """Until when none of what was appended is read, and until when the log is not read whole."""
        self._whole = True
        """Whether the log must be read whole."""
        self._job: object = None
        """The whole reading under way; None: there is none."""
        self._files: ConfigFiles = ()
        self._own: set[str] = set()
        """The ops of this watcher."""
        self._ended: float | None = None
        """When the newest exchange ended, in seconds since 1970; None: the checkpoint for it was decided."""
        self._exchange: int | None = None
        """The last exchange whose end was noticed, as `Turns.ended` has it."""
        self._settles = 0.0
        """When a checkpoint for it is decided."""
        self._compacts = 0.0
        """No compaction starts before this moment."""
        self._pause = 0.0
        """Seconds until the next try after one without a result."""
        self._skipped = ""
        """Why the last try had no result."""

    def patience(self, now: float) -> float:
        """Seconds until something is due; it may be in the past."""
        moments = [now + 1.0]
        if self._ended is not None:
            moments.append(self._settles)
        if self._due is not None and self._job is None:
            moments.append(self._due)
        if self.compaction is not None:
            moments.append(now + LOOKED)
        return min(moments) - now

    def act(self, now: float) -> None:
        """Do what is due."""
        if self._due is not None and self._due <= now and self._job is None:
            self._read()
        if self._ended is not None and self._settles <= now:
            ended, self._ended = self._ended, None
            if self._wants_checkpoints():
                self._around.later(partial(self._make_checkpoint, ended))
        if self.compaction is None:
            self._compact()
        elif (end := self.compaction.end()) is not None:
            self._compacted(end)

    def act_once(self) -> CtxkitError | None:
        """Read the log, and do what is due, one after the other; returns the error if it cannot be read."""
        self._claim()
        self._stamped()
        found = _tried(self.path, partial(read, self.path))
        if isinstance(found, CtxkitError):
            return found
        self._take(None, found)
        if self._wants_checkpoints():
            self._make_checkpoint(self._written)()
        self._compact()
        if self.compaction is not None:
            while (end := self.compaction.end()) is None:
                time.sleep(LOOKED)
            self._compacted(end)
        self._take(None, _tried(self.path, partial(read_on, found)))
        return None

    def check(self, now: float) -> None:
        """Look for changes without a notification, of the log and of its config; write the note."""
        self.update()
        if self.reading is not None and (files := config_files(self.path)) != self._files:
            self._files, self._whole = files, True
            self._ask()
        if self.claim is None:
            self._claim()
        elif self.reading is not None:
            note, reached = self.claim.note, (self.reading.size, self.reading.status.inside)
            if reached != (note.bytes, note.messages) or time.time() - note.noted >= ALIVE:
                note.bytes, note.messages = reached
                self.claim.write()
        if self._told is not None and self._told.per_minute is not None and now - self._told_at >= RETOLD:
            self._tell(rate=True)

    def update(self) -> None:
        """Ask for a reading if the log changed since the last check."""
        before, reading = self._stamped(), self.reading
        if self._stamp is None:
            if before is not None:
                self._replaced("removed")
        elif self._stamp != before or (reading is not None and reading.has_new_ops()):
            self._ask()

    def let_go(self, *, keep: bool = False) -> None:
        """Do nothing more with the log. `keep`: the next watcher is told of a watcher that was killed before, too."""
        self._job = None  # the result of a reading under way is dropped
        if self.compaction is not None:
            self.compaction.stop()
        if self.claim is not None:
            self.claim.release(keep=keep)
            self.claim = None

    # readings

    def _stamped(self) -> tuple[int, int, int, int] | None:
        """Note what the file is now; returns its stamp before."""
        before = self._stamp
        try:
            found = os.stat(self.path)
        except OSError:
            self._stamp = None
        else:
            self._stamp = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
            self._written = found.st_mtime
        return before

    def _ask(self) -> None:
        """From now on a reading is due."""
        if self._due is None:
            self._due = max(time.monotonic(), self._rests[self._goes_on()])

    def _goes_on(self) -> bool:
        """Whether only what was appended is to be read."""
        reading, stamp = self.reading, self._stamp
        return not self._whole and reading is not None and stamp is not None and reading.can_go_on(stamp[2])

    def _replaced(self, how: Replacement) -> None:
        """Handle a log that is no longer the same file: all of it is read again."""
        self.reading, self._job, self._due, self._rate = None, None, None, GrowthRate()
        self._around.emit(LogReplaced(log=self.name, how=how))

    def _read(self) -> None:
        """Read the log: at once if only what was appended is to be read, else in the worker."""
        self._due, reading = None, self.reading
        try:
            how = reading.replacement() if reading is not None else None
        except CtxkitError:
            how, self._whole = None, True  # the reading says what is wrong
        if how is not None:
            self._replaced(how)
            self._ask()
            return
        if reading is not None and self._goes_on():
            self._take(None, _tried(self.path, partial(read_on, reading)))
            return
        if self._stamp is None:
            self._stamped()
        self._whole, job = False, object()
        self._job = job
        self._around.later(lambda: partial(self._take, job, _tried(self.path, partial(read, self.path))))

    def _take(self, job: object, found: LogReading | CtxkitError) -> None:
        """Take a reading; it is dropped if the file was replaced meanwhile."""
        if self._job is not job:
            return
        self._job, before = None, self.reading
        if isinstance(found, CtxkitError):
            self._whole = True
            if os.path.exists(self.path):
                self._around.problems(self.name, [found], self.path)
            return
        self.reading, self._files = found, found.files
        went_on = before is not None and before.log is found.log
        self._rests[went_on] = time.monotonic() + APART * found.cost
        self._around.problems(self.name, found.notices, self.path)
        lag = time.time() - self._written
        if before is None:
            grew, new = lag < JUST_NOW, []
        else:
            grew = found.size != before.size or found.turns.ended != self._exchange
            new = [op for op in found.ops if op not in before.ops and op not in self._own]
        for op in new:
            self._around.emit(OpFromElsewhere(log=self.name, op=op, name=found.ops[op]))
        if grew and found.turns.waits_for == "user":
            self._ended, self._settles = self._written, time.monotonic() + SETTLED
        elif grew and (self._ended is not None or found.turns.ended != self._exchange):  # both may come in one append
            self._ended, self._settles = self._ended or self._written, time.monotonic()
        self._exchange = found.turns.ended
        self._tell(lag=lag if grew and before is not None else None)

    def _tell(self, *, lag: float | None = None, rate: bool = False) -> None:
        """Send the figures if they changed. `rate`: also if only the rate changed."""
        found = self.reading
        if found is None:
            return
        tokens, window = found.status.tokens, found.status.parameters.window.value
        now, used, limit = time.monotonic(), tokens.used, tokens.limit.value
        if used is not None and not rate:
            self._rate.note(now, used)
        event = StatusChanged(
            log=self.name, format=found.log.opening.format.name, model=found.status.model, used=used, limit=limit,
            percent=tokens.percent, level=tokens.level, messages=found.status.inside,
            per_minute=self._rate.per_minute(now), full_in=self._rate.full_in(limit, now), window=window or 0,
            marks=[mark.label or "" for mark in found.status.marks], last_op=found.last_op,
            checkpoint=found.checkpoint, waits_for=found.turns.waits_for, tools=found.turns.tools,
            lag=None if lag is None else round(max(0.0, lag), 4),
        )  # fmt: skip
        told = self._told
        if told is None or _figures(event) != _figures(told) or (rate and told.per_minute != event.per_minute):
            self._told, self._told_at = event, now
            self._around.emit(event)

    # checkpoints

    def _wants_checkpoints(self) -> bool:
        found = self.reading
        asked = found is not None and (self._around.checkpoints or found.log.config["checkpoint.auto"] is True)
        return asked and self.claim is not None

    def _make_checkpoint(self, ended: float) -> Step:
        """Decide on a checkpoint for the exchange that ended, in the worker."""
        try:
            with one_of_many(self.name):
                made, warned = checkpoint(self.path, ended)
        except (CtxkitError, OSError) as error:
            reason = error.message if isinstance(error, CtxkitError) else reason_of(error)
            made, warned = None, [f"no checkpoint was made: {reason}"]
        return partial(self._checkpointed, made, warned)

    def _checkpointed(self, made: CheckpointMade | None, warned: list[str]) -> None:
        texts = [Warned(f"{self.path}: {text}", "checkpoint-failed") for text in warned]
        self._around.problems(f"checkpoint of {self.path}", texts, self.path)
        if made is not None:
            self._around.emit(made)
            self._ask()

    # compactions

    def _compact(self) -> None:
        """Start a compaction if the context is full and nothing prevents it."""
        found, claim = self.reading, self.claim
        if found is None or claim is None or found.status.tokens.percent is None:
            return
        config, percent = found.log.config, found.status.tokens.percent
        strategy = strategy_of(config, asked=self._around.compacts)
        if strategy is None or time.monotonic() < self._compacts or percent < config["compact.threshold"]:
            return
        if found.turns.pending or not self._around.may_compact():
            return
        claim.note.compacting = True
        claim.write()  # before it is told: whoever hears of it may end this process
        self._around.emit(CompactionStarted(log=self.name, percent=percent))
        try:
            self.compaction = BackgroundCompaction(self.path, strategy, self._around.env)
            self._own.add(self.compaction.op)
        except OSError as error:  # no process could be started
            text = f"its process could not be started: {reason_of(error)}"
            self._compacted(failed(self.name, CannotCreate(text)))

    def _compacted(self, end: CompactionEnd) -> None:
        self.compaction = None
        if self.claim is not None:
            self.claim.note.compacting = False
            self.claim.write()
        why = end.reason if isinstance(end, CompactionSkipped) else ""
        if isinstance(end, CompactionDone) or why == "cooldown":
            self._pause = 0.0
        elif why != "open call":
            self._pause = min(LATEST, max(AGAIN, 2 * self._pause))
        cooldown = float(self.reading.log.config["compact.cooldown"]) if self.reading is not None else 0.0
        self._compacts = time.monotonic() + (CALLED if why == "open call" else max(cooldown, self._pause))
        if not why or why != self._skipped:  # the same reason is reported once
            self._around.emit(end)
        self._skipped = why
        self._ask()

    # the note of the watcher

    def _claim(self) -> None:
        """Claim the log, or say who holds it. A watcher that was killed before is reported."""
        source, problems = f"note of {self.path}", self._around.problems
        try:
            found = claims.claim(self.path, self._around.env)
        except OSError as error:
            text = f"{claims.folder(self._around.env)}: cannot keep a note of who watches: {reason_of(error)}"
            problems(source, [f"{text}: no compaction and no checkpoint is made"], None)
            self.holder = None
            return
        if isinstance(found, Note):
            if self.holder is None:
                text = f"{self.path} is watched already by {claims.held_by(found)}: this one looks on"
                problems(source, [text], self.path)
            self.holder = found
            return
        problems(source, [], None)
        self.claim, self.holder = found, None
        if found.left is not None and claims.is_told(found.left):
            self._around.emit(claims.abnormal_end(found.left))


def _tried(path: Path, reading: Callable[[], LogReading]) -> LogReading | CtxkitError:
    """The reading, or the error that ends it; a bug of ours is an error like others, because the watcher goes on."""
    try:
        with one_of_many(str(path)):
            return reading()
    except CtxkitError as error:
        return error
    except OSError as error:
        return CtxkitError(f"{path}: {reason_of(error)}")


def _figures(event: StatusChanged) -> StatusChanged:
    """The part of an event by which two events of figures are compared."""
    return msgspec.structs.replace(event, time="", lag=None, per_minute=None, full_in=None)
