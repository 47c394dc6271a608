"""A pi message in full: parts from its entry (and from context edits of it).

Pipeline: the format's `content` -> `cli show`, writers of `formats`. The text around summaries and commands is that
which pi itself sends (agents, pi 4 and 5).
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Call, Content, Image, Message, Other, Part, Result, Text, Thinking

COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>"
)
BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>"


def content_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The message's content. Further rows are context edits; the last one replaces the content."""
    entry, *edits = rows or [{}]
    parts = _parts(entry)
    if edits:
        replaced = _replacement(edits[-1])
        results = [part for part in parts if isinstance(part, Result)]
        parts = [Result(r.id, replaced, r.is_error, r.raw) for r in results] or replaced
    return Content(message.role, parts, rows=rows)


def _replacement(edit: dict[str, Any]) -> list[Part]:
    """The new content of an edit: `{"content": ...}`, as pi writes it, or the bare content."""
    found = edit.get("replacement")
    return _blocks(found.get("content") if isinstance(found, dict) else found)


def recorded_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The words in the rows, without the text around summaries and commands, and with those of every context edit."""
    entry, *edits = rows or [{}]
    message_json = entry.get("message")
    inner = message_json if isinstance(message_json, dict) else entry
    bare = [inner.get(key) for key in ("summary", "command", "output", "fullOutputPath")]
    parts: list[Part] = [Text(words) for words in bare if isinstance(words, str)]
    parts += _blocks(inner.get("content")) if parts else _parts(entry)
    return Content(message.role, [*parts, *(part for edit in edits for part in _replacement(edit))])


def _parts(entry: dict[str, Any]) -> list[Part]:
    message = entry.get("message")
    match entry:
        case {"type": "compaction", "summary": str() as words}:
            return [Text(COMPACTED.format(words))]
        case {"type": "branch_summary", "summary": ""}:
            return []
        case {"type": "branch_summary", "summary": str() as words}:
            return [Text(BRANCH.format(words))]
        case {"type": "custom_message"}:
            return _blocks(entry.get("content"))
    if not isinstance(message, dict):
        return []
    match message:
        case {"role": "toolResult", "toolCallId": str() as key}:
            inner = _blocks(message.get("content"))
            alone = inner[0].text if len(inner) == 1 and isinstance(inner[0], Text) else None
            return [Result(key, inner if alone is None else alone, message.get("isError") is True, message)]
        case {"role": "bashExecution", "command": str() as command}:
            return [Text(_ran(command, message))]
        case {"role": "branchSummary", "summary": str() as words}:
            return [Text(BRANCH.format(words))]
        case {"role": "compactionSummary", "summary": str() as words}:
            return [Text(COMPACTED.format(words))]
        case {"role": "system", "content": "", "sections": dict() as sections}:
            return [Text(words) for words in sections.values() if isinstance(words, str) and words]
    return _blocks(message.get("content"))


def _ran(command: str, message: dict[str, Any]) -> str:
    """The text in which pi reports a command that the user ran."""
    output = message.get("output")
    text = f"Ran `{command}`\n" + (f"```\n{output}\n```" if isinstance(output, str) and output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and isinstance(message.get("fullOutputPath"), str):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def _blocks(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    return [_part(one) for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _part(block: dict[str, Any]) -> Part:
    """A block as a part; an incomplete or unknown block becomes an `Other`."""
    match block:
        case {"type": "text", "text": str() as words}:
            return Text(words)
        case {"type": "thinking", "thinking": str() as words}:
            return Thinking(words, block)
        case {"type": "toolCall", "id": str() as key, "name": str() as name}:
            return Call(key, name, block.get("arguments"), block)
        case {"type": "image", "data": str() as pixels}:
            return Image(str(block.get("mimeType", "")), pixels, raw=block)
    return Other(str(block.get("type", "")), block)
