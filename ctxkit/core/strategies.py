"""Strategies of compaction and of trim, which config, help, completion, tests and benchmarks read.

Compaction has one entry each: it names the module that makes the summary, which is imported when it is asked for. A new
strategy is a file and a line here. Trim has two, by name.
"""

from __future__ import annotations

from typing import NamedTuple


class StrategyEntry(NamedTuple):
    """A strategy: its name, as an op says it, and the module whose `STRATEGY` it is.

    `asks_model`: a model is asked, so a folder's config may not choose it; `named`: a user can ask for it by its name.
    """

    name: str
    module: str
    asks_model: bool = False
    named: bool = True


RULES, MODEL, GIVEN = "extract", "llm", "given"
"""By rules, which takes over where a model gives no summary; by a model that is asked; in somebody's words."""

STRATEGIES: dict[str, StrategyEntry] = {
    entry.name: entry
    for entry in (
        StrategyEntry(RULES, "ctxkit.cut.strategies.extract"),
        StrategyEntry("mask", "ctxkit.cut.strategies.mask"),
        StrategyEntry("truncate", "ctxkit.cut.strategies.truncate"),
        StrategyEntry(MODEL, "ctxkit.cut.strategies.llm", asks_model=True),
        StrategyEntry(GIVEN, "ctxkit.cut.strategies.given", named=False),
    )
}

NAMES = tuple(name for name, entry in STRATEGIES.items() if entry.named)
"""What a user can ask for."""
OFFLINE = tuple(name for name in NAMES if not STRATEGIES[name].asks_model)
"""Those that need no model."""


OLDEST, EPISODES = "oldest", "episodes"
"""What a trim drops first: the oldest exchanges and steps; or what is done with, before them."""
OF_TRIM = (OLDEST, EPISODES)


def asks_model(name: object) -> bool:
    """Whether a strategy of that name asks a model."""
    return isinstance(name, str) and name in STRATEGIES and STRATEGIES[name].asks_model


def described() -> str:
    """`extract, mask and truncate need no model; llm asks compact.model`."""
    online = [name for name in NAMES if name not in OFFLINE]
    return f"{', '.join(OFFLINE[:-1])} and {OFFLINE[-1]} need no model; {', '.join(online)} asks compact.model"
