"""A log that is watched, as it was read last: what `ctxkit status` says of it, and whose turn it is.

Pipeline: `watch/watcher.py` -> here -> `logfile/append.py` (`refresh`) -> `measure/status.py`. A log is read whole
once; after an append its reader goes on with the new rows.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ctxkit.core.times import iso, seconds
from ctxkit.errors import CtxkitError, Warned
from ctxkit.logfile.append import AppendableLog
from ctxkit.measure.count import Counting
from ctxkit.measure.status import Status, status
from ctxkit.search.log_files import ruin_of
from ctxkit.settings import said_config
from ctxkit.store.private import user_config
from ctxkit.store.records import RecordLines
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log, tail_digest
from ctxkit.watch.claims import newest_checkpoint
from ctxkit.watch.events import LastCheckpoint, LastOp, Replacement
from ctxkit.watch.turns import Turns, whose_turn

MUCH = 4 << 20
"""Appended bytes from which on a log is read whole, as for the first time: in another thread."""

ConfigFiles = tuple[tuple[str, int, int], ...]
"""Files of a config that exist: path, time in nanoseconds, size."""


class LogReading(msgspec.Struct):
    """What was read of a log. `log` is opened; `status`: its figures; `ops`: id -> name, of all its ops.

    `files`: those of its config, as they were before it was opened; `cost`: seconds of a processor.
    """

    log: AppendableLog
    files: ConfigFiles
    status: Status
    turns: Turns
    ops: dict[str, str]
    last_op: LastOp | None
    checkpoint: LastCheckpoint | None
    cost: float

    @property
    def size(self) -> int:
        """How many bytes of the log were read."""
        return self.log.opening.source.size

    @property
    def rewritten_each_time(self) -> bool:
        """Whether its program writes the file anew whenever it grows: one JSON text, or a compressed file."""
        opening = self.log.opening
        return isinstance(opening.laid_out, RecordLines) or opening.source.compressed

    @property
    def notices(self) -> list[str]:
        """Mistakes in its config, and what else is to be known of the file."""
        config = self.log.config
        found = [*(error.message for error in config.errors), *config.notices]
        return [*(Warned(text, "config") for text in found), *self.log.opening.notices]

    def can_go_on(self, size: int) -> bool:
        """Whether `read_on` costs little; `size`: of the file now. Without a message its format is not known yet."""
        return not self.rewritten_each_time and len(self.log.messages) > 0 and size - self.size <= MUCH

    def has_new_ops(self) -> bool:
        """Whether the ops beside the log changed."""
        opening = self.log.opening
        if opening.sidecar is None or opening.format.native:
            return False
        with suppress(CtxkitError):
            return (opening.sidecar.ops_size() or 0) != opening.sidecar_size
        return False

    def replacement(self) -> Replacement | None:
        """What happened to the file if it is not the one that was read, grown or not. Raises what `open_log` raises."""
        seen = self.log.opening.source.seen
        if seen is None or self.rewritten_each_time:
            return None
        with open_log(self.log.opening.name) as source:
            now = source.seen
            if now is None or (now.dev, now.ino) != (seen.dev, seen.ino):
                return "replaced"
            if source.size < seen.size:
                return "truncated"
            return "rewritten" if tail_digest(source, seen.size) != seen.digest else None


def read(path: Path) -> LogReading:
    """Read a log as a whole.

    Raises what opening a log and `status` raise; UnknownFormat for a ruined log, which may be read as an empty one.
    """
    began = time.thread_time()
    files = config_files(path)  # before they are read: a change in between must not be missed
    if error := ruin_of(path):
        raise error
    log = AppendableLog.open(path, tolerant=True, unsaid="none")
    Counting(log).counter.anew(["ready"])  # the tokenizer is made here: an append must not wait for it
    return _reading(log, files, began)


def read_on(before: LogReading) -> LogReading:
    """Read what was appended to a log and its ops. Raises what `read` raises."""
    began = time.thread_time()
    before.log.refresh()
    before.log.force = False  # `status` sets it if ops do not fit, and an undo may have come
    return _reading(before.log, before.files, began)


def _reading(log: AppendableLog, files: ConfigFiles, began: float) -> LogReading:
    found, entries = status(log), log.ledger.entries
    last = None
    if entries:
        moment = seconds(entries[-1].body.get("ts"))
        last = LastOp(entries[-1].number, entries[-1].name, None if moment is None else iso(moment))
    ops = {str(one.body.get("id", "")): str(one.body.get("ctxkit", "")) for one in log.transcript.ops}
    turns, checkpoint = whose_turn(log.transcript), newest_checkpoint(log.opening.sidecar)
    return LogReading(log, files, found, turns, ops, last, checkpoint, time.thread_time() - began)


def config_files(path: Path) -> ConfigFiles:
    """The files that the config of a log comes from, as they are now."""
    files = [user_config(os.environ), Sidecar(path, None).config_path]
    files += [folder / "ctxkit.toml" for folder in path.resolve().parents]
    stamps = []
    for file in files:
        try:
            told = os.stat(file)
        except OSError:
            continue
        stamps.append((str(file), told.st_mtime_ns, told.st_size))
        with suppress(OSError):  # accepted, or not any more, while we look on
            note = said_config.note_of(file, os.environ)
            stamps.append((str(note), os.stat(note).st_mtime_ns, 0))
    return tuple(stamps)
