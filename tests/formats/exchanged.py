"""What providers' APIs take and give, made by hand: one conversation of each with everything that it can hold."""

from __future__ import annotations

import json
from typing import Any

PIXELS = "iVBORw0KGgo="
PICTURE = f"data:image/png;base64,{PIXELS}"


def said(role: str, *texts: str) -> dict[str, Any]:
    """A message of Responses."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "look at this"},
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "a picture"}, {"type": "input_image", "image_url": PICTURE, "detail": "low"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
    ]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "think"}],
     "encrypted_content": "gAAA", "status": None},
    {"id": "msg_1", "status": "completed", **said("assistant", "let me see")},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{\"path\": \"a\"}",
     "status": "completed"},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "c1", "output": "contents"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": [
        {"type": "input_text", "text": "done"}, {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
    ]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "roll", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "roll", "arguments": "{}", "output": "4",
     "approval_request_id": "mcpr_1"},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": None},
    {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "k", "code": "1", "outputs":
     [{"type": "logs", "logs": "1"}]},
    {"type": "shell_call", "id": "sh_1", "call_id": "c3", "action": {"commands": ["ls"]}, "status": "completed"},
    {"type": "shell_call_output", "call_id": "c3", "output": [
        {"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    {"type": "apply_patch_call", "id": "ap_1", "call_id": "c4", "status": "completed",
     "operation": {"type": "delete_file", "path": "a.py"}},
    {"type": "apply_patch_call_output", "call_id": "c4", "status": "completed", "output": "gone"},
    {"type": "computer_call", "id": "cu_1", "call_id": "c5", "status": "completed", "pending_safety_checks": [],
     "action": {"type": "screenshot"}},
    {"type": "computer_call_output", "call_id": "c5", "output": {
        "type": "computer_screenshot", "image_url": PICTURE}},
    said("developer", "be careful"),
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "gBBB"},
    said("user", "and?"),
    {"type": "something_new", "id": "x"},
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no more"}]},
]  # fmt: skip
"""Items of every kind that Responses has."""

CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [
        {"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": PIXELS}},
        {"fileData": {"fileUri": "https://example.com/a.png", "mimeType": "image/png"}},
    ]},
    {"role": "model", "parts": [
        {"text": "hm", "thought": True, "thoughtSignature": "QUJD"}, {"text": "let me see"},
        {"functionCall": {"id": "k", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "QUJD"},
        {"functionCall": {"name": "read", "args": {"path": "b"}}},
    ]},
    {"role": "user", "parts": [
        {"functionResponse": {"id": "k", "name": "read", "response": {"output": "of a"}}},
        {"functionResponse": {"name": "read", "response": {"error": "no b"}}},
    ]},
    {"role": "model", "parts": [{"text": "done"}, {"executableCode": {"language": "PYTHON", "code": "1"}}]},
    {"role": "user", "parts": [{"text": "thanks"}]},
]  # fmt: skip
"""Contents of Gemini's API."""

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": [
        {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
    ]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "text", "text": "let me see"},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
        {"type": "tool_use", "id": "t2", "name": "read", "input": {}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [
            {"type": "text", "text": "of a"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}},
        ]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no path", "is_error": True},
        {"type": "text", "text": "go on"},
    ]},
    {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "done"},
    ]},
    {"role": "user", "content": "thanks"},
]  # fmt: skip
"""Messages of Anthropic's API."""

EXCHANGES: dict[str, tuple[str, Any]] = {
    "responses": ("responses", {"model": "gpt-5", "instructions": "be brief", "input": ITEMS}),
    "gemini": ("gemini", {"systemInstruction": {"parts": [{"text": "be brief"}]}, "contents": CONTENTS}),
    "anthropic": ("messages", {"model": "claude-opus-4-6", "system": "be brief", "messages": MESSAGES}),
}
"""Name -> the format that it is read as, and the body."""


def raw(name: str) -> bytes:
    """One of them as a file."""
    return json.dumps(EXCHANGES[name][1]).encode("ascii")
