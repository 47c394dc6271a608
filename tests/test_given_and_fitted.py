"""Conversations as programs hold them, in four forms with all that belongs to them: cut, they are still what they were.

Thinking, signatures, hints for caches, pictures beside words, keys as in Python, lone surrogates, parallel calls.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import DoesNotFit, estimate_tokens, trim_conversation
from tests.effort import examples

MODEL = "gpt-4o"
Rows = list[dict[str, Any]]
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


class Turn(NamedTuple):
    """What somebody says or does. `calls`: how many at once; `odd`: written in the other way that there is."""

    kind: str
    words: str
    tool: str
    arguments: dict[str, str]
    calls: int
    odd: bool


def openai(turns: list[Turn]) -> Rows:
    rows: Rows = [{"role": "user", "content": "Go."}]
    for n, turn in enumerate(turns):
        if turn.kind != "call":
            rows.append({"role": turn.kind, "content": turn.words, "own": {"n": n}})
            continue
        told = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        calls = [{"id": f"{n}-{k}", "type": "function", "function": told} for k in range(turn.calls)]
        said: Any = [{"type": "text", "text": turn.words}] if turn.odd else turn.words
        rows.append({"role": "assistant", "content": turn.words if turn.odd else None, "tool_calls": calls})
        rows += [{"role": "tool", "tool_call_id": call["id"], "content": said, "name": turn.tool} for call in calls]
    return rows


def anthropic(turns: list[Turn]) -> Rows:
    rows: Rows = [
        {"role": "user", "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}]}
    ]
    for n, turn in enumerate(turns):
        text = {"type": "text", "text": turn.words}
        if turn.kind == "user":
            rows.append({"role": "user", "content": turn.words})
        elif turn.kind == "assistant":
            thought = {"type": "thinking", "thinking": turn.words, "signature": "s" * 99}
            rows.append({"role": "assistant", "content": [thought, text]})
        else:
            keys = [f"{n}-{k}" for k in range(turn.calls)]
            calls = [{"type": "tool_use", "id": key, "name": turn.tool, "input": turn.arguments} for key in keys]
            said = [[text, PICTURE] if n % 2 else turn.words for n in range(turn.calls)]
            found = [{"type": "tool_result", "tool_use_id": a, "content": b} for a, b in zip(keys, said, strict=True)]
            rows.append({"role": "assistant", "content": [*[text] * turn.odd, *calls]})
            rows.append({"role": "user", "content": [*found, *[{"type": "text", "text": "and"}] * turn.odd]})
    return rows


def gemini(turns: list[Turn]) -> Rows:
    rows: Rows = [{"role": "user", "parts": [{"text": "Go."}]}]
    for turn in turns:
        if turn.kind == "user":
            rows.append({"role": "user", "parts": [{"text": turn.words}]})
        elif turn.kind == "assistant":
            rows.append({"role": "model", "parts": [{"text": turn.words, "thought": True}, {"text": turn.words}]})
        else:
            asks, answers = ("function_call", "function_response") if turn.odd else ("functionCall", "functionResponse")
            names = [f"{turn.tool}{k}" for k in range(turn.calls)]
            calls = [{asks: {"name": name, "args": turn.arguments}, "thoughtSignature": "s"} for name in names]
            said = {"result": turn.words} if turn.odd else {"output": turn.words}
            rows.append({"role": "model", "parts": calls})
            rows.append({"role": "user", "parts": [{answers: {"name": name, "response": said}} for name in names]})
    return rows


def responses(turns: list[Turn]) -> Rows:
    rows: Rows = [{"role": "user", "content": "Go."}]
    for n, turn in enumerate(turns):
        thought = {"type": "reasoning", "id": f"r{n}", "summary": [], "encrypted_content": "e" * 50}
        kind = "input_text" if turn.kind == "user" else "output_text"
        said = {"type": "message", "role": turn.kind, "content": [{"type": kind, "text": turn.words}]}
        told = {"type": "function_call", "name": turn.tool, "arguments": json.dumps(turn.arguments)}
        keys = [f"{n}-{k}" for k in range(turn.calls)]
        if turn.kind != "call":
            rows += [*[thought] * (turn.kind == "assistant"), said]
        else:
            rows += [*[thought] * turn.odd, *({**told, "call_id": key} for key in keys)]
            rows += [{"type": "function_call_output", "call_id": key, "output": turn.words} for key in keys]
    return rows


def pairs(value: Any) -> tuple[list[Any], list[Any]]:
    """The ids, or names, of the calls and of the results in messages, wherever they stand."""
    calls: list[Any] = []
    results: list[Any] = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in ("functionCall", "function_call"):
            calls.append(inner["name"])
        elif key in ("functionResponse", "function_response"):
            results.append(inner["name"])
        elif key in ("tool_call_id", "tool_use_id") or (key == "call_id" and "output" in value):
            results.append(inner)
        elif key == "call_id" or (key == "id" and value.get("type") in ("tool_use", "function")):
            calls.append(inner)
        else:
            more = pairs(inner)
            calls += more[0]
            results += more[1]
    return calls, results


WORDS = st.sampled_from(["short", "line\n" * 300, "x y z " * 500, "\ud800 odd " * 200, "汉字" * 400])
TURNS = st.lists(
    st.builds(
        Turn, st.sampled_from(["user", "assistant", "call"]), WORDS, st.sampled_from(["Read", "bash", "send"]),
        st.dictionaries(st.sampled_from(["file_path", "command", "content"]), WORDS, max_size=3),
        st.integers(1, 3), st.booleans(),
    ),
    min_size=1, max_size=12,
)  # fmt: skip
FORMS: list[Callable[[list[Turn]], Rows]] = [openai, anthropic, gemini, responses]


@settings(max_examples=examples(120), deadline=None)
@given(TURNS, st.sampled_from(FORMS), st.floats(0.02, 1), st.booleans(), st.integers(0, 4))
def test_whatever_is_held(
    turns: list[Turn], form: Callable[[list[Turn]], Rows], share: float, inputs: bool, keep: int
) -> None:
    """It fits, by the same counter; what stays is the very same, but for what is told as stubbed; no pair is split."""
    rows = form(turns)
    before = copy.deepcopy(rows)
    tokens = estimate_tokens(rows, MODEL)
    budget = int(tokens * share)
    try:
        found = trim_conversation(rows, budget, model=MODEL, clear_inputs=inputs, keep_results=keep, keep=keep)
    except DoesNotFit:
        assert rows == before
        return
    assert rows == before and found.tokens_before == tokens
    assert found.token_count == estimate_tokens(found.messages, MODEL) <= budget
    same = sum(any(one is other for other in rows) for one in found.messages)
    assert len(found.messages) - same == found.stubbed_count
    assert len(rows) - len(found.messages) == found.dropped_count
    calls, results = pairs(found.messages)
    assert calls == results
    assert all(one.keys() == rows_of(rows, one).keys() for one in found.messages)


def rows_of(rows: Rows, one: dict[str, Any]) -> dict[str, Any]:
    """The row that a message was: itself, or the one with its ids."""
    return next((row for row in rows if row is one or (pairs(row) == pairs(one) != ([], []))), one)
