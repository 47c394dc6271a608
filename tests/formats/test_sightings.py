"""What is said of a file that no format reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.formats.sightings import of_file, of_record


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            {"schema_version": "ATIF-v1.2", "agent": {}, "steps": []},
            "the keys schema_version, agent, steps: it looks like",
        ),
        ([{"conversations": []}, {}], "a JSON array of 2, the first with the keys conversations: it looks like"),
        ({"mapping": {}, "current_node": "a"}, "an export of ChatGPT"),
        ({"prompt": "a", "completion": "b"}, "fine-tuning"),
        ({"type": "response.created", "response": {}}, "a stream"),
        ({"type": "function_call", "name": "f"}, "an item of Responses without a sound call_id, arguments"),
        ({"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}, "type, name, call_id, arguments"),
        ({"a": 1}, "one JSON object with the keys a"),
        ({}, "(none)"),
    ],
)
def test_of_file(value: Any, words: str) -> None:
    """Its keys, and whose shape they are."""
    for indent in (None, 2):
        found = of_file(json.dumps(value, indent=indent).encode())
        assert found is not None and words in found


@pytest.mark.parametrize("raw", [b"", b"words", b"{", b"[1, 2]", b"3"])
def test_nothing_can_be_told(raw: bytes) -> None:
    """Of what is no JSON, or holds no object."""
    assert of_file(raw) is None


def test_binary() -> None:
    """By its first bytes."""
    assert of_file(b"PK\x03\x04abc") == "it is a zip archive, as logs of Inspect (.eval) are"


def test_keys_are_cut() -> None:
    """Eight of them are shown."""
    assert of_record(dict.fromkeys("abcdefghij"), "it has") == "it has the keys a, b, c, d, e, f, g, h, …"
