"""llm: a model's words, and rules where it gives none (tests/test_asking.py has the model)."""

from __future__ import annotations

import pytest
from tests.test_condensing import condensing, opened
from tests.test_trimming import run

from ctxkit.core.strategies import RULES
from ctxkit.errors import ModelFailed
from ctxkit.strategies.llm import STRATEGY, AskModel


def test_rules_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no model can be asked, the op says so; without a fallback nothing is made."""
    monkeypatch.setattr("ctxkit.summarize.available", lambda: "litellm is not installed")
    made = condensing(opened(run()), strategy="llm", model="x").condensed()
    assert made.op.strategy == RULES == STRATEGY.fallback and "litellm" in str(made.op.fallback)
    with pytest.raises(ModelFailed) as raised:
        condensing(opened(run()), strategy="llm", model="x", fallback=False).condensed()
    assert raised.value.message.endswith(": nothing was changed")
    assert AskModel.by_others
