"""llm: a model's words, and rules where it gives none (tests/cut/summarize/test_ask_model.py has the model)."""

from __future__ import annotations

import pytest

from ctxkit.core.strategies import RULES
from ctxkit.cut.strategies.llm import STRATEGY, AskModel
from ctxkit.errors import ModelFailed
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_rules_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no model can be asked, the op says so; without a fallback nothing is made."""
    monkeypatch.setattr("ctxkit.llm.client.available", lambda model: "litellm is not installed")
    made = condensing(opened(run()), strategy="llm", model="x").carry_out()
    assert made.op.strategy == RULES == STRATEGY.fallback and "litellm" in str(made.op.fallback)
    with pytest.raises(ModelFailed) as raised:
        condensing(opened(run()), strategy="llm", model="x", fallback=False).carry_out()
    assert raised.value.message.endswith(": nothing was changed")
    assert AskModel.by_others
