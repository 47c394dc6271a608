"""Restating: other words in results, every other key as it was, in each of the forms that programs hold messages in."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ctxkit.formats.restating import WORDLESS, restated

TABLE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "chat",
        {"role": "tool", "tool_call_id": "a", "content": "long", "name": "Read", "x": 1},
        {"role": "tool", "tool_call_id": "a", "content": "1", "name": "Read", "x": 1},
    ),
    (
        "chat",
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "long"}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ),
    (
        "chat",
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "long", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "image"}], "is_error": True},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "b", "content": "2", "is_error": True},
        ]},
    ),
    ("chat", {"role": "user", "content": "no result"}, {"role": "user", "content": "no result"}),
    (
        "gemini",
        {"role": "user", "parts": [
            {"functionResponse": {"id": "a", "name": "f", "response": {"result": [1]}, "parts": [{"inlineData": 1}]}},
            {"function_response": {"name": "g", "response": {"error": "long"}}},
            {"text": "and"},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}},
            {"function_response": {"name": "g", "response": {"error": "2"}}},
            {"text": "and"},
        ]},
    ),
    (
        "responses",
        {"type": "function_call_output", "id": "i", "call_id": "a", "output": [{"type": "input_text", "text": "long"}]},
        {"type": "function_call_output", "id": "i", "call_id": "a", "output": "1"},
    ),
    (
        "responses",
        {"type": "shell_call_output", "call_id": "a", "output": [
            {"stdout": "long", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}]},
        {"type": "shell_call_output", "call_id": "a", "output": [
            {"stdout": "1", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}]},
    ),
    (
        "responses",
        {"type": "shell_call_output", "call_id": "a", "output": []},
        {"type": "shell_call_output", "call_id": "a", "output": [
            {"stdout": "1", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("form", "record", "wanted"), TABLE)
def test_results_say_something_else(form: str, record: dict[str, Any], wanted: dict[str, Any]) -> None:
    """And nothing else changes, in the record that was given neither."""
    before = copy.deepcopy(record)
    assert restated(form, record, ["1", "2"]) == wanted
    assert record == before


def test_what_has_no_words() -> None:
    """A picture and a list of tools cannot be shortened."""
    assert {"computer", "tool_search"} == WORDLESS
