"""A block of a further kind goes out as it stands, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.formats.carried import RESULT_KINDS, SERVER_KINDS, USER_KINDS, carried

SOURCE = {"type": "text", "media_type": "text/plain", "data": "x"}
FOUND = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}

CASES: dict[str, tuple[dict[str, Any], Any, dict[str, Any] | None]] = {
    "document": ({"type": "document", "source": SOURCE}, USER_KINDS, {"type": "document", "source": SOURCE}),
    "with what it may hold": (
        {"type": "document", "source": SOURCE, "title": "t", "context": 5, "uuid": "u", "cache_control": {}},
        RESULT_KINDS,
        {"type": "document", "source": SOURCE, "title": "t"},
    ),
    "no source": ({"type": "document"}, USER_KINDS, None),
    "odd source": ({"type": "document", "source": {"type": []}}, USER_KINDS, None),
    "not here": ({"type": "document", "source": SOURCE}, SERVER_KINDS, None),
    "unknown kind": ({"type": "fallback"}, USER_KINDS, None),
    "kind of another type": ({"type": ["document"]}, USER_KINDS, None),
    "search result": (FOUND, RESULT_KINDS, FOUND),
    "search result without words": (FOUND | {"content": []}, RESULT_KINDS, None),
    "search result with blank words": (FOUND | {"content": [{"type": "text", "text": " "}]}, RESULT_KINDS, None),
    "search result with more": (FOUND | {"content": [{"type": "text", "text": "x", "k": 1}]}, RESULT_KINDS, None),
    "server call": (
        {"type": "server_tool_use", "id": "s", "name": "n", "input": {}, "caller": {"type": "direct"}},
        SERVER_KINDS,
        {"type": "server_tool_use", "id": "s", "name": "n", "input": {}, "caller": {"type": "direct"}},
    ),
    "server answer without content": ({"type": "web_search_tool_result", "tool_use_id": "s"}, SERVER_KINDS, None),
}


@pytest.mark.parametrize(("raw", "kinds", "sent"), CASES.values(), ids=CASES.keys())
def test_carried(raw: dict[str, Any], kinds: Any, sent: dict[str, Any] | None) -> None:
    """Each kind at its place, with the keys that the provider knows."""
    assert carried(raw, kinds) == sent
