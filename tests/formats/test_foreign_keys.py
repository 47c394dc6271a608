"""Keys of another program's rows are told from those of a log's owner."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.formats.foreign_keys import dialect, is_foreign, is_message

SAID = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("record", "message", "foreign"),
    [
        (SAID, True, False),
        (SAID | {"persona": "frodo", "uuid": "u", "message": "hi", "payload": {}, "type": 3}, True, False),
        (SAID | {"message": {"id": 3}}, True, False),
        (SAID | {"uuid": "u", "parentUuid": None}, True, True),
        (SAID | {"message": {"content": []}}, True, True),
        (SAID | {"type": "event", "payload": {}}, True, True),
        ({"role": "user", "content": [{"type": "toolResponse"}]}, True, True),
        ({"role": "user", "content": [{"type": "tool_result", "toolUseID": "t"}]}, True, True),
        ({"role": "assistant", "tool_calls": []}, True, False),
        ({"role": "user"}, False, False),
        ({"role": 3, "content": "x"}, False, False),
        ({"role": "user", "content": [{"type": []}, {"type": {}}, 3]}, True, False),
        ({"working_dir": "/", "message_count": 3}, False, True),
        ({"working_dir": "/"}, False, False),
    ],
)
def test_keys(record: dict[str, Any], message: bool, foreign: bool) -> None:
    """A chat message has a role and something said; it may be another program's besides."""
    assert (is_message(record), is_foreign(record)) == (message, foreign)


@pytest.mark.parametrize(
    ("records", "name"),
    [
        ([], ""),
        ([SAID], ""),
        ([SAID | {"message": {"content": "x"}}], ""),
        ([{"type": "user", "message": {"content": "x"}}], ""),
        ([SAID, {"role": "user", "message": {"content": "x"}}], "cursor"),
        ([{"message": {"content": "x"}, "contextItems": []}], "continue"),
        ([{"message": {"content": "x"}, "contextItems": []}, {"executionId": "e"}], ""),
        ([{"parentUuid": "u", "sessionId": "s", "message": {"parts": []}}], "qwen-code"),
        ([{"parentUuid": "u", "sessionId": "s", "message": {"parts": [], "content": ""}}], ""),
    ],
)
def test_dialect(records: list[dict[str, Any]], name: str) -> None:
    """Whose words they are, where these are not a chat's."""
    assert dialect(records) == name
