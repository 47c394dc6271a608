"""Reads a log as a whole: what `ctxkit status` says of it, and from where its new bytes are read afterwards.

Pipeline: `watch/watcher.py` asks for it in a thread of its own -> here -> `measure/status.py`. It costs a read of the
whole log. What is appended afterwards is read by `watch/appended.py`, until that is not enough.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ctxkit.core.derive.tail import newest_first
from ctxkit.core.messages import Message
from ctxkit.core.times import iso, seconds
from ctxkit.core.transcript import Transcript
from ctxkit.errors import CtxkitError, Warned
from ctxkit.formats.base import Format
from ctxkit.logfile.open import OpenLog
from ctxkit.measure import token_log
from ctxkit.measure.count import Counting
from ctxkit.measure.status import Status, status
from ctxkit.search.log_files import ruin_of
from ctxkit.settings import said_config
from ctxkit.settings.config import Config
from ctxkit.store.private import user_config
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import Snapshots
from ctxkit.store.source import Source
from ctxkit.watch.events import LastCheckpoint, LastOp
from ctxkit.watch.turns import Turns

FINGERPRINT = 256
"""How many bytes before the place where reading goes on are compared, to notice a log that was rewritten in place."""
EXCHANGE = 2000
"""Messages of the newest exchange that are read at most to tell whose turn it is."""


ConfigFiles = tuple[tuple[str, int, int], ...]
"""Files of a config that exist: path, time in nanoseconds, size."""


class FullReading(msgspec.Struct):
    """A full reading of a log. `status`: the figures; `seconds`: of the processor that it took.

    `whole`: the log is one JSON text, which its program rewrites each time. `dev`, `ino`: the file; `offset`, `line`:
    where its next record begins; `fingerprint`: the bytes before that place; `grows`: appended records can be read
    alone. `sidecar_size`: bytes of the ops beside the log. `changed`: ops change the context, so a provider's count of
    a request is not that of the context. `digest`: the name of the log in the token log. `files`: the files of its
    config as they were before the reading.
    """

    path: Path
    config: Config
    format: Format
    status: Status
    sidecar: Sidecar | None
    whole: bool
    dev: int
    ino: int
    offset: int
    line: int
    fingerprint: bytes
    grows: bool
    sidecar_size: int
    changed: bool
    turns: Turns
    last_op: LastOp | None
    checkpoint: LastCheckpoint | None
    notices: list[str]
    seconds: float
    digest: str | None
    files: ConfigFiles


def read_fully(path: Path) -> FullReading:
    """Read a log as a whole. Mistakes in its config are in `notices`.

    Raises what `OpenLog.open` and `status` raise; UnknownFormat for a ruined log, which may be read as an empty one.
    """
    began = time.thread_time()
    files = config_files(path)  # before they are read: a change in between must not be missed
    if error := ruin_of(path):
        raise error
    log = OpenLog.open(path, tolerant=True, unsaid="none")
    found = status(log)
    opening = log.opening
    source, seen = opening.source, opening.source.seen
    ended = not source.size or source.read(source.size - 1, 1) == b"\n"
    entries = log.ledger.entries
    newest = entries[-1] if entries else None
    moment = seconds(newest.body.get("ts")) if newest is not None else None
    Counting(log).counter.anew(["ready"])  # the tokenizer is made here: an append must not wait for it
    config = [*(error.message for error in log.config.errors), *log.config.notices]
    notices = [*(Warned(text, "config") for text in config), *opening.notices]
    made = FullReading(
        path, log.config, opening.format, found, opening.sidecar, opening.laid_out is not source or source.compressed,
        seen.dev if seen is not None else 0, seen.ino if seen is not None else 0,
        source.size, opening.next_line, fingerprint(source, source.size),
        ended and opening.laid_out is source and bool(log.messages), opening.sidecar_size,
        any(not one.void and one.name not in ("mark", "protect", "unprotect", "undo") for one in entries),
        whose_turn(log.transcript),
        None if newest is None else LastOp(newest.number, newest.name, None if moment is None else iso(moment)),
        newest_checkpoint(opening.sidecar), notices, 0.0, token_log.fingerprint(log), files,
    )  # fmt: skip
    source.close()
    made.seconds = time.thread_time() - began
    return made


def fingerprint(source: Source, offset: int) -> bytes:
    """The bytes before `offset`, FINGERPRINT at most."""
    start = max(0, offset - FINGERPRINT)
    return source.read(start, offset - start)


def newest_checkpoint(sidecar: Sidecar | None) -> LastCheckpoint | None:
    """The newest checkpoint beside a log; None if there is none, or the folder cannot be read."""
    if sidecar is None:
        return None
    try:
        heads = [one.head for one in Snapshots(sidecar).checkpoints()[:1]]
    except CtxkitError:
        return None  # `check` tells what is wrong with the folder
    return next((LastCheckpoint(h.short, h.timestamp, h.description, h.tags) for h in heads if h is not None), None)


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


def whose_turn(transcript: Transcript) -> Turns:
    """What the newest exchange of a log waits for, and whether one before it ended."""
    found: list[Message] = []
    opened = 0
    for message in newest_first(transcript):
        found.append(message)
        opened += message.opens
        if opened > 1 or len(found) >= EXCHANGE:
            break
    turns = Turns()
    turns.take(reversed(found))
    return turns
