"""The agents that go on with a session: where each looks for its file, and the line that starts it.

Pipeline: `export/session.py` writes the file -> `export/resume.py` puts it where the agent that is named here looks.
Each rule was tried on the agent itself (`tests/resume`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ctxkit.formats.registry import HOMES
from ctxkit.formats.session_folders import LAYOUTS, MARKER, REGISTRY, pi_slug, slug


class Agent(NamedTuple):
    """`format`: the name of its sessions' format; `title`: its own name; `program`: what starts it, `words`: how it
    goes on with the session `{id}`.

    `folder`: where it keeps sessions of a working folder, of the root, that folder and the name of the file; `files`:
    where below the root a session `{id}` may stand. `flat`: the variable that names one folder for all sessions.
    `marker`: the file above those of a working folder that says which one it is, "" for none.
    """

    format: str
    title: str
    program: str
    words: tuple[str, ...]
    folder: Callable[[Path, str, str], Path]
    files: str
    flat: str = ""
    marker: str = ""

    def root(self, env: Mapping[str, str]) -> Path:
        """The folder of all its sessions."""
        return Path(env.get(self.flat) or HOMES[self.format].path(env))

    def place(self, env: Mapping[str, str], cwd: str, name: str) -> Path:
        """Where it looks for the session file `name` of the working folder `cwd`."""
        root = self.root(env)
        return (root if env.get(self.flat) else self.folder(root, cwd, name)) / name

    def command(self, identity: str) -> list[str]:
        """The words that go on with a session, its program first."""
        return [self.program, *(word.format(id=identity) for word in self.words)]

    def line(self, identity: str, cwd: str, here: str) -> str:
        """The same as one types it in the folder `here`; `cwd`: where the session's program runs."""
        line = shlex.join(self.command(identity))
        return line if cwd == here else f"cd {shlex.quote(cwd)} && {line}"

    def taken(self, root: Path, identity: str) -> Iterator[Path]:
        """The files of a session with that id."""
        return root.glob(self.files.format(id=identity))


def _by_slug(root: Path, cwd: str, name: str) -> Path:
    return root / slug(cwd)


def _by_day(root: Path, cwd: str, name: str) -> Path:
    """By the time in the name of the file."""
    return root.joinpath(*name.removeprefix("rollout-")[:10].split("-"))


def _pi(root: Path, cwd: str, name: str) -> Path:
    return root / pi_slug(cwd)


def _gemini(root: Path, cwd: str, name: str) -> Path:
    """By the name that Gemini CLI gives a working folder: the one that it noted, else the next that is free."""
    try:
        noted = json.loads((root.parent / REGISTRY).read_bytes())["projects"]
    except (OSError, ValueError, KeyError, TypeError):
        noted = {}
    noted = noted if isinstance(noted, dict) else {}
    owned = {path.parent.name: owner for path in root.glob(f"*/{MARKER}") if (owner := owner_of(path.parent))}
    own = noted.get(cwd)
    if isinstance(own, str) and own and "/" not in own and owned.get(own, cwd) == cwd:
        return root / own / "chats"
    for known, owner in owned.items():
        if owner == cwd:
            return root / known / "chats"
    plain = re.sub(r"-+", "-", re.sub(r"[^a-z0-9]", "-", os.path.basename(cwd).lower())).strip("-") or "project"
    taken = {*map(str, noted.values()), *owned}
    free = (plain if not number else f"{plain}-{number}" for number in count())
    return root / next(one for one in free if one not in taken) / "chats"


def owner_of(folder: Path) -> str:
    """The working folder whose sessions Gemini CLI keeps below `folder`; "" where it does not say."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


AGENTS: dict[str, Agent] = {
    agent.format: agent
    for agent in (
        Agent("claude-code", "Claude Code", "claude", ("--resume", "{id}"), _by_slug, "*/{id}.jsonl"),
        Agent("codex", "Codex", "codex", ("resume", "{id}"), _by_day, "**/rollout-*-{id}.jsonl"),
        Agent("pi", "pi", "pi", ("--session", "{id}"), _pi, "**/*_{id}.jsonl", LAYOUTS["pi"].flat),
        Agent(
            "gemini-cli",
            "Gemini CLI",
            "gemini",
            ("--resume", "{id}"),
            _gemini,
            "*/chats/session-*-{id:.8}.json*",
            marker=MARKER,
        ),
    )
}
"""Format -> its agent."""
