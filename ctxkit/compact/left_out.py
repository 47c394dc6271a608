"""truncate: the last resort. Messages are replaced by a line that says which. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ctxkit.core.item_names import Name, Names

RUNS = 8
"""Runs of numbers that are named; of more the first ones and the last: an agent's messages stand between others'."""


def these(names: Names, label: Callable[[Name], str] = str) -> str:
    """`2-40, 45`: which messages a text stands for. `label`: how those are named that ops brought in."""
    runs = str(Names(names.numbers)).split(",") if names.numbers else []
    runs += map(label, sorted(names.items))
    if len(runs) > RUNS:
        runs[RUNS - 2 : -1] = ["…"]
    return ", ".join(runs)


def left_out(names: Names, label: Callable[[Name], str] = str) -> str:
    """The whole text of the strategy `truncate` (replay 42)."""
    return f"[messages {these(names, label)} left out]"
