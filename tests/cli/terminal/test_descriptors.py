"""Closed standard descriptors."""

from __future__ import annotations

import os
from itertools import compress, product

import pytest

from ctxkit.cli.terminal import descriptors


@pytest.mark.parametrize("closed", [set(compress((0, 1, 2), which)) for which in product((0, 1), repeat=3)], ids=str)
def test_closed_descriptors_are_filled(closed: set[int]) -> None:
    """All eight cases: what was closed is told, and the next file that is opened gets a number above 2."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            for fd in closed:
                os.close(fd)
            found = descriptors.fill()
            after = os.open(os.devnull, os.O_RDONLY)
            right = found == closed and after > 2 and all(os.get_inheritable(fd) for fd in (0, 1, 2))
            status = 0 if right and descriptors.fill() == frozenset() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
