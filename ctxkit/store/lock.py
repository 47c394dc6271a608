"""The lock on a log: flock on the file itself, with a deadline.

Pipeline: `durable_append.py` holds it from before its checks until its line is durable. There is no lock file, so none
can be left behind. Programs that do not lock can still write, which the append protocol allows for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from ctxkit.errors import Locked, WriteFailed, reason_of

DEADLINE = 5.0
"""Seconds to wait for another program."""
_FIRST, _LONGEST = 0.0005, 0.02


def lock(fd: int, name: str, deadline: float = DEADLINE, kind: int = fcntl.LOCK_EX) -> None:
    """Lock a file, exclusively unless `kind` is LOCK_SH; closing `fd` unlocks it. Raises Locked after `deadline`
    seconds, WriteFailed.

    flock and not lockf, because a lock of lockf is lost when any descriptor of the file is closed.
    """
    until = time.monotonic() + deadline
    pause = _FIRST
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                reason = reason_of(error)
                raise WriteFailed(f"{name}: cannot lock: {reason}: nothing was written") from error
        if time.monotonic() >= until:
            who = holder(fd)
            raise Locked(f"{name} is locked{who}: nothing was written after {deadline:g} s of waiting", "try again")
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST)


def holder(fd: int) -> str:
    """The process that holds the lock on a file, as ` by pid 123 (name)`; "" if the system does not show it."""
    try:
        found = os.fstat(fd)
        place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        with open("/proc/locks") as locks:
            for line in locks:
                words = line.split()
                if words[1:2] == ["FLOCK"] and words[5:6] == [place]:
                    with open(f"/proc/{int(words[4])}/comm") as comm:
                        return f" by pid {words[4]} ({comm.read().strip()})"
    except (OSError, ValueError):
        pass
    return ""
