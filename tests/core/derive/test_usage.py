"""Usage is read in the shapes in which programs record it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.derive.usage import RequestUsage, reply_id, retell, total, usage, window

ANTHROPIC = {
    "input_tokens": 10, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 4000, "output_tokens": 7,
}  # fmt: skip
OPENAI = {"prompt_tokens": 1742, "completion_tokens": 93, "prompt_tokens_details": {"cached_tokens": 1000}}
OPENCODE = {"total": 117, "input": 9, "output": 5, "reasoning": 2, "cache": {"read": 100, "write": 1}}
CODEX = {"input_tokens": 17790, "cached_input_tokens": 2432, "output_tokens": 232, "reasoning_output_tokens": 66}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "assistant", "message": {"usage": ANTHROPIC}}, (4510, 7)),
        ({"role": "assistant", "usage": ANTHROPIC}, (4510, 7)),
        ({"role": "assistant", "usage": {"input_tokens": 5, "output_tokens": 1}}, (5, 1)),
        ({"role": "assistant", "usage": OPENAI}, (1742, 93)),
        ({"role": "assistant", "extra": {"response": {"usage": OPENAI}}}, (1742, 93)),
        (
            {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": CODEX}}},
            (17790, 232, 66),
        ),
        ({"message": {"usage": {"input": 3, "output": 191, "cacheRead": 20, "cacheWrite": 1684}}}, (1707, 191)),
        ({"tokens": {"input": 90, "output": 5, "cached": 40, "thoughts": 6, "tool": 0, "total": 101}}, (90, 11)),
        ({"tokens": {"input": 9, "output": 5, "reasoning": 2, "cache": {"read": 100, "write": 1}}}, (110, 7)),
        ({"info": {"tokens": OPENCODE}, "parts": [{"type": "text"}]}, (110, 7)),
        (
            {"info": {"tokens": OPENCODE}, "parts": [{"tokens": {**OPENCODE, "input": 3}}, {"tokens": OPENCODE}]},
            (104, 13),
        ),
    ],
)
def test_shapes(row: dict[str, Any], expected: tuple[int, ...]) -> None:
    """What is sent includes what was cached; what came back includes thinking."""
    assert usage([row]) == RequestUsage(*expected)


@pytest.mark.parametrize(
    "row",
    [
        {}, {"usage": None}, {"usage": "12"}, {"usage": {}}, {"usage": {"input_tokens": "5", "output_tokens": None}},
        {"message": {"usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}},
        {"payload": {"info": None}}, {"usage": {"prompt_tokens": 10**400, "completion_tokens": 1}},
        {"usage": {"prompt_tokens": True, "completion_tokens": 5}},
        {"usage": {"prompt_tokens": -4, "completion_tokens": 1}}, {"tokens": 12},
    ],
)  # fmt: skip
def test_none(row: dict[str, Any]) -> None:
    """Nothing recorded, nothing sent, or something else of that name."""
    assert usage([row]) is None


def test_streamed_replies_repeat_it() -> None:
    """The last row that has one counts, once."""
    rows = [{"message": {"usage": {**ANTHROPIC, "output_tokens": n}}} for n in (1, 7)]
    assert usage([*rows, {"message": {}}]) == RequestUsage(4510, 7) and usage([]) is None


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"model_context_window": 258_400}, 258_400), ({"model_context_window": "x"}, None), ({}, None),
        ({"model_context_window": True}, None), ({"model_context_window": 10**400}, None),
    ],
)  # fmt: skip
def test_the_window_that_a_program_notes(info: dict[str, Any], expected: int | None) -> None:
    """Codex does, beside the usage."""
    assert window([{"type": "event_msg", "payload": {"type": "token_count", "info": info}}]) == expected


@pytest.mark.parametrize("request_", [1, 300, 50_000])
@pytest.mark.parametrize("row", [
    {"message": {"usage": ANTHROPIC | {"iterations": [{"input_tokens": 4}]}}},
    {"payload": {"info": {"last_token_usage": {**CODEX, "total_tokens": 18022}}}},
    {"message": {"usage": {"input": 3, "output": 191, "cacheRead": 20, "cacheWrite": 1684, "totalTokens": 1898}}},
    {"tokens": {"input": 90, "output": 5, "cached": 40, "thoughts": 6, "tool": 0, "total": 101}},
])  # fmt: skip
def test_told_anew(row: dict[str, Any], request_: int) -> None:
    """The request is what was said, the reply what it was; sums agree, and what is cached is no more than all."""
    row = json.loads(json.dumps(row))
    before = usage([row])
    assert before is not None
    retell(row, before._replace(request=request_))
    assert usage([row]) == RequestUsage(request_, before.reply, before.passing, True)
    text = json.dumps(row)
    assert "iterations" not in text and all(part >= 0 for part in _integers(row))
    totals = [value for key, value in _pairs(row) if key in ("total_tokens", "totalTokens", "total")]
    assert totals in ([], [request_ + before.reply])


def test_a_reply_told_anew() -> None:
    """Codex's count of a reply that is gone is made that of the one that is left."""
    row = {"payload": {"info": {"last_token_usage": {**CODEX, "total_tokens": 18022}}}}
    retell(row, RequestUsage(900, 30, 20))
    assert usage([row]) == RequestUsage(900, 30, 20, True)
    assert row["payload"]["info"]["last_token_usage"]["total_tokens"] == 930


def test_where_nothing_was_counted() -> None:
    """A usage of nothing says it, and a row without one gets one; what stands in its place is no usage."""
    row: dict[str, Any] = {"message": {"usage": {"input_tokens": 0, "output_tokens": 0}}, "usage": "much"}
    retell(row, RequestUsage(5, 1))
    assert usage([row]) == RequestUsage(5, 1, 0, True) and row["usage"] == "much"
    row = {"role": "user", "usage": "much"}
    retell(row, RequestUsage(7, 0))
    assert usage([row]) == RequestUsage(7, 0, 0, True)
    row = {"payload": {"info": {"last_token_usage": {**dict.fromkeys(CODEX, 0), "total_tokens": 23_278}}}}
    retell(row, RequestUsage(900, 30))
    assert row["payload"]["info"]["last_token_usage"]["total_tokens"] == 930


def test_what_tells_requests_apart() -> None:
    """The sum so far of Codex, the id of a reply of Claude Code; where there is none, None."""
    count = {"payload": {"info": {"total_token_usage": {"input_tokens": 9}}}}
    assert total([{}, count]) == {"input_tokens": 9}
    assert reply_id([{}, {"message": {"id": "msg_1"}}]) == "msg_1"
    for odd in ({}, {"payload": {"info": None}}, {"payload": 5}, {"message": {"id": 7}}, {"message": "x"}):
        assert total([odd]) is None and reply_id([odd]) is None


def _pairs(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [*value.items(), *(pair for inner in value.values() for pair in _pairs(inner))]


def _integers(value: Any) -> list[int]:
    return [one for _, one in _pairs(value) if isinstance(one, int)]
