"""The kinds of items of OpenAI's Responses API: whose each is, what it must hold to go on, what answers it.

Pipeline: `formats/response_log.py` and `formats/codex/` number items by these, `formats/response_parts.py` reads them,
`formats/response_items.py` writes them. A kind that is not here is read as the model's, and goes nowhere.
"""

from __future__ import annotations

from typing import Any

import msgspec

WORDS = (str, list)
"""Text, or a list of `PIECES`."""


class ItemKind(msgspec.Struct, frozen=True):
    """One kind of item.

    `keys`: what goes on with it, and of which type it must be; None = may be left out, or be anything. `side`: "call",
    "answer" (to a call), "asked" (the user's), "said" (the model's), or "message", whose role says it. `codex`: Codex
    keeps it in its sessions. Of a call: `tool` is what it is called where it has no name, `input` the key of its
    arguments, `answer` the kind that answers it, `worded` whether any words may stand in that.
    """

    side: str
    keys: dict[str, Any]
    tool: str = ""
    input: str = ""
    answer: str = ""
    worded: bool = False
    codex: bool = False


def _call(
    keys: dict[str, Any], tool: str, input: str, answer: str, worded: bool = False, codex: bool = False
) -> ItemKind:
    return ItemKind("call", {"call_id": str, input: object, "id": None} | keys, tool, input, answer, worded, codex)


def _answer(keys: dict[str, Any], codex: bool = False) -> ItemKind:
    return ItemKind("answer", {"call_id": str, "id": None} | keys, codex=codex)


_DONE = {"id": str, "status": None}
KINDS: dict[str, ItemKind] = {
    "message": ItemKind("message", {"role": str, "content": WORDS, "id": None, "phase": None}, codex=True),
    "reasoning": ItemKind(
        "said", {"summary": list, "id": None, "content": None, "encrypted_content": None}, codex=True
    ),
    "function_call": _call(
        {"name": str, "arguments": str, "namespace": None}, "", "arguments", "function_call_output", True, True
    ),
    "function_call_output": _answer({"output": WORDS}, True),
    "custom_tool_call": _call(
        {"name": str, "input": str, "namespace": None, "status": None}, "", "input", "custom_tool_call_output",
        True, True,
    ),
    "custom_tool_call_output": _answer({"output": WORDS}, True),
    "tool_search_call": _call(
        {"status": None, "execution": None}, "tool_search", "arguments", "tool_search_output", True, True
    ),
    "tool_search_output": _answer({"tools": list, "status": None, "execution": None}, True),
    "local_shell_call": _call(
        {"action": dict, "status": str}, "local_shell", "action", "function_call_output", True, True
    ),
    "shell_call": _call(
        {"action": dict, "status": None, "environment": None}, "shell", "action", "shell_call_output"
    ),
    "shell_call_output": _answer({"output": list, "max_output_length": None, "status": None}),
    "apply_patch_call": _call(
        {"operation": dict, "status": str}, "apply_patch", "operation", "apply_patch_call_output"
    ),
    "apply_patch_call_output": _answer({"status": str, "output": None}),
    "computer_call": _call(
        {"id": str, "action": dict, "pending_safety_checks": list, "status": str}, "computer", "action",
        "computer_call_output",
    ),
    "computer_call_output": _answer({"output": dict, "acknowledged_safety_checks": None, "status": None}),
    "web_search_call": ItemKind("said", {"action": dict, "status": str, "id": None}, codex=True),
    "file_search_call": ItemKind("said", {"id": str, "queries": list, "status": str, "results": None}),
    "code_interpreter_call": ItemKind("said", {"code": None, "container_id": str, "outputs": None} | _DONE),
    "image_generation_call": ItemKind(
        "said", {"id": str, "result": str, "status": str, "revised_prompt": None}, codex=True
    ),
    "mcp_list_tools": ItemKind("said", {"id": str, "server_label": str, "tools": list, "error": None}),
    "mcp_call": ItemKind(
        "said",
        {"server_label": str, "name": str, "arguments": str, "output": None, "error": None, "approval_request_id": None}
        | _DONE,
    ),
    "mcp_approval_request": ItemKind("said", {"id": str, "server_label": str, "name": str, "arguments": str}),
    "mcp_approval_response": ItemKind(
        "asked", {"approval_request_id": str, "approve": bool, "id": None, "reason": None}
    ),
    "item_reference": ItemKind("said", {"id": str}),
    "compaction": ItemKind("said", {"encrypted_content": str, "id": None}, codex=True),
}  # fmt: skip
"""Type of an item -> its kind. What else a program keeps with its items (`metadata`, ...) is no content."""

CALLS = frozenset(name for name, kind in KINDS.items() if kind.side == "call")
LOOSE = frozenset(name for name, kind in KINDS.items() if kind.side in ("said", "asked")) - {"reasoning"}
"""Items that neither make a call of ours nor answer one."""
ROLES = frozenset({"user", "assistant", "system", "developer"})
PIECES: dict[str, dict[str, Any]] = {
    "input_text": {"text": str},
    "input_image": {"image_url": None, "file_id": None, "detail": None},
    "input_file": {"file_data": None, "file_id": None, "file_url": None, "filename": None},
    "output_text": {"text": str, "annotations": None},
    "refusal": {"refusal": str},
}
"""Kinds of what stands in the content of a message, and in an output -> its keys, as those of items."""
SAID = frozenset({"output_text", "refusal"})
"""Pieces of the model; the others are of everybody else, and of outputs."""


def sound_piece(piece: Any, *, said: bool) -> bool:
    """Whether it is such a piece and may stand among what the model said, or elsewhere."""
    kind = piece.get("type") if isinstance(piece, dict) else None
    if not isinstance(kind, str) or kind not in PIECES or (kind in SAID) != said:
        return False
    keys = PIECES[kind]
    held = any(isinstance(piece.get(key), str) and piece[key] for key in keys if key not in ("detail", "filename"))
    return (held or kind == "input_text" or kind == "output_text") and all(
        isinstance(piece.get(key), of) for key, of in keys.items() if of is not None
    )


def piece_that_goes_on(piece: dict[str, Any]) -> dict[str, Any]:
    """A piece with the keys that go on."""
    keys = PIECES[piece["type"]]
    return {key: piece[key] for key in piece if key == "type" or (key in keys and piece[key] is not None)}


def kind_of_item(kind: object, role: object) -> str:
    """The type of an item; a message may leave it out. "" for what is no item."""
    if isinstance(kind, str):
        return kind
    return "message" if kind is None and isinstance(role, str) else ""


def is_item(record: dict[str, Any]) -> bool:
    """Whether a record is such an item beyond doubt: of a kind that is here, with what it must hold.

    A message is one by the pieces of its content, as chat messages and Anthropic's answers have roles too.
    """
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        return False
    if kind != "message":
        keys = KINDS[kind].keys
        return all(isinstance(record.get(key), of) for key, of in keys.items() if of is not None and key != "status")
    content = record.get("content")
    listed = content if isinstance(content, list) else []
    return isinstance(record.get("role"), str) and any(
        isinstance(one, dict) and isinstance(one.get("type"), str) and one["type"] in PIECES for one in listed
    )
