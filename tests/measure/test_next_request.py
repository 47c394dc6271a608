"""What the next request of a session costs: its tokens, what is cached, and list price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.measure import next_request as room
from ctxkit.measure.next_request import NextRequest, next_request
from ctxkit.tokens.models import Price

BASE = 1770904800.0
"""2026-02-12T14:00:00Z."""


def log(path: Path, idle: float, *, hour: bool = False, forget: str = "") -> Log:
    """A session of Claude Code whose newest message is so old, and whose cache lives so long."""
    rows: list[dict[str, Any]] = []
    for n in range(1, 9):
        usage = {
            "input_tokens": 10, "cache_read_input_tokens": 1000 * n, "output_tokens": 5,
            "cache_creation": {"ephemeral_1h_input_tokens": 50 if hour else 0},
        }  # fmt: skip
        said: dict[str, Any] = {"role": "user", "content": f"question {n} " + "word " * 200}
        if n % 2 == 0:
            said = {
                "role": "assistant", "id": f"m{n}", "model": "claude-opus-4-6", "usage": usage,
                "content": [{"type": "text", "text": f"answer {n} " + "word " * 200}],
            }  # fmt: skip
        rows.append({
            "type": said["role"], "uuid": str(n), "parentUuid": str(n - 1) if n > 1 else None, "sessionId": "s",
            "timestamp": f"2026-02-12T13:5{n}:00Z", "cwd": "/a", "message": said,
        })  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if forget:
        Log.open(path).forget(forget, include_protected=True)
    return Log.open(path, clock=lambda: BASE - 120 + idle)


@pytest.mark.parametrize(
    ("idle", "hour", "stays", "forget", "cached"),
    [
        (60, False, True, "", "all"),
        (60, False, True, "6", "some"),
        (301, False, True, "", "none"),
        (301, True, True, "", "all"),
        (3601, True, True, "", "none"),
        (60, True, False, "", "none"),
    ],
)
def test_cached(tmp_path: Path, idle: float, hour: bool, stays: bool, forget: str, cached: str) -> None:
    """As long as the cache lives, up to the first change; nothing where its program puts other words before it."""
    found = next_request(log(tmp_path / "s.jsonl", idle, hour=hour, forget=forget), own=True, stays=stays)
    assert found.idle == idle
    assert found.cached is not None
    assert cached == ("none" if found.cached == 0 else "all" if found.cached == found.tokens else "some")


def test_a_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cached costs what a read of the cache does, the rest is put into it; another program has no price."""
    monkeypatch.setattr(room, "price", lambda model, tokens: Price(0.1, 0.01, 0.2) if model else None)
    one = log(tmp_path / "s.jsonl", 60, forget="6")
    found = next_request(one, own=True, stays=True)
    cached = found.cached or 0
    assert found.dollars == pytest.approx(0.01 * cached + 0.2 * (found.tokens - cached))
    assert found.model == "claude-opus-4-6"
    other = next_request(one, own=False, stays=False)
    assert (other.dollars, other.model) == (None, "")


@pytest.mark.parametrize(
    ("cached", "idle", "dollars", "said"),
    [
        (0, None, None, "the next request sends 1,200 tokens (exact), none of them cached"),
        (1100, 59.7, 0.4249, "the next request sends 1,200 tokens (exact), 1,100 of them cached; "
         "the newest message is 59s old; about $0.42 at the list price of m"),
        (None, 4000.0, 0.001, "the next request sends 1,200 tokens (exact), it is not known how many are cached; "
         "the newest message is 1h 6m old; less than $0.01 at the list price of m"),
        (0, 86400.0 * 3.5, None, "the next request sends 1,200 tokens (exact), none of them cached; "
         "the newest message is 3 days old"),
    ],
)  # fmt: skip
def test_words(cached: int | None, idle: float | None, dollars: float | None, said: str) -> None:
    """One line for people."""
    assert NextRequest(1200, "exact", cached, idle, None, dollars, "m").said == said
