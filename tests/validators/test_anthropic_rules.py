"""The Anthropic validator finds nothing in a sound body, and each broken one for its own reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators.anthropic_rules import problems

SOUND: dict[str, Any] = {
    "model": "m",
    "system": "S",
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "SIG"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "A", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "B", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "B", "content": "b"},
                {
                    "type": "tool_result",
                    "tool_use_id": "A",
                    "is_error": False,
                    "content": [
                        {"type": "text", "text": "x"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    ],
                },
                {"type": "text", "text": "go on"},
                {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ],
}

Change = Callable[[dict[str, Any]], Any]


def block(body: dict[str, Any], n: int, k: int) -> dict[str, Any]:
    found: dict[str, Any] = body["messages"][n]["content"][k]
    return found


def put(n: int, k: int, **values: Any) -> Change:
    return lambda body: block(body, n, k).update(values)


def drop(n: int, k: int, *keys: str) -> Change:
    return lambda body: [block(body, n, k).pop(key) for key in keys]


def swap(n: int, order: list[int]) -> Change:
    def change(body: dict[str, Any]) -> None:
        message = body["messages"][n]
        message["content"] = [message["content"][k] for k in order]

    return change


def message(n: int, **values: Any) -> Change:
    return lambda body: body["messages"][n].update(values)


def insert(n: int, role: str, *blocks: dict[str, Any]) -> Change:
    return lambda body: body["messages"].insert(n, {"role": role, "content": list(blocks)})


TEXT = {"type": "text", "text": "x"}
BROKEN: dict[str, tuple[Change, str]] = {
    "unknown key": (lambda b: b.update(extra=1), "unknown key extra"),
    "no messages": (lambda b: b.update(messages=[]), "no messages"),
    "blank system": (lambda b: b.update(system=" "), "blank system"),
    "system of another kind": (lambda b: b.update(system=5), "system is neither"),
    "image in the system": (lambda b: b.update(system=[{"type": "image", "source": {}}]), "'image' cannot stand here"),
    "not UTF-8": (put(3, 0, text="\ud800"), "not JSON in UTF-8"),
    "NaN": (put(1, 3, input={"x": float("nan")}), "not JSON in UTF-8"),
    "system role": (message(3, role="system"), "role 'system'"),
    "key in a message": (message(3, name="n"), "nothing else"),
    "empty content": (message(3, content=[]), "neither text nor a list"),
    "blank content": (message(0, content=" "), "blank content"),
    "null content": (message(3, content=None), "neither text nor a list"),
    "block that is text": (message(3, content=["x"]), "not an object"),
    "blank text": (put(2, 2, text=" \n"), "blank text"),
    "empty text in a result": (lambda b: block(b, 2, 1)["content"][0].update(text=""), "blank text"),
    "unknown block": (put(2, 2, type="fallback"), "'fallback' cannot stand here"),
    "call of the user": (insert(4, "user", block(SOUND, 1, 3)), "'tool_use' cannot stand here"),
    "result of the assistant": (insert(4, "user", {"type": "thinking"}), "'thinking' cannot stand here"),
    "missing key": (drop(1, 3, "input"), "tool_use without input"),
    "key in a block": (put(2, 2, uuid="x"), "unknown key uuid"),
    "id with a colon": (put(1, 3, id="a:1"), "tool_use id 'a:1'"),
    "empty id": (put(1, 3, id=""), "tool_use id ''"),
    "name with a dot": (put(1, 3, name="a.b"), "tool name 'a.b'"),
    "input as text": (put(1, 3, input="{}"), "not an object"),
    "no signature": (drop(1, 0, "signature"), "thinking without signature"),
    "empty signature": (put(1, 0, signature=""), "thinking without a signature"),
    "empty redacted": (put(1, 1, data=""), "redacted thinking without data"),
    "thinking last": (swap(1, [2, 3, 4, 0]), "thinking is the last block"),
    "media type": (put(2, 3, source={"type": "base64", "media_type": "image/bmp", "data": "AAAA"}), "media type"),
    "not base64": (put(2, 3, source={"type": "base64", "media_type": "image/png", "data": "?"}), "not base64"),
    "empty image": (put(2, 3, source={"type": "base64", "media_type": "image/png", "data": ""}), "empty image"),
    "data as url": (put(2, 3, source={"type": "url", "url": "data:x"}), "only HTTPS URLs"),
    "http as url": (put(2, 3, source={"type": "url", "url": "http://x/y.png"}), "only HTTPS URLs"),
    "blank in a link": (put(2, 3, source={"type": "url", "url": "https://x/a b"}), "only HTTPS URLs"),
    "document by http": (
        put(2, 3, type="document", source={"type": "url", "url": "http://x/y.pdf"}),
        "only HTTPS URLs",
    ),
    "name and a line": (put(1, 3, name="a\n"), "tool name 'a"),
    "caller that is none": (put(1, 3, caller={"type": "direct", "x": 1}), "caller of an unknown shape"),
    "caller from elsewhere": (put(1, 3, caller={"type": "code_execution_1", "tool_id": "srvtoolu_9"}), "not in the me"),
    "odd source": (put(2, 3, source={"type": "file"}), "unknown shape"),
    "result of another kind": (put(2, 0, content=5), "neither text nor blocks"),
    "error that is no boolean": (put(2, 0, is_error="no"), "is_error"),
    "assistant first": (lambda b: b["messages"].pop(0), "not the user's"),
    "document without a source": (
        insert(4, "user", {"type": "document", "source": {"type": "odd"}}),
        "document source of an unknown kind",
    ),
    "search result without title": (
        insert(4, "user", {"type": "search_result", "source": "s", "title": 5, "content": [TEXT]}),
        "without source and title",
    ),
    "search result without content": (
        insert(4, "user", {"type": "search_result", "source": "s", "title": "t", "content": []}),
        "search result without content",
    ),
    "search result with an image": (
        insert(4, "user", {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "image"}]}),
        "'image' cannot stand here",
    ),
    "too many cache points": (
        insert(4, "user", *[TEXT | {"cache_control": {"type": "ephemeral"}}] * 5),
        "more than 4 cache points",
    ),
    "two of one role": (insert(1, "user", TEXT), "in a row"),
    "results after text": (swap(2, [2, 0, 1]), "results do not come first"),
    "result missing": (swap(2, [0, 2]), "no result for 'A'"),
    "no answers at all": (lambda b: b.update(messages=b["messages"][:2]), "no result for 'A'"),
    "unknown result": (put(2, 0, tool_use_id="Z"), "result for 'Z'"),
    "two results": (swap(2, [0, 0, 1]), "two results for one call"),
    "id twice": (lambda b: (put(1, 4, id="A")(b), put(2, 0, tool_use_id="A")(b)), "'A' is used again"),
    "id used again later": (
        lambda b: b["messages"].extend(copy.deepcopy([{"role": "user", "content": "x"}, *b["messages"][1:3]])),
        "'A' is used again",
    ),
    "server tool without result": (
        insert(4, "assistant", {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {}}),
        "server tools differ",
    ),
    "server tool with an id of another provider": (
        insert(4, "assistant", {"type": "server_tool_use", "id": "call_s", "name": "web_search", "input": {}}),
        "server_tool_use id 'call_s'",
    ),
    "server tool after its result": (
        insert(
            4,
            "assistant",
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []},
            {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {}},
        ),
        "before its call",
    ),
    "white space at the end": (put(3, 0, text="done \n"), "ends with white space"),
}


def test_a_sound_body_has_no_problems() -> None:
    """Or the tests below would show nothing."""
    assert problems(SOUND) == []


@pytest.mark.parametrize(("change", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_body_is_caught(change: Change, said: str) -> None:
    """One broken body per rule."""
    body = copy.deepcopy(SOUND)
    change(body)
    assert any(said in problem for problem in problems(body)), problems(body)
