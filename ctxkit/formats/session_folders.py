"""Where each program keeps its sessions, and how to find a session's folder, branch and id.

Used by `search/project_sessions.py`, which looks only where a project's sessions can be: by the names of folders, then
by the first bytes of files. What a program does not write down is not guessed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ctxkit.core.log_name import plain_name
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8

START = 1 << 16
"""Bytes of a file in which its folder is searched."""
CUT = 200
"""A row with more bytes than this may be cut off at the end of the start."""
_ROWS = 60
"""Rows in which it is searched."""


class SessionHead(NamedTuple):
    """The folder in which a session began, its git branch and its id, from its first bytes; "" if unknown.

    `sub`: it is the session of a subagent.
    """

    folder: str = ""
    branch: str = ""
    id: str = ""
    sub: bool = False


class SessionLayout(NamedTuple):
    """How a program lays out its sessions.

    `pattern`: the path of a session below the home of sessions, where `*` is the name of a folder or file. `slug`: maps
    a working folder to the first folder of that path; None if they are unrelated. `cut`: characters of a slug before a
    digest. `id`: finds the id in a path. `keys`: the paths of folder, branch and id in a row. `skip`: names of files
    that are no sessions. `flat`: the variable that names one folder for all sessions. `pattern` and `id` are of names
    without `.zst`.
    """

    pattern: str
    id: re.Pattern[str]
    slug: Callable[[str], str] | None = None
    cut: int = 1 << 30
    keys: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())
    skip: re.Pattern[str] | None = None
    flat: str = ""


LONGEST_SLUG = 200
"""Longest folder name in Claude Code; a longer one is cut here and gets a hash."""


def slug(folder: str) -> str:
    """The name of the folder in which Claude Code keeps the sessions of a working folder."""
    found = re.sub(r"[^A-Za-z0-9]", "-", folder)
    return found if len(found) <= LONGEST_SLUG else f"{found[:LONGEST_SLUG]}-{_hash(folder)}"


def _hash(text: str) -> str:
    """Claude Code's hash of a text: 31 h + c over UTF-16, of 32 bits, in base 36."""
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
    """The name of the folder in which pi keeps the sessions of a working folder."""
    dashes = re.sub(r"[/\\:]", "-", folder.removeprefix("/"))
    return f"--{dashes}--"


def _cursor(folder: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", folder).strip("-").lower()


def project_hash(folder: str) -> str:
    """The hash by which Gemini CLI records the folder that it runs in."""
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
        "*/chats/session-*", re.compile(r"([0-9a-f]{8})\.jsonl?$"), project_hash, keys=((), (), ("sessionId",))
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

REGISTRY, MARKER, TRUSTED = "projects.json", ".project_root", ".workspace-trusted"
"""Files that name working folders: Gemini CLI's list, one in each folder of its sessions, and Cursor's."""
LARGEST = 1 << 20
"""Largest size of such a file, in bytes."""


def gemini_names(root: str | Path) -> dict[str, str]:
    """Working folder -> the name of the folder of its sessions, from Gemini CLI's list beside `root`."""
    listed = _small_json(Path(root).parent / REGISTRY)
    names = listed.get("projects") if isinstance(listed, dict) else None
    return {folder: name for folder, name in names.items() if isinstance(name, str)} if isinstance(names, dict) else {}


def gemini_owner(folder: Path) -> str:
    """The working folder that the MARKER in a folder of Gemini CLI's sessions names; "" without one."""
    owner = _small_text(folder / MARKER).strip()
    return owner if os.path.isabs(owner) else ""


def cursor_workspace(folder: Path) -> str:
    """The working folder that Cursor's file beside its transcripts names; "" without one."""
    trusted = _small_json(folder / TRUSTED)
    workspace = trusted.get("workspacePath") if isinstance(trusted, dict) else None
    return workspace if isinstance(workspace, str) else ""


def _small_json(path: Path) -> object:
    try:
        return loads(utf8(_small_text(path)))
    except ValueError:
        return None


def _small_text(path: Path) -> str:
    """The text of a file; "" if it cannot be read or is larger than LARGEST bytes."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""
    except OSError:
        return ""


def session_id(format: str, path: str) -> str:
    """The id in a session's path (of Gemini CLI its beginning), else the name of the file."""
    layout = LAYOUTS.get(format)
    plain = plain_name(path)
    found = layout.id.search(plain) if layout is not None else None
    return found[1] if found is not None else plain.rpartition("/")[2].partition(".")[0]


def head(format: str, start: bytes) -> SessionHead:
    """The head of a session from its first bytes: the first row that names a folder counts."""
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
    inner: dict[str, Any] = payload if isinstance(payload, dict) else row
    source = inner.get("source")
    sub = (isinstance(source, dict) and "subagent" in source) or inner.get("thread_source") == "subagent"
    beside = row.get("isSidechain") is True and isinstance(row.get("agentId"), str)  # without an id: in the session
    sub = sub or beside or row.get("kind") == "subagent"
    return SessionHead(_plain(folder), branch, name, sub)


def _at(row: Any, keys: tuple[str, ...]) -> str:
    if not keys:
        return ""
    for key in keys:
        row = row[0] if isinstance(row, list) and row else row
        row = row.get(key) if isinstance(row, dict) else None
    return row if isinstance(row, str) else ""


def _of_document(layout: SessionLayout, start: bytes) -> SessionHead:
    """The head from incomplete JSON: the first value of each key. Quotes inside strings are escaped."""
    folder, branch, name = (_quoted(start, keys[-1]) if keys else "" for keys in layout.keys)
    return SessionHead(_plain(folder), branch, name, _SUB.search(start) is not None)


def _quoted(text: bytes, key: str) -> str:
    found = re.search(rb'"' + utf8(key) + rb'"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    try:
        return "" if found is None else str(loads(found[1]))
    except ValueError:
        return ""


def _plain(folder: str) -> str:
    """A folder as a path, also if it is a URI."""
    return unquote(folder.removeprefix("file://")) if folder.startswith("file:///") else folder
