"""Files that tool calls touch: which path, and what is done to it. By tables, not by running anything.

Trim keeps what is being edited and lets superseded reads go; `status --files` lists them. What shells do is told by
`shell.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ctxkit.core.derive.shell import Used, used
from ctxkit.core.messages import Call

Action = Literal["read", "write"]
How = Literal["read", "edit", "write", "create", "delete"]
"""`write`: all of the file; `create`: it was not there before; `edit`: a part of it."""

PATHS = (
    "file_path", "path", "filePath", "absolute_path", "file", "filename", "notebook_path", "target_file", "file_name",
    "filepath", "uri",
)  # fmt: skip
"""Arguments that name a file, the surest first."""
LISTS = ("paths", "file_paths", "filePaths", "files", "include", "replacements", "edits")
"""Arguments that name several: texts, or objects with one of PATHS."""
PARTS = (
    "offset", "limit", "pages", "view_range", "line_range", "lines", "line_number", "start_line", "end_line",
    "startLine", "endLine", "start", "end", "head", "tail",
)  # fmt: skip
"""Arguments that choose a part of a file."""
MOVES = (("source", "destination"), ("old_path", "new_path"), ("from", "to"))
"""Arguments of a move or copy."""
KINDS: tuple[tuple[How, re.Pattern[str]], ...] = (
    ("delete", re.compile(r"delete|remove(?!_from)", re.I)),
    ("edit", re.compile(r"edit|replace|patch|insert|append|diff|update", re.I)),
    ("create", re.compile(r"create|new_?file", re.I)),
    ("write", re.compile(r"write|save", re.I)),
    ("read", re.compile(r"read|view|open|cat\b|get_?file|file_?contents", re.I)),
)
"""Words in the names of tools; the first that fits counts."""
MOVING = re.compile(r"move|rename", re.I)
COMMANDS: dict[str, How] = {
    "view": "read", "create": "create", "str_replace": "edit", "insert": "edit", "undo_edit": "edit", "edit": "edit",
    "delete": "delete",
}  # fmt: skip
"""Values of `command`, where one tool does several things."""
SHELL = re.compile(r"^(?!.*power).*(bash|shell|exec|terminal|run_?command)|^z?sh$", re.I)
"""Tools that run commands of a shell like sh."""
SCRIPTS = ("command", "cmd", "script")
"""Their arguments."""
PATCHES = ("input", "patch", "patchText", "patch_text", "diff", *SCRIPTS)
"""Arguments that hold a patch."""
PATCHED = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
"""Lines of a patch (Codex's apply_patch) that name a file."""
OF_PATCH: dict[str, How] = {"Update": "edit", "Add": "create", "Delete": "delete", "": "write"}
BEGIN = "*** Begin Patch"
UNIFIED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.M)
"""The line of a unified diff that names the new file."""


class FileTouch(NamedTuple):
    """What a call does to a file. `part`: which part of it is read, as it was asked for, "" for all of it; `mixed`:
    the result shows more than what the file holds.
    """

    path: str
    how: How
    part: str = ""
    mixed: bool = False

    @property
    def action(self) -> Action:
        """Whether the file is another one afterwards."""
        return "read" if self.how == "read" else "write"


def touches(call: Call) -> Iterator[FileTouch]:
    """The files that a call names; none for tools that are in no table."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    found = list(_patched(call.name, arguments))
    command = arguments.get("command")
    if not found and isinstance(command, str) and command in COMMANDS:
        found = _named(COMMANDS[command], arguments)
    elif not found and SHELL.search(call.name):
        found = [FileTouch(*one) for one in _run(arguments)]
    elif not found and MOVING.search(call.name):
        found = list(_moved(arguments))
    elif not found:
        how = next((how for how, words in KINDS if words.search(call.name)), None)
        found = _named(how, arguments) if how is not None else []
    yield from dict.fromkeys(found)


def changes(tool: str) -> bool:
    """Whether calls of a tool, by its name, may change files; what shells do is told by their scripts alone."""
    return MOVING.search(tool) is not None or any(how != "read" and words.search(tool) for how, words in KINDS)


def script(arguments: dict[str, Any]) -> str:
    """What a call of a shell is to run; "" where it is given nothing of the kind."""
    return next((text for key in SCRIPTS if (text := _script(arguments.get(key)))), "")


def _patched(tool: str, arguments: dict[str, Any]) -> Iterator[FileTouch]:
    for key in PATCHES:
        text = _script(arguments.get(key))
        if BEGIN in text:
            for kind, path, moved in PATCHED.findall(text):
                yield FileTouch((path or moved).rstrip(), OF_PATCH[kind])
        elif key not in SCRIPTS and re.search("patch|diff", tool, re.I):
            for path in UNIFIED.findall(text):
                yield FileTouch(path.strip(), "edit")


def _named(how: How, arguments: dict[str, Any]) -> list[FileTouch]:
    chosen = {key: arguments[key] for key in PARTS if arguments.get(key) is not None} if how == "read" else {}
    part = json.dumps(chosen, sort_keys=True, default=str) if chosen else ""
    return [FileTouch(path, how, part) for path in _paths(arguments)]


def _paths(arguments: dict[str, Any]) -> list[str]:
    own = next((arguments[key] for key in PATHS if isinstance(arguments.get(key), str) and arguments[key]), None)
    if own is not None:
        return [own]
    listed = [one for key in LISTS if isinstance(arguments.get(key), list) for one in arguments[key]]
    texts = [one for one in listed if isinstance(one, str) and one and not set("*?") & set(one)]
    return texts + [path for one in listed if isinstance(one, dict) for path in _paths(one)]


def _moved(arguments: dict[str, Any]) -> Iterator[FileTouch]:
    for old, new in MOVES:
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            yield FileTouch(arguments[old], "delete")
            yield FileTouch(arguments[new], "write")
            return


def _run(arguments: dict[str, Any]) -> list[Used]:
    return used(script(arguments))


def _script(value: Any) -> str:
    """A script, also where it stands as the words of a call: bash -lc SCRIPT."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(map(_quoted, value))
    return ""


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./:=@%+,-]+", word) else "'" + word.replace("'", "'\\''") + "'"
