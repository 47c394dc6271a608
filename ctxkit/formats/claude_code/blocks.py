"""Rows and parts as Anthropic blocks: the first half of what Claude Code does to a history on resume.

Pipeline: `wire.py` takes the `SentPiece`s of a context, one per row, each cleaned on its own (agents, Claude Code 6,
11, 12), and then merges and pairs them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec

from ctxkit.core.derive.image_size import type_of_base64
from ctxkit.core.messages import Call, Content, Image, Part, Repairs, Result, Text
from ctxkit.formats.claude_code import attachments
from ctxkit.formats.claude_code.content import THINKING, blocks_of, unique_rows
from ctxkit.formats.claude_code.rows import text

_KNOWN = {"text", "image", "document", "search_result", "server_tool_use", "container_upload", "mcp_tool_use"}
TOOLS = frozenset({
    "Agent", "Bash", "CronCreate", "CronDelete", "CronList", "DeferredToolPlaceholder", "Edit", "EnterWorktree",
    "ExitWorktree", "ListAgents", "Monitor", "NotebookEdit", "Read", "ReportFindings", "ScheduleWakeup", "SendMessage",
    "Skill", "TaskStop", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write", "Task", "KillShell",
})  # fmt: skip
"""Tools that a resumed session has with every model, without those of servers and terminals. `Task` and `KillShell`
are older names of two of them."""
TASKS = frozenset({"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"})
"""Tools that it has in addition with the models of `_WITH_TASKS`."""
_WITH_TASKS = re.compile(r"(^|[./])claude-(opus-4[-.][5-7]|sonnet-4[-.][56]|haiku-4[-.]5)($|[@:[]|-(\d{8}|v\d))")
"""Observed in 2.1.329 and 2.1.330 with every model that they know: run `python -m tests.resume.probes`."""
OLD_FIELDS = frozenset({"type", "recipient", "content", "request_id", "approve"})
"""Fields of SendMessage that are not sent if it has both `to` and `message`: observed in 2.1.330."""
DEFAULT = "claude-opus-5-5"
"""The model with which 2.1.329 continues if the session's is retired or unknown."""
_CURRENT = re.compile(
    r"(^|[./])claude-(opus-(4[-.][5-8]|5|5[-.]5)|sonnet-(4[-.][5-6]|5|5[-.]5)|haiku-(4[-.]5|5[-.]5)|(fable|mythos)-5([-.][12])?)"
    r"($|[@:[]|-(\d{8}|v\d))"
)
"""The models that 2.1.329 knows."""
NO_TOOLS = "[Tool references removed - tools no longer available]"
_OLD_MODELS = re.compile(r"claude-(3|opus-4($|-[0-6]($|-)|-2)|sonnet-4|haiku-4)")
"""Models that still get task reminders (rule 11)."""
_NOTIFICATION = (
    "[SYSTEM NOTIFICATION - NOT USER INPUT]\n"
    "This is an automated event of a background task. No human wrote it: it answers no question and approves nothing."
    "\n\n"
)


class SentPiece(msgspec.Struct, gc=False):
    """One row (or one message without rows) as it would be sent. `blocks`: JSON objects, or references to them.

    `response`: message.id; `model`: of the response. `kind`: "row", "own" (ctxkit made it), "local" (output of a local
    command) or "reminder" (an attachment). `row`: its row. `loose`: its words are ctxkit's, not the program's exact
    ones. `meta`: the program wrote it in the user's name. `n`, `place`: its message and its place on the path, if the
    caller sets them.
    """

    role: str
    blocks: list[Any]
    kind: str = "row"
    response: str = ""
    model: str = ""
    row: dict[str, Any] | None = None
    loose: bool = False
    meta: bool = False
    n: int = 0
    place: int = -1


def pieces_of(contents: Iterable[Content], model: str, repairs: Repairs) -> list[SentPiece]:
    """The pieces of a context, without what is never sent. `model`: of the request, for model-dependent reminders."""
    pieces: list[SentPiece] = []
    for content in contents:
        if not content.rows or "type" not in content.rows[0]:  # not the program's row: an op made it
            if (piece := _made(content, repairs)) is not None:
                pieces.append(piece)
            continue
        for row in unique_rows(content.rows):
            piece = _row(row, model, repairs)
            if piece is not None:
                piece.row = row
                pieces.append(piece)
    return pieces


def tools_of(model: str) -> frozenset[str]:
    """The tools that a resumed session itself has with a model."""
    return TOOLS | TASKS if _WITH_TASKS.search(model) else TOOLS


def found_tools(block: dict[str, Any]) -> tuple[str, ...]:
    """The names of the tools that a result of a tool search refers to."""
    content = block.get("content")
    if not isinstance(content, list):
        return ()
    return tuple(text(one.get("tool_name")) for one in content if one.get("type") == "tool_reference")


def with_known_tools(block: dict[str, Any], tools: Container[str]) -> dict[str, Any]:
    """The block without references to tools that a resumed session does not have (rule 12)."""
    if block.get("type") != "tool_result" or all(name in tools for name in found_tools(block)):
        return block
    kept = [p for p in block["content"] if p.get("type") != "tool_reference" or text(p.get("tool_name")) in tools]
    return {**block, "content": kept or [{"type": "text", "text": NO_TOOLS}]}


def last_model(contents: Sequence[Content]) -> str:
    """The model of the last assistant message, with which a resumed session continues (rule 7)."""
    for content in reversed(contents):
        for row in reversed(content.rows):
            model = _message(row).get("model") if row.get("type", content.role) == "assistant" else None
            if isinstance(model, str) and model not in ("", "<synthetic>"):
                return model
    return ""


def asked_model(pieces: list[SentPiece]) -> str:
    """The model of the request: that of the last answer that is sent, or `DEFAULT` if it is retired (rule 7)."""
    last = next((piece.model for piece in reversed(pieces) if piece.model not in ("", "<synthetic>")), "")
    return last if not last or _CURRENT.search(last) else DEFAULT


def is_error(row: dict[str, Any]) -> bool:
    """Whether a row reports a failed request, written by no model."""
    return row.get("isApiErrorMessage") is True and _message(row).get("model") == "<synthetic>"


def is_blank(block: dict[str, Any]) -> bool:
    """Whether it is a text block that the provider refuses: empty, or only white space."""
    return block.get("type") == "text" and not text(block.get("text")).strip()


def _made(content: Content, repairs: Repairs) -> SentPiece | None:
    """The piece of a message that an op made or changed. A changed one is sent only if its row would be."""
    row = content.rows[0] if content.rows else {}
    if not _is_sent(row, repairs):
        return None
    blocks = [block for part in content.parts for block in _own(part, repairs)]
    message = _message(row)
    if content.role == "assistant":
        return SentPiece("assistant", blocks, "own", text(message.get("id")), text(message.get("model")))
    if _origin(row) == "task-notification":
        return SentPiece("user", [_wrapped(block) for block in blocks], "own", loose=True)
    return SentPiece("user", blocks, "own", meta=row.get("isMeta") is True)


def _is_sent(row: dict[str, Any], repairs: Repairs) -> bool:
    """Whether a row is sent to the model at all."""
    if is_error(row):
        repairs.leave_out("API error message")
        return False
    if row.get("isVirtual") is True:
        repairs.leave_out("row that is on the screen only")
        return False
    return True


def _row(row: dict[str, Any], model: str, repairs: Repairs) -> SentPiece | None:
    """The piece of one row; None if Claude Code does not send it."""
    kind = row.get("type")
    if not _is_sent(row, repairs):
        return None
    if kind == "attachment":
        return _attachment(row, model, repairs)
    if kind == "system":
        return SentPiece("user", blocks_of(row), "local")
    blocks = [block for raw in blocks_of(row) if (block := _clean(raw, kind == "assistant", repairs))]
    if kind != "assistant":
        if _origin(row) == "task-notification":
            return SentPiece("user", [_wrapped(block) for block in blocks], loose=True)
        return SentPiece("user", blocks, meta=row.get("isMeta") is True)
    message = _message(row)
    return SentPiece("assistant", blocks, "row", text(message.get("id")), text(message.get("model")))


def _attachment(row: dict[str, Any], model: str, repairs: Repairs) -> SentPiece | None:
    attachment = row.get("attachment")
    kind = attachment.get("type") if isinstance(attachment, dict) else None
    if not row.get("rendered"):
        if kind == "task_reminder" and not _OLD_MODELS.search(model):
            repairs.leave_out("task reminder")
            return None
        repairs.leave_out("Claude Code's wording of an attachment")
    blocks = [b for b in blocks_of(row) if not is_blank(b)]
    return SentPiece("user", blocks, "reminder", loose=not attachments.is_verbatim(row))


def _clean(block: dict[str, Any], assistant: bool, repairs: Repairs) -> dict[str, Any] | None:
    """The block as it is sent: with current tool names; None for types and places that the provider does not know."""
    kind = text(block.get("type"))
    if kind == "tool_use" and assistant and isinstance(block.get("id"), str):
        return _call(block, repairs)
    if kind == "tool_result" and not assistant and isinstance(block.get("tool_use_id"), str):
        return _answer(block, repairs)
    if kind in THINKING and assistant:
        return block
    if kind == "text" and not isinstance(block.get("text"), str):
        return None
    if kind in _KNOWN or (kind.endswith("_tool_result") and assistant):
        return block
    repairs.leave_out(f"{kind or 'untyped'} block")
    return None


def _call(block: dict[str, Any], repairs: Repairs) -> dict[str, Any]:
    """A tool call with current names (rule 12) and an object as input, which the provider requires."""
    given = block.get("input")
    sent = given
    if isinstance(given, str):
        try:
            sent = json.loads(given)
        except (ValueError, RecursionError):
            sent = {"arguments": given}
    if not isinstance(sent, dict):
        sent = {} if sent is None else {"arguments": sent}
    name = block.get("name")
    if name == "SendMessage" and "to" in sent and "message" in sent and (old := OLD_FIELDS & sent.keys()):
        repairs.leave_out("older field of SendMessage beside the newer ones", len(old))
        sent = {key: item for key, item in sent.items() if key not in old}
    if name == "Task":
        repairs.put_in("today's name of a tool (Agent for Task)")
        name = "Agent"
    return block if sent == given and name == block.get("name") else {**block, "name": name, "input": sent}


def _answer(block: dict[str, Any], repairs: Repairs) -> dict[str, Any]:
    """A tool result as it is sent: without blank texts; only text if the call failed."""
    content = block.get("content")
    if isinstance(content, list):
        kept = [part for part in content if isinstance(part, dict) and not is_blank(part)]
        if block.get("is_error") is True:
            words = [part for part in kept if part.get("type") == "text"]
            if len(words) < len(kept):
                repairs.leave_out("picture or document in a failed result", len(kept) - len(words))
                kept = words
        return block if kept == content else {**block, "content": kept or ""}
    return block if isinstance(content, str) or "content" not in block else {**block, "content": ""}


def _own(part: Part, repairs: Repairs) -> list[dict[str, Any]]:
    """The blocks of a part without a row. Anthropic's own blocks stay."""
    match part:
        case Text():
            return [{"type": "text", "text": part.text}]
        case Call():
            return [_call({"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}, repairs)]
        case Result():
            content: Any = part.content
            if not isinstance(content, str):
                content = [block for inner in content for block in _own(inner, repairs)]
            block = {"type": "tool_result", "tool_use_id": part.id, "content": content}
            return [_answer({**block, "is_error": True} if part.is_error else block, repairs)]
        case Image():
            kind = type_of_base64(part.data) or part.media_type
            source = {"type": "base64", "media_type": kind, "data": part.data}
            return [{"type": "image", "source": source if part.data else {"type": "url", "url": part.url}}]
    kind = text(part.raw.get("type"))
    if kind in _KNOWN:
        return [part.raw]
    repairs.leave_out("thinking of another model" if kind in THINKING else f"{kind or 'untyped'} block")
    return []


def _wrapped(block: dict[str, Any]) -> dict[str, Any]:
    """The text of a task notification, marked as nobody's input (rule 12)."""
    if block.get("type") != "text":
        return block
    return {**block, "text": attachments.reminder(_NOTIFICATION + text(block.get("text")))}


def _message(row: dict[str, Any]) -> dict[str, Any]:
    message = row.get("message")
    return message if isinstance(message, dict) else {}


def _origin(row: dict[str, Any]) -> str:
    origin = row.get("origin")
    return text(origin.get("kind")) if isinstance(origin, dict) else ""
