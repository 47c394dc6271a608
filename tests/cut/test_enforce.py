"""Room in the budget for what is added: whose messages are held back, and when."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.errors import BadConfig, ContextFull, DoesNotFit
from tests.cli.runner import lines
from tests.effort import examples


def opened(env: dict[str, str], *more: dict[str, Any]) -> Log:
    rows = [
        {"role": "user", "content": "hello " * 100},
        {"role": "assistant", "content": "hi", "model": "gpt-4o"},
        *more,
    ]
    return Log.open(io.BytesIO(lines(*rows)), env=env)


def user(words: int) -> dict[str, Any]:
    return {"role": "user", "content": "hello " * words}


ANSWER = {"role": "assistant", "content": "hello " * 500}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "hello " * 500}
USED = 110
"""Tokens of the log."""


@pytest.mark.parametrize(
    ("room", "added", "held_back"),
    [
        (20, [user(10)], False),
        (20, [user(20)], True),
        (-1, [user(1)], True),
        (-1, [ANSWER], False),
        (-1, [RESULT], False),
        (20, [user(10), ANSWER], False),
        (20, [ANSWER, user(10)], True),
        (20, [user(10), user(10)], True),
        (20, [], False),
    ],
)
def test_what_the_user_says_must_fit(room: int, added: list[dict[str, Any]], held_back: bool) -> None:
    """With all that comes before it; answers and results are never held back."""
    log = opened({"CTXKIT_LIMIT": str(USED + room + 50), "CTXKIT_RESERVE": "50"})
    assert log.status().tokens.used == USED
    if not held_back:
        log.require_room(*added)
        return
    with pytest.raises(ContextFull, match=r"Context full\. Use ctxkit clear - to continue: 110 of .*o200k_base"):
        log.require_room(*added)


def test_what_no_clear_makes_room_for() -> None:
    """Is said to be so."""
    log = opened({"CTXKIT_LIMIT": str(USED + 20), "CTXKIT_RESERVE": "0"})
    for words, hint in ((30, "ctxkit trim - makes room"), (300, "not even fit into an empty context")):
        with pytest.raises(ContextFull) as caught:
            log.require_room(user(words))
        assert hint in caught.value.hint


def test_what_is_around_counts() -> None:
    """Full is what trim calls full: the system prompt of the config is in the budget too."""
    env = {"CTXKIT_LIMIT": str(USED + 30), "CTXKIT_RESERVE": "0"}
    opened(env).require_room(user(10))
    with pytest.raises(ContextFull):
        opened({**env, "CTXKIT_ASSEMBLY_SYSTEM": "Be brief. " * 10}).require_room(user(10))


def test_what_was_taken_out_makes_room() -> None:
    """It is the context that is full, not the log."""
    log = opened({"CTXKIT_LIMIT": str(USED), "CTXKIT_RESERVE": "0"})
    with pytest.raises(ContextFull):
        log.require_room(user(10))
    log.clear()
    log.require_room(user(10))


@pytest.mark.parametrize(
    ("agent", "env", "held_back"),
    [("sam", {}, True), ("sam", {"CTXKIT_AGENTS_SAM_LIMIT": "9000"}, False), ("pippin", {}, False), (None, {}, False),
     ("sam", {"CTXKIT_LIMIT": str(USED)}, True)],
)  # fmt: skip
def test_an_agent_has_a_limit_of_its_own(agent: str | None, env: dict[str, str], held_back: bool) -> None:
    """It limits what is added for that agent, as `limit` does, and only what the agent sees counts."""
    own = {"CTXKIT_AGENTS_SAM_LIMIT": str(USED + 5), "CTXKIT_RESERVE": "0", **env}
    if held_back:
        with pytest.raises(ContextFull):
            opened(own).require_room(user(20) | {"agent": agent})
    else:
        opened(own).require_room(user(20) | ({"agent": agent} if agent else {}))


def test_what_only_other_agents_see_takes_no_room() -> None:
    """Of an agent that has a limit."""
    env = {"CTXKIT_AGENTS_SAM_LIMIT": "60", "CTXKIT_RESERVE": "0"}
    log = Log.open(io.BytesIO(lines(*(user(30) | {"agent": "frodo"} for _ in range(9)))), env=env)
    log.require_room(user(20) | {"agent": "sam"})
    with pytest.raises(ContextFull):
        log.require_room(user(20) | {"agent": "sam"}, user(90) | {"agent": "sam"})


def test_the_model_may_say_the_limit() -> None:
    """The log's; without one nothing can be enforced, not even for an empty log."""
    opened({}).require_room(user(10))
    unknown = Log.open(io.BytesIO(b""), env={})
    with pytest.raises(BadConfig, match="no limit is known to enforce"):
        unknown.require_room(user(1))
    unknown.require_room(json.loads(json.dumps(ANSWER)))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 200), st.lists(st.integers(1, 40), max_size=8), st.sampled_from(["", "Be brief. " * 5]))
def test_what_is_shown_and_sent_fits(budget: int, words: list[int], system: str) -> None:
    """With all that stands around it, by the counter that is named; or nothing does, and that is said."""
    env = {
        "CTXKIT_LIMIT": str(budget + 7), "CTXKIT_RESERVE": "7", "CTXKIT_BUDGET_ENFORCE": "on",
        "CTXKIT_ASSEMBLY_SYSTEM": system,
    }  # fmt: skip
    log = opened(env, *(user(n) for n in words))
    before = log.status().tokens.used or 0
    try:
        log.enforce()
    except DoesNotFit:
        assert before > budget
        return
    assert log.fitted is not None and (log.fitted.budget, log.fitted.origin) == (budget, "CTXKIT_BUDGET_ENFORCE")
    assert (log.status().tokens.used or 0) <= budget and bool(log.fitted.said) == (before > budget)
    assert log.opening.pending == [] and log.ledger.entries == []


def test_nothing_is_enforced_by_default() -> None:
    """Only where the config says so."""
    log = opened({"CTXKIT_LIMIT": "5000"})
    log.enforce()
    assert log.fitted is None
    log.fit(None)
    assert log.fitted is not None and log.fitted.origin == "flag"
