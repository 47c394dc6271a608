"""Where each program keeps its sessions, and what of a session names its folder, its branch and its id.

Used by `search/project_sessions.py`, which looks only where a project's sessions can be: by the names of folders, then
by the first bytes of files. What a program does not write down is not guessed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from ctxkit.core.text.json_text import loads

START = 1 << 16
"""Bytes of a file in which its folder is looked for."""
CUT = 200
"""Bytes of a row from which on it may be one that goes on behind the start."""
_ROWS = 60
"""Rows of them."""


class SessionHead(NamedTuple):
    """What the start of a session says: the folder that it was begun in, its git branch, its id; "" where it does not.

    `sub`: it is of an agent of an agent.
    """

    folder: str = ""
    branch: str = ""
    id: str = ""
    sub: bool = False


class SessionLayout(NamedTuple):
    """How a program lays out its sessions.

    `pattern`: the path of a session below the home of sessions, where `*` is a name of a folder or file. `slug`: what
    the first folder of it is called for a folder that the program runs in; None where it says nothing of that. `cut`:
    characters of a slug behind which a digest stands. `id`: finds the id in a path. `keys`: where in a row the
    folder, the branch and the id stand. `skip`: names of files that are none of a session's. `flat`: the variable that
    names one folder for all sessions.
    """

    pattern: str
    id: re.Pattern[str]
    slug: Callable[[str], str] | None = None
    cut: int = 1 << 30
    keys: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())
    skip: re.Pattern[str] | None = None
    flat: str = ""


LONGEST_SLUG = 200
"""Characters of a folder's name in Claude Code; of a longer one these and a hash."""


def slug(folder: str) -> str:
    """The name that Claude Code gives the folder of the sessions of a working folder."""
    found = re.sub(r"[^A-Za-z0-9]", "-", folder)
    return found if len(found) <= LONGEST_SLUG else f"{found[:LONGEST_SLUG]}-{_hash(folder)}"


def _hash(text: str) -> str:
    """Claude Code's hash of a text: 31 h + c over UTF-16, of 32 bits, to the base 36."""
    raw = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for at in range(0, len(raw), 2):
        value = (31 * value + int.from_bytes(raw[at : at + 2], "little")) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >> 31 else value)
    digits = ""
    while value or not digits:
        value, rest = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits


def pi_slug(folder: str) -> str:
    """The same of pi."""
    dashes = re.sub(r"[/\\:]", "-", folder.removeprefix("/"))
    return f"--{dashes}--"


def _cursor(folder: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", folder).strip("-").lower()


def _sha256(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()


_STEM = re.compile(r"([^/]+?)\.jsonl?$")
_UUID_AT_END = re.compile(r"([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$")
_ENVELOPE = (("cwd",), ("gitBranch",), ("sessionId",))

LAYOUTS: dict[str, SessionLayout] = {
    "claude-code": SessionLayout("*/*.jsonl", _STEM, slug, LONGEST_SLUG, _ENVELOPE, re.compile("agent-")),
    "codex": SessionLayout(
        "*/*/*/rollout-*.jsonl",
        _UUID_AT_END,
        keys=(("payload", "cwd"), ("payload", "git", "branch"), ("payload", "id")),
    ),
    "pi": SessionLayout(
        "*/*.jsonl",
        re.compile(r"([^/_]+)\.jsonl$"),
        pi_slug,
        keys=(("cwd",), (), ("id",)),
        flat="PI_CODING_AGENT_SESSION_DIR",
    ),
    "gemini-cli": SessionLayout(
        "*/chats/session-*", re.compile(r"([0-9a-f]{8})\.jsonl?$"), _sha256, keys=((), (), ("sessionId",))
    ),
    "copilot-cli": SessionLayout(
        "*/events.jsonl",
        re.compile(r"([^/]+)/events\.jsonl$"),
        keys=(("data", "context", "cwd"), ("data", "context", "branch"), ("data", "sessionId")),
    ),
    "qwen-code": SessionLayout("*/chats/*.jsonl", _STEM, slug, LONGEST_SLUG, _ENVELOPE),
    "cursor": SessionLayout("*/agent-transcripts/*/*.jsonl", _STEM, _cursor),
    "goose": SessionLayout("*.jsonl", _STEM, keys=(("working_dir",), (), ())),
    "amp": SessionLayout("*.json", _STEM, keys=(("env", "initial", "trees", "uri"), (), ("id",))),
    "continue": SessionLayout(
        "*.json", _STEM, keys=(("workspaceDirectory",), (), ("sessionId",)), skip=re.compile(r"sessions\.json$")
    ),
}
"""Format -> layout, for each of `registry.HOMES`."""

REGISTRY, MARKER = "projects.json", ".project_root"
"""Of Gemini CLI: its list of folders with the names that it gave them, and the file in such a folder that names it."""
TRUSTED = ".workspace-trusted"
"""Of Cursor: the file beside its transcripts that names the folder."""


def session_id(format: str, path: str) -> str:
    """The id that a session's path has; of Gemini CLI its beginning. Without one, the name of the file."""
    layout = LAYOUTS.get(format)
    found = layout.id.search(path) if layout is not None else None
    return found[1] if found is not None else path.rpartition("/")[2].partition(".")[0]


def head(format: str, start: bytes) -> SessionHead:
    """What the first bytes of a session say; of several rows that name a folder, the first."""
    layout = LAYOUTS.get(format)
    if layout is None or not any(layout.keys):
        return SessionHead()
    if start.lstrip()[:1] == b"{" and b"\n" in start and start.lstrip()[1:2] in b"\r\n ":  # one object, on many lines
        return _of_document(layout, start)
    for line in start.split(b"\n", _ROWS)[:_ROWS]:
        try:
            row = loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            found = _of_row(layout, row)
            if found.folder or (found.id and not layout.keys[0]):
                return found
        elif len(line) > CUT and (cut := _of_document(layout, line)).folder:
            return cut
    return SessionHead()


_SUB = re.compile(rb'"source"\s*:\s*\{\s*"subagent"|"thread_source"\s*:\s*"subagent"')


def _of_row(layout: SessionLayout, row: dict[str, Any]) -> SessionHead:
    folder, branch, name = (_at(row, keys) for keys in layout.keys)
    payload = row.get("payload")
    told: dict[str, Any] = payload if isinstance(payload, dict) else row
    source = told.get("source")
    sub = (isinstance(source, dict) and "subagent" in source) or told.get("thread_source") == "subagent"
    sub = sub or row.get("isSidechain") is True or row.get("kind") == "subagent"
    return SessionHead(_plain(folder), branch, name, sub)


def _at(row: Any, keys: tuple[str, ...]) -> str:
    if not keys:
        return ""
    for key in keys:
        row = row[0] if isinstance(row, list) and row else row
        row = row.get(key) if isinstance(row, dict) else None
    return row if isinstance(row, str) else ""


def _of_document(layout: SessionLayout, start: bytes) -> SessionHead:
    """The same of text that is not whole: the first of each key. Quotes that stand in a string have backslashes."""
    folder, branch, name = (_quoted(start, keys[-1]) if keys else "" for keys in layout.keys)
    return SessionHead(_plain(folder), branch, name, _SUB.search(start) is not None)


def _quoted(text: bytes, key: str) -> str:
    found = re.search(rb'"' + key.encode() + rb'"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    try:
        return "" if found is None else str(loads(found[1]))
    except ValueError:
        return ""


def _plain(folder: str) -> str:
    """A folder that is given as a URI, as a path."""
    return unquote(folder.removeprefix("file://")) if folder.startswith("file:///") else folder
