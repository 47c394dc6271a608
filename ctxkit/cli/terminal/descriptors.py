"""Standard descriptors that were closed: filled with /dev/null before anything else is opened.

Otherwise the next file that is opened, a log, becomes standard output or error, and what is printed lands in it
(measured).
"""

from __future__ import annotations

import os


def fill() -> frozenset[int]:
    """Open /dev/null on whichever of 0, 1 and 2 is closed; which those were. First call of every program."""
    closed = set()
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            closed.add(fd)
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number: fd itself, since those below are open
            os.set_inheritable(opened, True)  # children find it as they find any standard stream
    return frozenset(closed)
