"""Whom a test asks when ctxkit imports litellm: a stand-in, or litellm itself, whose import takes seconds.

The stand-in (`tests/stand_in/litellm.py`) is found by whatever imports litellm in the process of the tests, and by
programs that have `environment()`. `real()` is litellm itself for the time of a test; with `pytest --real-litellm`
every test has it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent / "stand_in"
NAME = "litellm"
_kept: dict[str, ModuleType] = {}
"""The modules of the one that is not asked now."""


class StandIn:
    """Finds the stand-in. What looks for litellm's files, and does not import it, is told where they really are."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The stand-in, with the place of litellm itself, if that is installed."""
        if name != NAME:
            return None
        found, itself = spec_from_file_location(NAME, FOLDER / f"{NAME}.py"), PathFinder.find_spec(NAME)
        if found is not None and itself is not None:
            found.origin = itself.origin
        return found


def stand_in() -> None:
    """From now on, whoever imports litellm in this process gets the stand-in."""
    sys.meta_path.insert(0, StandIn)


def environment() -> dict[str, str]:
    """What makes a program find whom this process would ask."""
    if StandIn not in sys.meta_path:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))}


@contextmanager
def real() -> Iterator[None]:
    """litellm itself is imported meanwhile; the stand-in is back afterwards."""
    stood = StandIn in sys.meta_path
    if stood:
        sys.meta_path.remove(StandIn)
        _swap()
    try:
        yield
    finally:
        if stood:
            _swap()
            stand_in()


def _swap() -> None:
    """The module of that name, with those in it, makes room for the other one."""
    there = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == NAME}
    sys.modules.update(_kept)
    _kept.clear()
    _kept.update(there)
