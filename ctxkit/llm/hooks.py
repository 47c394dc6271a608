"""Hooks: what a caller does while a model is asked. Light, as commands that may never ask one name it.

The command line passes its reports and its progress line in, `compact/ask_model.py` calls them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec


class Hooks(msgspec.Struct, frozen=True):
    """What a caller has to do with a model that is asked. `tell`: called with a line before anything is sent; `step`:
    told which request is waited for, of how many, again and again; `clock`, `sleep`: in seconds.
    """

    tell: Callable[[str], None] | None = None
    step: Callable[[int, int], None] | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
