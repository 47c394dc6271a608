"""What Linux shows of processes in /proc: which hold a file open, and when one started.

Used by `watch/claims.py`. On other systems, and for processes of other users, nothing is known.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BOOT = "/proc/sys/kernel/random/boot_id"
"""A file whose text is another one after each boot."""


class Holder(NamedTuple):
    """A process that holds a file open: its id, and the name of its program."""

    pid: int
    name: str


def holders(path: Path, *, writing: bool = False) -> list[Holder]:
    """The processes that hold a file open, except this one and those that this user may not look into.

    `writing`: only those that opened it to write: a pager or `tail -f` does not.
    """
    try:
        meant = os.stat(path)
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    found = []
    for pid in pids:
        if pid != os.getpid() and _holds(pid, meant, writing=writing):
            found.append(Holder(pid, _name(pid)))
    return found


def start_of(pid: int) -> str:
    """When a process started: the id of the system's boot, and clock ticks since then; "" if that is not known.

    With its number, this names one process for ever, also where the number is used again after a reboot.
    """
    try:
        with open(BOOT) as file:
            boot = file.read().strip()
        with open(f"/proc/{pid}/stat", "rb") as file:
            return f"{boot} {file.read().rpartition(b')')[2].split()[19].decode()}"
    except (OSError, IndexError):
        return ""


def _holds(pid: int, meant: os.stat_result, *, writing: bool) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        with suppress(OSError):
            if os.path.samestat(os.stat(f"{folder}/{name}"), meant) and (not writing or _writes(pid, name)):
                return True
    return False


def _writes(pid: int, name: str) -> bool:
    """Whether a descriptor was opened to write. Raises OSError."""
    with open(f"/proc/{pid}/fdinfo/{name}") as file:
        flags = next((line.split()[1] for line in file if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "?"
