"""Functions that the pool's tests run in spawned processes, and a program that is interrupted from outside."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from ctxkit.errors import NoSuchLog
from ctxkit.fleet.pool import results


def doubled(number: int) -> tuple[int, int]:
    """Twice the number, and the process that says so; later for the first ones, so that results overtake each other."""
    time.sleep(0.02 if number < 2 else 0)
    return 2 * number, os.getpid()


def meets(folder: str) -> int:
    """How many processes are here, once there are two, or after a minute."""
    (Path(folder) / str(os.getpid())).touch()
    end = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    return len(os.listdir(folder))


def odd_fails(number: int) -> int:
    """The number; at odd ones it fails, each third time by an error that is a bug."""
    if number % 6 == 1:
        raise NoSuchLog(f"{number}: no such log", "another number")
    if number % 2:
        raise ZeroDivisionError(number)
    return number


def killed_at(item: tuple[int, str]) -> int:
    """The number; at 5 its process is killed; at 9 too, unless the file is there: the second time it works."""
    number, file = item
    if number == 5 or (number == 9 and not os.path.exists(file)):
        Path(file).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def unsendable(number: int) -> object:
    """A result that cannot be pickled, for 1."""
    return (lambda: number) if number == 1 else number


def waits(folder: str) -> None:
    """Leave a file with this process's number, wait long, and change it if there is time to put things right."""
    mine = Path(folder) / str(os.getpid())
    mine.write_text("began")
    try:
        time.sleep(60)
    finally:
        mine.write_text("put right")


def main() -> None:
    """Two processes that wait, until a signal."""
    try:
        for _ in results(waits, [sys.argv[1]] * 4, jobs=2):
            pass
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
