"""What Anthropic's Messages API refuses, from its public documentation. Shares no code with the writer.

Sources (docs.anthropic.com): "Messages" (roles, system, shapes of blocks, final assistant turn), "Handle tool calls"
(results directly after their calls and first in the message, unique ids, words alone in a failed result), "Web search
tool" (ids of server tools, results behind their calls), "Extended thinking" (signature, redacted thinking, order),
"Vision" (kinds of image sources and media types), "What's new in Claude 4.6" (no assistant message at the end).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

TOP = {
    "model", "messages", "system", "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "thinking",
    "tool_choice", "tools", "top_k", "top_p",
}  # fmt: skip
SHAPES: dict[str, tuple[set[str], set[str]]] = {
    # type: (keys it must have, keys it may have)
    "text": ({"text"}, {"cache_control", "citations"}),
    "image": ({"source"}, {"cache_control"}),
    "document": ({"source"}, {"cache_control", "citations", "context", "title"}),
    "search_result": ({"source", "title", "content"}, {"cache_control", "citations"}),
    "tool_use": ({"id", "name", "input"}, {"cache_control", "caller"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error", "cache_control"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
    "server_tool_use": ({"id", "name", "input"}, {"cache_control", "caller"}),
    "web_search_tool_result": ({"tool_use_id", "content"}, {"cache_control", "caller"}),
    "tool_reference": ({"tool_name"}, {"cache_control"}),
}
PLACES = {
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {
        "text", "tool_use", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result",
    },
    "result": {"text", "image", "document", "search_result", "tool_reference"},
}  # fmt: skip
DOCUMENTS = {"base64", "text", "content", "url", "file"}
MOST_CACHE_POINTS = 4
MEDIA = {"image/jpeg", "image/png", "image/gif", "image/webp"}
ID = re.compile(r"[a-zA-Z0-9_-]+")
URL = re.compile(r"https://\S+")
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def problems(body: dict[str, Any], *, prefill: bool = True) -> list[str]:
    """Everything in the body that would be refused, a line each; none for a valid one.

    `prefill`: the model goes on with an assistant message at the end, as those up to 4.5 do.
    """
    found = _json(body)
    found += [f"unknown key {key}" for key in body if key not in TOP]
    if json.dumps(body).count('"cache_control": {"type"') > MOST_CACHE_POINTS:
        found.append("more than 4 cache points")
    if "system" in body:
        found += _system(body["system"])
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "no messages"]
    for n, message in enumerate(messages):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            found.append(f"{n}: a message has role and content and nothing else")
        elif message["role"] not in ("user", "assistant"):
            found.append(f"{n}: role {message['role']!r}")
        else:
            found += [f"{n}: {text}" for text in _content(message["role"], message["content"])]
    found += _references(body)
    if not found and not prefill and messages[-1]["role"] == "assistant":
        found.append("this model does not support assistant message prefill")
    return found or _order(messages)


def _references(body: dict[str, Any]) -> list[str]:
    """Tools that results name without a definition in the body."""
    defined = {tool.get("name") for tool in body.get("tools") or ()}
    blocks = [
        b for m in body["messages"] if isinstance(m, dict) and isinstance(m.get("content"), list) for b in m["content"]
    ]
    inner = [b.get("content") for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
    held = [b for content in inner if isinstance(content, list) for b in content if isinstance(b, dict)]
    named = [b.get("tool_name") for b in held if b.get("type") == "tool_reference"]
    return [f"tool reference {name!r} not found in available tools" for name in named if name not in defined]


def _json(body: dict[str, Any]) -> list[str]:
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        return [f"not JSON in UTF-8: {error}"]
    return []


def _system(system: Any) -> list[str]:
    if isinstance(system, str):
        return [] if system.strip() else ["blank system"]
    if isinstance(system, list) and system:
        return [text for block in system for text in _block(block, {"text"})]
    return ["system is neither text nor blocks"]


def _content(role: str, content: Any) -> list[str]:
    if isinstance(content, str):
        return [] if content.strip() else ["blank content"]
    if not isinstance(content, list) or not content:
        return ["content is neither text nor a list of blocks"]
    return [text for block in content for text in _block(block, PLACES[role])]


def _block(block: Any, allowed: set[str]) -> list[str]:
    if not isinstance(block, dict):
        return ["a block is not an object"]
    kind = block.get("type")
    if kind not in allowed:
        return [f"a block of type {kind!r} cannot stand here"]
    must, may = SHAPES[kind]
    found = [f"{kind} without {key}" for key in sorted(must - set(block))]
    found += [f"{kind} with unknown key {key}" for key in sorted(set(block) - must - may - {"type"})]
    return found or _values(kind, block)


def _values(kind: str, block: dict[str, Any]) -> list[str]:
    found = []
    if kind == "text" and not (isinstance(block["text"], str) and block["text"].strip()):
        found.append("blank text")
    if kind == "tool_use":
        if not isinstance(block["id"], str) or not ID.fullmatch(block["id"]):
            found.append(f"tool_use id {block['id']!r}")
        if not isinstance(block["name"], str) or not NAME.fullmatch(block["name"]):
            found.append(f"tool name {block['name']!r}")
        if not isinstance(block["input"], dict):
            found.append("tool_use input is not an object")
    if kind == "server_tool_use" and not (isinstance(block["id"], str) and SERVER_ID.fullmatch(block["id"])):
        found.append(f"server_tool_use id {block['id']!r}")
    if kind == "thinking" and not (
        isinstance(block["thinking"], str) and isinstance(block["signature"], str) and block["signature"]
    ):
        found.append("thinking without a signature")
    if kind == "redacted_thinking" and not (isinstance(block["data"], str) and block["data"]):
        found.append("redacted thinking without data")
    if kind == "image":
        found += _source(block["source"])
    if kind == "tool_result":
        found += _result(block)
    if kind == "document" and not (isinstance(block["source"], dict) and block["source"].get("type") in DOCUMENTS):
        found.append("document source of an unknown kind")
    elif kind == "document" and block["source"]["type"] == "url" and not URL.fullmatch(str(block["source"].get("url"))):
        found.append("only HTTPS URLs are supported")
    if kind == "search_result":
        if not (isinstance(block["source"], str) and isinstance(block["title"], str)):
            found.append("search result without source and title")
        if not isinstance(block["content"], list) or not block["content"]:
            found.append("search result without content")
        else:
            found += [text for one in block["content"] for text in _block(one, {"text"})]
    return found


def _source(source: Any) -> list[str]:
    if not isinstance(source, dict):
        return ["image source is not an object"]
    if set(source) == {"type", "media_type", "data"} and source["type"] == "base64":
        if source["media_type"] not in MEDIA:
            return [f"media type {source['media_type']!r}"]
        try:
            data = source["data"]
            base64.b64decode(data + "=" * (-len(data) % 4), validate=True)
        except (binascii.Error, TypeError, ValueError):
            return ["image data is not base64"]
        return [] if data else ["empty image"]
    if set(source) == {"type", "url"} and source["type"] == "url":
        return [] if URL.fullmatch(str(source["url"])) else ["only HTTPS URLs are supported"]
    return ["image source of an unknown shape"]


def _result(block: dict[str, Any]) -> list[str]:
    found = []
    if not isinstance(block.get("is_error", False), bool):
        found.append("is_error is not a boolean")
    content = block.get("content", "")
    if isinstance(content, list):
        found += [text for one in content for text in _block(one, PLACES["result"])]
        if block.get("is_error") and any(isinstance(one, dict) and one.get("type") != "text" for one in content):
            found.append("all content must be type text if is_error is true")
    elif not isinstance(content, str):
        found.append("result content is neither text nor blocks")
    return found


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _place(blocks: list[dict[str, Any]], identity: str) -> int:
    """How far behind the call of a server tool its result stands."""
    call = next((n for n, block in enumerate(blocks) if block.get("id") == identity), len(blocks))
    return next(n for n, block in enumerate(blocks) if block.get("tool_use_id") == identity) - call


def _callers(blocks: list[dict[str, Any]]) -> list[str]:
    """Who made a call: the model itself, or code that it runs, whose call stands before."""
    found = []
    known: set[str] = set()
    for block in blocks:
        caller = block.get("caller", {"type": "direct"})
        if not isinstance(caller, dict) or set(caller) - {"tool_id"} != {"type"}:
            found.append("caller of an unknown shape")
        elif caller["type"] != "direct" and caller.get("tool_id") not in known:
            found.append("caller that is not in the message")
        if block["type"] == "server_tool_use":
            known.add(block["id"])
    return found


def _order(messages: list[dict[str, Any]]) -> list[str]:
    """What only shows in how the messages stand together."""
    found = []
    if messages[0]["role"] != "user":
        found.append("0: the first message is not the user's")
    seen: set[str] = set()
    due: list[str] = []
    for n, message in enumerate(messages):
        blocks = _blocks(message)
        if n and messages[n - 1]["role"] == message["role"]:
            found.append(f"{n}: two messages of role {message['role']} in a row")
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if kinds[: len(results)] != ["tool_result"] * len(results):
            found.append(f"{n}: results do not come first")
        found += [f"{n}: result for {one!r}, which the message before does not call" for one in set(results) - set(due)]
        found += [f"{n}: no result for {one!r}" for one in due if one not in results]
        if len(set(results)) != len(results):
            found.append(f"{n}: two results for one call")
        due = [block["id"] for block in blocks if block["type"] == "tool_use"]
        found += [f"{n}: tool_use id {one!r} is used again" for one in due if one in seen or due.count(one) > 1]
        seen.update(due)
        if message["role"] == "assistant" and kinds[-1] in ("thinking", "redacted_thinking"):
            found.append(f"{n}: thinking is the last block")
        found += [f"{n}: {text}" for text in _callers(blocks)]
        asked = [block["id"] for block in blocks if block["type"] == "server_tool_use"]
        told = [block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"]
        if sorted(asked) != sorted(told):
            found.append(f"{n}: calls and results of server tools differ")
        found += [f"{n}: the result of a server tool before its call" for one in told if _place(blocks, one) < 0]
    found += [f"no result for {one!r}" for one in due]
    last = _blocks(messages[-1])[-1]
    if messages[-1]["role"] == "assistant" and last["type"] == "text" and last["text"] != last["text"].rstrip():
        found.append("the final assistant text ends with white space")
    return found
