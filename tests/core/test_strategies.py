"""The registry of strategies: a line each, and everything that knows their names reads it."""

from __future__ import annotations

import pytest

from ctxkit.core.strategies import GIVEN, MODEL, NAMES, OFFLINE, RULES, STRATEGIES, asks_model, described
from ctxkit.cut.compact_plan import Strategy, load
from ctxkit.settings.keys import key_of


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_entry(name: str) -> None:
    """Its module has the strategy; what takes over is another one that needs no model."""
    found = load(name)
    assert isinstance(found, Strategy) and STRATEGIES[name].name == name
    assert not found.fallback or (found.fallback in OFFLINE and asks_model(name))


def test_who_reads_it() -> None:
    """The config offers what a user can ask for by name; what asks a model does not count from a folder."""
    key = key_of("compact.strategy")
    assert key.choices == NAMES and key.default == RULES and described() in key
    assert [name for name in NAMES if not key.counts_from_folder(name)] == [MODEL]
    assert GIVEN not in NAMES and MODEL not in OFFLINE and not asks_model(["llm"])
