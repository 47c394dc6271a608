"""A rolling context with litellm, which answers by itself here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ctxkit import AsyncRollingContext, RollingContext
from tests import which_litellm
from tests.adapters.libraries import library


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """litellm itself, which answers without a provider, and looks for no prices in the network."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with which_litellm.real():
        library("litellm")
        yield


@pytest.mark.full("imports litellm itself, which takes seconds")
def test_completion(litellm: None) -> None:
    """What fits is sent, the response is added with its usage."""
    from ctxkit.adapters.litellm import acompletion, completion

    context = RollingContext(900, reserve=400, model="gpt-4o")
    for n in range(12):
        context.add({"role": "user", "content": f"question {n} " + "word " * 60})
        response: Any = completion(context, "gpt-4o", mock_response=f"answer {n}")
        assert response.choices[0].message.content == f"answer {n}"
    assert context.status().of == 24 and context.status().trims > 0 and context.tokens <= context.budget
    [row] = context.log.content(24).rows
    assert row["content"] == "answer 11" and row["meta"]["usage"]["completion_tokens"]

    async def talk() -> int:
        other = AsyncRollingContext(900, reserve=400, model="gpt-4o")
        other.add({"role": "user", "content": "q"})
        await acompletion(other, "gpt-4o", mock_response="a")
        return other.status().of

    assert asyncio.run(talk()) == 2
