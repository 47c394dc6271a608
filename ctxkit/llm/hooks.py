"""Hooks: functions of the caller that are called while a model is asked.

The command line passes functions that print its reports and its progress; `ask_model.py` calls them. The module
imports little, because commands import it that may never ask a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec


class Hooks(msgspec.Struct, frozen=True):
    """Functions that are called while a model is asked.

    `report`: called with a line of text before anything is sent; `step`: called repeatedly while waiting, with the
    number of the current request and how many there are; `clock`, `sleep`: in seconds, as in `time`.
    """

    report: Callable[[str], None] | None = None
    step: Callable[[int, int], None] | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
