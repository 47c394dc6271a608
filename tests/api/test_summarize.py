"""summarize_context: messages that a program holds, and logs, told in fewer words."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import BadMessage, CtxkitError, Log, Summarized, estimate_tokens, summarize_context
from ctxkit.errors import Usage
from tests.cut.test_trim import run
from tests.effort import examples
from tests.test_given_and_fitted import FORMS, MODEL, TURNS, Rows, Turn, pairs


def words(message: dict[str, Any]) -> str:
    """All that a message says, as JSON."""
    return json.dumps(message, ensure_ascii=False)


@settings(max_examples=examples(60), deadline=None)
@given(TURNS, st.sampled_from(FORMS), st.sampled_from([5, 30, 60]), st.sampled_from(["extract", "truncate"]))
def test_whatever_is_held(turns: list[Turn], form: Callable[[list[Turn]], Rows], target: int, strategy: str) -> None:
    """What stays is the very same, in order; a summary of the same form stands for the rest; no pair is split."""
    rows = form(turns)
    before = copy.deepcopy(rows)
    found = summarize_context(rows, model=MODEL, target=target, strategy=strategy)
    assert rows == before and found.original_tokens == estimate_tokens(rows, MODEL)
    if found.summary is None:
        assert [id(one) for one in found.messages] == [id(one) for one in rows] and found.replaced == ()
        return
    assert found.token_count == estimate_tokens(found.messages, MODEL) < found.original_tokens
    gone = set(found.replaced)
    first = min(int(place) for place in gone)
    left = [row for place, row in enumerate(rows) if place not in gone]
    assert [id(one) for one in found.messages if id(one) in set(map(id, rows))] == [id(one) for one in left]
    assert len(found.messages) == len(left) + 1 and found.messages[0] is rows[0]
    [summary] = [one for one in found.messages if id(one) not in set(map(id, rows))]
    assert found.messages.index(summary) == first and summary["role"] == "user"
    calls, results = pairs(found.messages)
    assert calls == results


def test_of_a_log(tmp_path: Path) -> None:
    """Its context as chat messages, the log as it was; what the command would do."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(run())
    found = summarize_context(path, target=30)
    log = Log.open(path)
    log.compact(target=30, force=True)
    assert path.read_bytes() != run() and found.summary == log.ledger.entries[-1].body["text"]
    assert found.original_tokens == log.ledger.entries[-1].body["before"]["tokens"]
    assert found.token_count == log.ledger.entries[-1].body["after"]["tokens"]
    assert found.messages[2]["content"] == found.summary and found.replaced[:2] == ("3", "4")
    again = summarize_context(log, target=10)  # no cooldown: nothing is appended
    assert again.summary is not None and len(log.ledger.entries) == 1


def test_what_is_asked() -> None:
    """Kept on request; a strategy; a budget; else the config's target."""
    stream = run()
    whole = summarize_context(io.BytesIO(stream))
    assert whole.target == int(0.3 * whole.original_tokens) >= whole.token_count
    kept = summarize_context(io.BytesIO(stream), keep_steps=5, budget=9000, strategy="truncate")
    assert kept.token_count <= 9000 and kept.summary is not None and kept.summary.endswith("left out]")
    assert len(kept.messages) >= 2 + 1 + 10
    with pytest.raises(Usage, match="mask"):
        summarize_context(io.BytesIO(stream), strategy="mask")
    with pytest.raises(Usage, match="not a percentage"):
        summarize_context(io.BytesIO(stream), target="most")
    with pytest.raises(TypeError, match="unexpected keyword"):
        summarize_context([{"role": "user", "content": "x"}], max=1)  # type: ignore[call-overload]  # that is the point


def test_what_cannot_be_told() -> None:
    """Too little: the messages as they came. No message: an error that names it."""
    rows = [{"role": "user", "content": "hi"}]
    found: Summarized[dict[str, str]] = summarize_context(rows)
    assert found.summary is None and found.messages == rows and found.summary_tokens == 0
    assert summarize_context([]).messages == []
    with pytest.raises(BadMessage):
        summarize_context([*rows, {"text": "x"}])
    assert issubclass(BadMessage, CtxkitError)


def test_a_system_prompt_apart() -> None:
    """It counts, and is not among the messages; so does what is sent besides."""
    rows = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"word {n} " * 50} for n in range(12)]
    alone, led = summarize_context(rows, target=50), summarize_context(rows, target=50, system="Be brief. " * 9)
    assert led.original_tokens > alone.original_tokens
    assert led.messages[0] is rows[0] and words(led.messages[1]).count("#") >= 1
    assert led.replaced[0] == 1
    more = summarize_context(rows, target=50, overhead=500)
    assert more.token_count == alone.token_count + 500 == estimate_tokens(more.messages, overhead=500)
