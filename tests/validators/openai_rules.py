"""What OpenAI's chat completions API refuses, from its public documentation. Shares no code with the writer.

Source (platform.openai.com): "Create chat completion", the shapes of messages by role, lengths of ids and lists;
"Function calling", each call of an assistant message answered by a tool message before anything else; "Images and
vision", "Audio", "File inputs", the kinds of parts of a user.
"""

from __future__ import annotations

import json
import re
from typing import Any

ROLES: dict[str, tuple[set[str], set[str], set[str]]] = {
    # role: (keys it must have, keys it may have, kinds of content parts)
    "system": ({"content"}, {"name"}, {"text"}),
    "developer": ({"content"}, {"name"}, {"text"}),
    "user": ({"content"}, {"name"}, {"text", "image_url", "input_audio", "file"}),
    "assistant": (set(), {"content", "name", "refusal", "tool_calls", "audio"}, {"text", "refusal"}),
    "tool": ({"content", "tool_call_id"}, set(), {"text"}),
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
URL = re.compile(r"https?://\S+")
LONGEST_ID = 40
MOST_CALLS = 128
DATA = re.compile(r"data:image/(jpeg|png|gif|webp);base64,([A-Za-z0-9+/]+={0,2})")
OPENAI = re.compile(r"(^|openai/)(gpt|chatgpt|o[134])\b")
REASONING = {"reasoning_content": str, "reasoning": str, "reasoning_details": list, "thinking_blocks": list}
"""What other providers of this API have in an assistant's message; OpenAI's own refuses unknown keys."""
MAY_HOLD = {"input_audio": {"data", "format"}, "file": {"file_data", "file_id", "filename"}}


def problems(body: dict[str, Any]) -> list[str]:
    """Everything in the body that would be refused, a line each; none for a valid one."""
    found = []
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        found.append(f"not JSON in UTF-8: {error}")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "no messages"]
    others = not OPENAI.match(str(body.get("model", "")))
    for n, message in enumerate(messages):
        more = {key for key, kind in REASONING.items() if others and isinstance(message.get(key), kind)}
        found += [f"{n}: {text}" for text in _message(message, more)]
    return found or _order(messages)


def _message(message: Any, more: set[str]) -> list[str]:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        return ["a message needs one of the known roles"]
    must, may, kinds = ROLES[message["role"]]
    may = may | more if message["role"] == "assistant" else may
    found = [f"without {key}" for key in sorted(must - set(message))]
    found += [f"unknown key {key}" for key in sorted(set(message) - must - may - {"role"})]
    if "name" in message and not (isinstance(message["name"], str) and NAME.fullmatch(message["name"])):
        found.append(f"name {message['name']!r}")
    content = message.get("content")
    if content is None:
        if not message.get("tool_calls") and not message.get("refusal"):
            found.append("no content")
    elif isinstance(content, list):
        found += ["empty list of parts"] if not content else []
        found += [text for part in content for text in _part(part, kinds)]
    elif not isinstance(content, str):
        found.append("content is neither text nor parts")
    if "tool_calls" in message:
        calls = message["tool_calls"]
        if not isinstance(calls, list) or not calls:
            return [*found, "empty tool_calls"]
        found += ["array too long: tool_calls"] if len(calls) > MOST_CALLS else []
        found += [text for call in calls for text in _call(call)]
    return found


def _part(part: Any, kinds: set[str]) -> list[str]:
    if not isinstance(part, dict) or part.get("type") not in kinds:
        return [f"a part that cannot stand here: {part!r}"]
    kind = part["type"]
    if set(part) != {"type", kind}:
        return [f"{kind} with keys {sorted(part)}"]
    value = part[kind]
    if kind in ("text", "refusal"):
        return [] if isinstance(value, str) and value else ["empty text part"]
    if not isinstance(value, dict):
        return [f"{kind} is not an object"]
    if kind == "image_url":
        url = value.get("url")
        if not isinstance(url, str) or not (URL.fullmatch(url) or DATA.fullmatch(url)):
            return ["image url"]
        if set(value) - {"url", "detail"} or value.get("detail", "auto") not in ("auto", "low", "high"):
            return ["image detail"]
        return []
    if set(value) - MAY_HOLD[kind] or not all(isinstance(one, str) and one for one in value.values()) or not value:
        return [f"{kind} of an unknown shape"]
    if kind == "input_audio" and (set(value) != MAY_HOLD[kind] or value["format"] not in ("wav", "mp3")):
        return ["input_audio without data and format"]
    if kind == "file" and not {"file_data", "file_id"} & set(value):
        return ["missing required parameter: file_id"]
    return []


def _call(call: Any) -> list[str]:
    if not isinstance(call, dict) or set(call) != {"id", "type", "function"} or call["type"] != "function":
        return ["a tool call of an unknown shape"]
    found = []
    if not isinstance(call["id"], str) or not 0 < len(call["id"]) <= LONGEST_ID:
        found.append(f"call id {call['id']!r}")
    function = call["function"]
    if not isinstance(function, dict) or set(function) != {"name", "arguments"}:
        return [*found, "a function of an unknown shape"]
    if not isinstance(function["name"], str) or not NAME.fullmatch(function["name"]):
        found.append(f"function name {function['name']!r}")
    try:
        if not isinstance(json.loads(function["arguments"]), dict):
            found.append("arguments are no object")
    except (TypeError, ValueError):
        found.append("arguments are not JSON text")
    return found


def _order(messages: list[dict[str, Any]]) -> list[str]:
    """What only shows in how the messages stand together."""
    found = []
    due: list[str] = []
    seen: set[str] = set()
    for n, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in due:
                due.remove(message["tool_call_id"])
            else:
                found.append(f"{n}: answers {message['tool_call_id']!r}, which is not called or answered already")
            continue
        found += [f"{n}: {one!r} is not answered before this message" for one in due]
        due = [call["id"] for call in message.get("tool_calls", [])]
        found += [f"{n}: call id {one!r} is used again" for one in due if one in seen or due.count(one) > 1]
        seen.update(due)
    return [*found, *(f"{one!r} is not answered" for one in due)]
