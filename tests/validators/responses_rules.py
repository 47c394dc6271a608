"""What OpenAI's Responses API refuses as `input`, from its public documentation. Shares no code with the writer.

Source (platform.openai.com): "Create a model response", the shapes of input items, keys, lengths of ids and names;
"Function calling", each call is answered by an output with its call_id; "Reasoning models", reasoning items are sent
together with the item that follows them.
"""

from __future__ import annotations

import json
import re
from typing import Any

ITEMS: dict[str, tuple[set[str], set[str]]] = {
    # type: (keys it must have, keys it may have)
    "message": ({"role", "content"}, {"id", "status", "phase"}),
    "reasoning": ({"summary"}, {"id", "content", "encrypted_content", "status"}),
    "function_call": ({"call_id", "name", "arguments"}, {"id", "namespace", "status"}),
    "function_call_output": ({"call_id", "output"}, {"id", "status"}),
    "custom_tool_call": ({"call_id", "name", "input"}, {"id", "namespace", "status"}),
    "custom_tool_call_output": ({"call_id", "output"}, {"id"}),
    "tool_search_call": ({"call_id", "arguments"}, {"id", "execution", "status"}),
    "tool_search_output": ({"call_id", "tools"}, {"id", "execution", "status"}),
    "local_shell_call": ({"call_id", "action", "status"}, {"id"}),
    "web_search_call": ({"action", "status"}, {"id"}),
    "image_generation_call": ({"id", "result", "status"}, {"revised_prompt"}),
    "compaction": ({"encrypted_content"}, {"id"}),
    "shell_call": ({"call_id", "action"}, {"id", "status", "environment"}),
    "shell_call_output": ({"call_id", "output"}, {"id", "status", "max_output_length"}),
    "apply_patch_call": ({"call_id", "operation", "status"}, {"id"}),
    "apply_patch_call_output": ({"call_id", "status"}, {"id", "output"}),
    "computer_call": ({"id", "call_id", "action", "pending_safety_checks", "status"}, set()),
    "computer_call_output": ({"call_id", "output"}, {"id", "status", "acknowledged_safety_checks"}),
    "file_search_call": ({"id", "queries", "status"}, {"results"}),
    "code_interpreter_call": ({"id", "container_id"}, {"code", "outputs", "status"}),
    "mcp_list_tools": ({"id", "server_label", "tools"}, {"error"}),
    "mcp_call": ({"id", "server_label", "name", "arguments"}, {"output", "error", "status", "approval_request_id"}),
    "mcp_approval_request": ({"id", "server_label", "name", "arguments"}, set()),
    "mcp_approval_response": ({"approval_request_id", "approve"}, {"id", "reason"}),
    "item_reference": ({"id"}, set()),
}
PIECES: dict[str, set[str]] = {
    "input_text": {"text"},
    "output_text": {"text", "annotations", "logprobs"},
    "refusal": {"refusal"},
    "input_image": {"image_url", "file_id", "detail"},
    "input_file": {"file_data", "file_id", "file_url", "filename"},
}
SAID = {"output_text", "refusal"}
"""What only the model says."""
ANSWERS = {
    "function_call": {"function_call_output"},
    "local_shell_call": {"function_call_output"},
    "custom_tool_call": {"custom_tool_call_output"},
    "tool_search_call": {"tool_search_output"},
    "shell_call": {"shell_call_output"},
    "apply_patch_call": {"apply_patch_call_output"},
    "computer_call": {"computer_call_output"},
}
MADE = {
    *ANSWERS, "message", "web_search_call", "image_generation_call", "compaction", "file_search_call",
    "code_interpreter_call", "mcp_list_tools", "mcp_call", "mcp_approval_request", "item_reference",
}  # fmt: skip
"""What may follow on reasoning."""
TOOL = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
LONGEST_ID = 64


def problems(body: dict[str, Any]) -> list[str]:
    """Everything in the body that would be refused, a line each; none for a valid one."""
    found = []
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        found.append(f"not JSON in UTF-8: {error}")
    found += [f"unknown key {key}" for key in body if key not in ("model", "input")]
    items = body.get("input")
    if not isinstance(items, list) or not items:
        return [*found, "no input"]
    for n, item in enumerate(items):
        found += [f"{n}: {text}" for text in _item(item)]
    return found or [*_pairs(items), *_reasoning(items)]


def _item(item: Any) -> list[str]:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in ITEMS:
        return [f"an item of type {kind!r}"]
    must, may = ITEMS[kind]
    found = [f"{kind} without {key}" for key in sorted(must - set(item))]
    found += [f"{kind} with {key}" for key in sorted(set(item) - must - may - {"type"})]
    if found:
        return found
    if "call_id" in item and not (isinstance(item["call_id"], str) and 0 < len(item["call_id"]) <= LONGEST_ID):
        found.append(f"call_id {item['call_id']!r}")
    if "name" in item and not (isinstance(item["name"], str) and TOOL.match(item["name"])):
        found.append(f"name {item['name']!r}")
    match kind:
        case "message":
            return found + _message(item)
        case "reasoning":
            return found + _thought(item)
        case "function_call":
            return found + ([] if _is_object(item["arguments"]) else ["arguments are no JSON object as text"])
        case "custom_tool_call":
            return found + ([] if isinstance(item["input"], str) else ["input is no text"])
        case "function_call_output" | "custom_tool_call_output":
            return found + _output(item["output"])
        case "tool_search_output":
            return found + ([] if isinstance(item["tools"], list) else ["tools is no list"])
        case "shell_call_output":
            return found + [text for one in item["output"] for text in _printed(one)]
        case "apply_patch_call_output":
            return found + ([] if item["status"] in ("completed", "failed") else ["status of a patch"])
        case "computer_call_output":
            shot = item["output"]
            return found + ([] if shot.get("type") == "computer_screenshot" else ["an output that is no screen"])
        case "compaction":
            return found + ([] if isinstance(item["encrypted_content"], str) else ["compaction without its content"])
    return found


def _message(item: dict[str, Any]) -> list[str]:
    role, content = item["role"], item["content"]
    if role not in ("user", "assistant", "system", "developer"):
        return [f"role {role!r}"]
    found = ["phase"] if item.get("phase") not in (None, "commentary", "final_answer") else []
    found += ["phase of the user"] if "phase" in item and role != "assistant" else []
    if isinstance(content, str):
        return found + ([] if content else ["empty content"])
    if not isinstance(content, list) or not content:
        return [*found, "content is neither text nor parts"]
    return found + [text for piece in content for text in _piece(piece, said=role == "assistant")]


def _piece(piece: Any, *, said: bool) -> list[str]:
    kind = piece.get("type") if isinstance(piece, dict) else None
    if kind not in PIECES or (kind in SAID) != said:
        return [f"a part that cannot stand here: {kind!r}"]
    found = [f"{kind} with {key}" for key in sorted(set(piece) - PIECES[kind] - {"type"})]
    if kind in ("input_text", "output_text") and not isinstance(piece.get("text"), str):
        found.append(f"{kind} without text")
    if kind == "input_image":
        url = piece.get("image_url")
        if not (isinstance(url, str) and url.startswith(("https://", "http://", "data:image/"))) and not (
            isinstance(piece.get("file_id"), str) and url is None
        ):
            found.append("image url")
        found += ["image detail"] if piece.get("detail", "auto") not in ("auto", "low", "high", "original") else []
    if kind == "input_file" and not any(piece.get(key) for key in ("file_data", "file_id", "file_url")):
        found.append("file without a file")
    return found


def _thought(item: dict[str, Any]) -> list[str]:
    found = [] if isinstance(item.get("encrypted_content"), str | None) else ["encrypted_content is no text"]
    for key, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        listed = item.get(key, [])
        if not isinstance(listed, list):
            return [*found, f"{key} is no list"]
        for one in listed:
            sound = isinstance(one, dict) and one.get("type") == kind and isinstance(one.get("text"), str)
            found += [] if sound and set(one) == {"type", "text"} else [f"{key} of an unknown shape"]
    return found


def _output(output: Any) -> list[str]:
    if isinstance(output, list):
        return [text for piece in output for text in _piece(piece, said=False)]
    return [] if isinstance(output, str) else ["output is neither text nor parts"]


def _printed(one: Any) -> list[str]:
    sound = isinstance(one, dict) and {"stdout", "stderr", "outcome"} == set(one)
    return [] if sound else ["an output of a shell of an unknown shape"]


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def _pairs(items: list[dict[str, Any]]) -> list[str]:
    """Each call has one output of its kind, behind it and before the next words."""
    found = []
    due: dict[str, str] = {}
    seen: set[str] = set()
    for n, item in enumerate(items):
        kind = item["type"]
        if kind in ANSWERS:
            found += [f"{n}: call_id {item['call_id']!r} is used again"] if item["call_id"] in seen else []
            seen.add(item["call_id"])
            due[item["call_id"]] = kind
        elif kind.endswith("_output"):
            asked = due.pop(item["call_id"], "")
            if kind not in ANSWERS.get(asked, ()):
                found.append(f"{n}: {kind} for {item['call_id']!r}, which is {asked or 'no open call'}")
        elif kind == "message" and item["role"] != "assistant":
            found += [f"{n}: {key!r} is not answered before this message" for key in due]
            due = {}
    asked_for = [item["id"] for item in items if item["type"] == "mcp_approval_request"]
    for n, item in enumerate(items):
        if item["type"] == "mcp_approval_response" and item["approval_request_id"] not in asked_for:
            found.append(f"{n}: permission for what nothing asks for")
    return [*found, *(f"{key!r} is not answered" for key in due)]


def _reasoning(items: list[dict[str, Any]]) -> list[str]:
    found = []
    for n, item in enumerate(items):
        if item["type"] == "reasoning":
            after = next((one for one in items[n + 1 :] if one["type"] != "reasoning"), {"type": "nothing"})
            if after["type"] not in MADE or after.get("role", "assistant") != "assistant":
                found.append(f"{n}: reasoning without the item that follows it")
    return found
