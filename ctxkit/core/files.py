"""Files that tool calls touch: which path, and whether it is read or written. By tables, not by running anything.

Trim keeps what is being edited and lets superseded reads go; `status --files` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ctxkit.core.messages import Call

Action = Literal["read", "write"]

PATHS = ("file_path", "path", "filePath", "file", "filename", "notebook_path", "target_file", "absolute_path", "uri")
"""Arguments that name a file, the surest first."""
WRITING = re.compile(r"write|edit|create|replace|patch|insert|append|save|delete|move|rename", re.I)
READING = re.compile(r"read|view|open|cat\b|get_?file|file_?contents", re.I)
"""Words in the names of tools."""
COMMANDS = {"view": "read", "create": "write", "str_replace": "write", "insert": "write", "undo_edit": "write"}
"""Values of `command`, where one tool does several things."""
PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$", re.M)
"""Lines of a patch (Codex's apply_patch) that name a file."""


class Touch(NamedTuple):
    """What a call does to a file."""

    path: str
    action: Action


def touches(call: Call) -> Iterator[Touch]:
    """The files that a call names; none for tools that are in no table."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    patched = False
    for text in arguments.values():
        if isinstance(text, str) and "*** " in text:
            for path in PATCHED.findall(text):
                patched = True
                yield Touch(path, "write")
    action = None if patched else _action(call.name, arguments)
    path = next((arguments[key] for key in PATHS if isinstance(arguments.get(key), str) and arguments[key]), None)
    if action is not None and path is not None:
        yield Touch(path, action)


def _action(tool: str, arguments: dict[str, Any]) -> Action | None:
    command = arguments.get("command")
    if isinstance(command, str) and command in COMMANDS:
        return "write" if COMMANDS[command] == "write" else "read"
    if WRITING.search(tool):
        return "write"
    return "read" if READING.search(tool) else None
