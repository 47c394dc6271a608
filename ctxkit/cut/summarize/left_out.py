"""Names the messages that a text replaces, and writes the line that replaces them in the strategy `truncate`. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ctxkit.core.item_names import Name, Names

RUNS = 8
"""The most runs of numbers; of more, the first ones and the last are named. One agent's messages may be many runs."""


def listed(names: Names, label: Callable[[Name], str] = str) -> str:
    """The messages as `2-40, 45`. `label`: names those that ops added."""
    runs = str(Names(names.numbers)).split(",") if names.numbers else []
    runs += map(label, sorted(names.items))
    if len(runs) > RUNS:
        runs[RUNS - 2 : -1] = ["…"]
    return ", ".join(runs)


def left_out(names: Names, label: Callable[[Name], str] = str) -> str:
    """The text of the strategy `truncate` (replay 42)."""
    return f"[messages {listed(names, label)} left out]"
