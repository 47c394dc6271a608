"""What is said of a file that no format reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.formats.unsupported import refused, refused_file, refused_start


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"schema_version": "ATIF-v1.2", "agent": {}, "steps": []}, "looks like a trajectory in ATIF, which ctxkit"),
        ({"schema_version": "ATIF-v1.2", "agent": {}, "steps": []}, "the keys schema_version, agent, steps"),
        ([{"conversations": []}, {}], "ShareGPT, which ctxkit does not read: it is a JSON array of 2"),
        ({"mapping": {}, "current_node": "a"}, "an export of ChatGPT"),
        ({"uuid": "u", "name": "x", "account": {}, "chat_messages": []}, "an export of Claude.ai"),
        ({"id": "x", "user_id": "u", "title": "t", "chat": {}, "share_id": None}, "an export of Open WebUI"),
        ({"id": "r", "run_type": "llm", "inputs": {}, "outputs": {}, "trace_id": "t"}, "runs of LangSmith"),
        ({"conversation_id": "c", "history": [], "valid_history_range": [0, 1]}, "a conversation of Kiro CLI"),
        ({"title": "t", "messages": [], "updated_at": "", "cumulative_token_usage": {}}, "a thread of Zed"),
        ({"id": "x", "zed": "context", "version": "0.4.0", "text": "", "messages": []}, "a text thread of Zed"),
        ({"prompt": "a", "completion": "b"}, "fine-tuning"),
        ({"type": "response.created", "response": {}}, "a stream"),
        ({"type": "function_call", "name": "f"}, "an item of Responses without a sound call_id, arguments"),
        ({"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}, "type, name, call_id, arguments"),
        ({"kind": 1, "k": [], "v": 2}, "VS Code"),
        ({"kind": "note", "v": 2}, "not a format that ctxkit reads"),
        ({"a": 1}, "one JSON object with the keys a"),
        ({}, "(none)"),
    ],
)
def test_of_a_file(value: Any, words: str) -> None:
    """Whose shape it has, and its keys."""
    for indent in (None, 2):
        found = refused_file(json.dumps(value, indent=indent).encode())
        assert found is not None and words in found.message and found.hint


@pytest.mark.parametrize("raw", [b"", b"words", b"{", b"[1, 2]", b"3"])
def test_nothing_can_be_told(raw: bytes) -> None:
    """Of what is no JSON, or holds no object."""
    assert refused_file(raw) is None


@pytest.mark.parametrize(
    ("raw", "name", "words"),
    [
        (b"PK\x03\x04abc", "", "a zip archive"),
        (b"\x1f\x8b\x08", "", "gzip"),
        (b"BZh91AY&SY", "", "bzip2"),
        (b"\xfd7zXZ\x00\x00", "", "compressed by xz"),
        (b"SQLite format 3\0 CREATE TABLE nothing", "", "a database"),
        (b"SQLite format 3\0 CREATE TABLE session (\0CREATE TABLE `message`\0CREATE TABLE part", "", "opencode"),
        (b"\n# aider chat started at 2026", "", "aider"),
        (b"\x08\x01", "a.pb", "Windsurf"),
        (b'{"a"', "a.pb", ""),
        (b"\x08\x01", "a.jsonl", ""),
        (b"# a page", "a.md", ""),
    ],
)
def test_by_its_first_bytes(raw: bytes, name: str, words: str) -> None:
    """Whatever stands behind them."""
    found = refused_start(raw, name)
    assert words in found.message if found is not None else not words


def test_keys_are_cut() -> None:
    """Eight of them are shown."""
    assert refused(dict.fromkeys("abcdefghij"), "it has").message.endswith("it has the keys a, b, c, d, e, f, g, h, …")
