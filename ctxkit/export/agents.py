"""The agents that can continue a session: where each looks for its file, and the command that starts it.

Pipeline: `export/session.py` writes the file -> `export/resume.py` puts it where the agent looks. Each rule was tried
on the agent itself (`tests/resume`).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.log_name import COMPRESSED
from ctxkit.formats.registry import HOMES
from ctxkit.formats.session_folders import LAYOUTS, MARKER, gemini_names, gemini_owner, pi_slug, slug


class Agent(NamedTuple):
    """An agent. `format`: of its sessions; `title`: its name; `program`: its command, `words`: the arguments that
    continue the session `{id}`.

    `folder(root, cwd, name)`: the folder of the session file `name` of a working folder; `files`: a pattern, below the
    root, of the files of session `{id}`. `flat`: the environment variable that names one folder for all sessions.
    `marker`: the file that names the working folder, one level above its sessions; "" for none.
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
        """The path at which it looks for the session file `name` of the working folder `cwd`."""
        root = self.root(env)
        return (root if env.get(self.flat) else self.folder(root, cwd, name)) / name

    def command(self, identity: str) -> list[str]:
        """The command that continues a session, as its words."""
        return [self.program, *(word.format(id=identity) for word in self.words)]

    def line(self, identity: str, cwd: str, here: str) -> str:
        """The command as a line to type in the folder `here`; `cwd`: the folder that the agent has to run in."""
        line = shlex.join(self.command(identity))
        return line if cwd == here else f"cd {shlex.quote(cwd)} && {line}"

    def taken(self, root: Path, identity: str) -> Iterator[Path]:
        """The files of a session with that id, also of one that was compressed, or that its user archived."""
        retired = HOMES[self.format].retired
        for folder in (root, root.with_name(retired)) if retired else (root,):
            for ending in ("", COMPRESSED):
                yield from folder.glob(self.files.format(id=identity) + ending)


def _by_slug(root: Path, cwd: str, name: str) -> Path:
    return root / slug(cwd)


def _by_day(root: Path, cwd: str, name: str) -> Path:
    """The folder of the date in the file's name."""
    return root.joinpath(*name.removeprefix("rollout-")[:10].split("-"))


def _pi(root: Path, cwd: str, name: str) -> Path:
    return root / pi_slug(cwd)


def _gemini(root: Path, cwd: str, name: str) -> Path:
    """The folder by the name that Gemini CLI gives a working folder: the recorded one, else the next free one."""
    names = gemini_names(root)
    owned = {path.parent.name: owner for path in root.glob(f"*/{MARKER}") if (owner := gemini_owner(path.parent))}
    own = names.get(cwd)
    if own and "/" not in own and owned.get(own, cwd) == cwd:
        return root / own / "chats"
    for known, owner in owned.items():
        if owner == cwd:
            return root / known / "chats"
    plain = re.sub(r"-+", "-", re.sub(r"[^a-z0-9]", "-", os.path.basename(cwd).lower())).strip("-") or "project"
    taken = {*names.values(), *owned}
    free = (plain if not number else f"{plain}-{number}" for number in count())
    return root / next(one for one in free if one not in taken) / "chats"


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
