"""The notes of watchers: a small file for each log, locked while its watcher lives, left behind if that is killed.

`watch/watcher.py` writes them; `status`, `sessions` and `ctxkit` alone report those that were left behind. The files
are in the user's state folder, mode 0600, one for each log, named by the digest of its path. The lock is a lock of the
system, so it never stays behind after a crash, a kill or a reboot.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.times import iso
from ctxkit.store.opening import above_standard, close
from ctxkit.store.private import make_private, user_state
from ctxkit.store.sidecar import Sidecar
from ctxkit.watch.events import EndedAbnormally
from ctxkit.watch.full_reading import newest_checkpoint
from ctxkit.watch.processes import Holder, holders, start_of

AGE = 24 * 3600.0
"""Seconds for which a watcher that was killed is reported."""
WORKING = 120.0
"""A session counts as at work for so many seconds after its newest write."""
AFTERWARDS = 15.0
"""If the log was written more than so many seconds after the last note, the session went on without its watcher."""
TRIES, PAUSE = 4, 0.02
"""Tries to lock a note, and seconds between two."""
SUFFIX = ".json"
LARGEST = 1 << 16
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Note(msgspec.Struct):
    """What a watcher notes. `started`: the start of its process, as `start_of` gives it.

    `since`: when it began to watch, `noted`: when it wrote the note, both in seconds since 1970. `bytes`, `messages`:
    how far it read. `compacting`: a compaction is under way.
    """

    log: str
    pid: int
    started: str
    since: float
    noted: float
    bytes: int = 0
    messages: int = 0
    compacting: bool = False


class LeftNote(msgspec.Struct, frozen=True):
    """A note whose watcher is gone. `why`: why the session counts as at work, None if it does not."""

    note: Note
    why: str | None


class Claim:
    """The right to act on one log; one watcher at a time holds it. `left`: the note of a watcher that was killed."""

    def __init__(self, path: Path, fd: int, note: Note, left: Note | None) -> None:
        self._path, self._fd = path, fd
        self.note = note
        self.left = left

    def write(self) -> None:
        """Write the note as it is now; nothing is written after `release`."""
        self.note.noted = time.time()
        if self._fd < 0:
            return
        with suppress(OSError):  # a full disk: the note is a help, no more
            self._put(self.note)

    def _put(self, note: Note) -> None:
        text = dumps(msgspec.to_builtins(note)).encode("ascii") + b"\n"  # a path need not be UTF-8
        os.ftruncate(self._fd, os.pwrite(self._fd, text, 0))

    def release(self, *, keep: bool = False) -> None:
        """Give up the claim and remove the note. `keep`: put the note back that was found at the start."""
        with suppress(OSError):
            if keep and self.left is not None:
                self._put(self.left)
            else:
                os.unlink(self._path)
        fd, self._fd = self._fd, -1
        close(fd)


def folder(env: Mapping[str, str]) -> Path:
    """The folder of the notes, which may not exist."""
    return user_state(env) / "watch"


def claim(log: Path, env: Mapping[str, str]) -> Claim | Note:
    """The claim to a log, or the note of the watcher that holds it. Raises OSError."""
    place = _place(log, env)
    make_private(place.parent)
    held = None
    for _ in range(TRIES):
        fd = above_standard(os.open(place, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600))
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held = _read(fd) or Note(str(log), 0, "", 0.0, 0.0)
            close(fd)
            if not held.pid or start_of(held.pid) == held.started:
                return held
            time.sleep(PAUSE)  # its writer is gone: `left_behind` reads it in another process
            continue
        if _is_at(place, fd):
            break
        close(fd)  # its holder ended meanwhile, and removed it
    else:
        if held is not None:
            return held
        raise OSError(f"{place} is replaced again and again")
    left, now = _read(fd), time.time()
    made = Claim(place, fd, Note(os.path.realpath(log), os.getpid(), start_of(os.getpid()), now, now), left)
    made.write()
    return made


def alive(env: Mapping[str, str]) -> Iterator[Note]:
    """The notes of running watchers. No lock is taken: a watcher that starts meanwhile is not disturbed."""
    for place in sorted(folder(env).glob("*" + SUFFIX)):
        try:
            fd = above_standard(os.open(place, os.O_RDONLY | _FLAGS))
        except OSError:
            continue
        try:
            note = _read(fd)
        finally:
            close(fd)
        if note is not None and note.pid and start_of(note.pid) == note.started:
            yield note


def left_behind(env: Mapping[str, str], log: Path | None = None) -> Iterator[LeftNote]:
    """The notes of watchers that are gone, for one log or for all, not older than AGE.

    Notes of sessions that went on afterwards are removed.
    """
    try:
        places = [_place(log, env)] if log is not None else sorted(folder(env).glob("*" + SUFFIX))
    except OSError:
        return
    for place in places:
        found = _left(place)
        if found is not None:
            yield LeftNote(found, at_work(Path(found.log)))


def _left(place: Path) -> Note | None:
    """The note in a file, if its watcher is gone and it still counts; a note that no longer counts is removed."""
    try:
        fd = above_standard(os.open(place, os.O_RDWR | _FLAGS))
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        note = _read(fd)
        if note is None or not is_told(note):
            os.unlink(place)
            return None
        return note
    except OSError:
        return None  # it is held: its watcher lives
    finally:
        close(fd)


def is_told(note: Note) -> bool:
    """Whether the note of a watcher that is gone still counts: not if it is old, or if the log is gone or went on."""
    if time.time() - note.noted > AGE:
        return False
    newest = _newest_write(Path(note.log))
    return newest is not None and newest <= note.noted + AFTERWARDS


def at_work(log: Path) -> str | None:
    """Why a session counts as at work (a process has it open to write, or it was written just now), or None."""
    held = holders(log, writing=True)
    if held:
        return f"{_named(held)} holds the log open"
    newest = _newest_write(log)
    if newest is not None and (ago := time.time() - newest) < WORKING:
        return f"the log was written {max(0, round(ago))} s ago"
    return None


def abnormal_end(left: LeftNote) -> EndedAbnormally:
    """The event for a note that was left behind."""
    note = left.note
    path = Path(note.log)
    return EndedAbnormally(
        log=note.log, time=iso(int(time.time())), at=iso(int(note.noted)), pid=note.pid, compacting=note.compacting,
        at_work=left.why, checkpoint=newest_checkpoint(Sidecar(path, None)), remedy=remedy(note.log),
    )  # fmt: skip


def remedy(log: str) -> str:
    """The command that shows what can be recovered."""
    import shlex

    return f"ctxkit recover {shlex.quote(log)}"


def ended(one: EndedAbnormally) -> str:
    """The event in words."""
    kept = ""
    if one.checkpoint is not None:
        named = f" ({one.checkpoint.label})" if one.checkpoint.label else ""
        kept = f", checkpoint {one.checkpoint.id}{named}"
    middle = " in the middle of a compaction" if one.compacting else ""
    if one.at_work is not None:
        watcher = f"the watcher (pid {one.pid}) of {one.log}"
        return f"{watcher} ended abnormally at {one.at}{middle}; the session is at work: {one.at_work}"
    return f"{one.log} ended abnormally at {one.at}{middle}{kept}: {one.remedy}"


def held_by(note: Note) -> str:
    """The holder of a claim, in words."""
    if not note.pid:
        return "another watcher"
    return f"another watcher (pid {note.pid}, since {iso(int(note.since))})"


def _named(held: list[Holder]) -> str:
    return ", ".join(f"pid {one.pid} ({one.name})" for one in held[:3])


def _newest_write(log: Path) -> float | None:
    """The time of the newest write to the log or to its ops; None if the log is gone."""
    try:
        newest = os.stat(log).st_mtime
    except OSError:
        return None
    with suppress(OSError):
        newest = max(newest, os.stat(Sidecar(log, None).ops_path).st_mtime)
    return newest


def _place(log: Path, env: Mapping[str, str]) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(log))).hexdigest()[:32]
    return folder(env) / (name + SUFFIX)


def _read(fd: int) -> Note | None:
    """The note in a file; None if it is damaged, has an impossible path, or times in the future."""
    try:
        note = msgspec.convert(loads(os.pread(fd, LARGEST, 0)), Note)
        possible = b"\0" not in os.fsencode(note.log)
    except (OSError, msgspec.ValidationError, ValueError):
        return None
    latest = time.time() + AGE
    return note if possible and 0 <= note.since <= latest and 0 <= note.noted <= latest else None


def _is_at(place: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(place), os.fstat(fd))
    except OSError:
        return False
