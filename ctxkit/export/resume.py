"""Puts an edited session where its agent looks for it, and gives the command that continues it.

Pipeline: a log -> `destination` (which agent, in which folder, under which id) -> `export/session.py` writes the
session -> `Destination.resumption` renames its folders -> `Resumption.write` makes the new file. The source is never
written.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.errors import CannotCreate, NoPermission, Usage, reason_of
from ctxkit.export.agents import AGENTS, Agent
from ctxkit.export.folders import Moves, folder_of, moved
from ctxkit.export.request import untouched
from ctxkit.logfile.unpaired import sent_alone
from ctxkit.store.atomic import create
from ctxkit.store.private import make_private

if TYPE_CHECKING:
    from ctxkit.formats.base import Written
    from ctxkit.logfile.open import OpenLog


class Resumption(msgspec.Struct):
    """A session for an agent to continue. `path`: its file; `cwd`: the folder to start the agent in; `command`: the
    words of the command that starts it; `line`: the same as a line to type in the current folder. `written`: the
    content of the file; None if the file exists already.
    """

    agent: str
    id: str
    path: Path
    cwd: str
    command: list[str]
    line: str
    written: Written | None

    def write(self) -> None:
        """Make the file, and the folders above it. Raises CannotCreate, NoPermission, WriteFailed."""
        if self.written is None:
            return
        try:
            make_private(self.path.parent)
        except PermissionError as error:
            raise NoPermission(f"{self.path.parent}: permission denied: nothing was written") from error
        except OSError as error:
            raise CannotCreate(f"{self.path.parent}: cannot create: {reason_of(error)}: nothing was written") from error
        marker = AGENTS[self.agent].marker
        if marker and not (self.path.parents[1] / marker).exists():
            create(self.path.parents[1] / marker, [os.fsencode(self.cwd)])
        create(self.path, self.written.pieces)


class Destination(msgspec.Struct):
    """Where a session goes. `own`: it is a session of this agent already; `ready`: its file is already in place, with
    the same context.

    `here`: the folder that it was made in, "" if the log names none; `cwd`: the folder to continue in.
    """

    agent: Agent
    own: bool
    ready: bool
    here: str
    cwd: str
    id: str
    moves: Moves
    source: Path | None
    env: Mapping[str, str]

    @property
    def stays(self) -> bool:
        """Whether the agent will send the same system prompt as before: the same program in the same folder."""
        return self.own and self.cwd == os.path.realpath(self.here or self.cwd)

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of `Log.session`."""
        if self.ready:
            return {"keep_id": True}
        return {"id": self.id, "cwd": self.here if self.own and self.here else self.cwd}

    def resumption(self, written: Written) -> Resumption:
        """The session for the agent. Raises CannotCreate if the agent has one with this id."""
        agent = self.agent
        if self.ready and self.source is not None:
            identity = self.source.stem if agent.format == "claude-code" else written.id
            return self._made(identity, self.source, None)
        for path in agent.taken(agent.root(self.env), written.id):
            raise CannotCreate(f"{path}: has this id already: nothing was written", "another --id, or none")
        if self.own and self.moves:
            written.pieces = moved(written.pieces, agent.format, self.moves)
        return self._made(written.id, agent.place(self.env, self.cwd, written.name), written)

    def _made(self, identity: str, path: Path, written: Written | None) -> Resumption:
        agent, here = self.agent, os.path.realpath(os.getcwd())
        line = agent.line(identity, self.cwd, here)
        return Resumption(agent.format, identity, path, self.cwd, agent.command(identity), line, written)


def destination(
    log: OpenLog, to: str = "", *, cwd: str = "", moves: Sequence[tuple[str, str]] = (), id: str = "",
    copy: bool = False, env: Mapping[str, str],
) -> Destination:  # fmt: skip
    """Where the session of `log` goes; arguments as in `Log.resume`. Raises Usage."""
    name = log.opening.format.name
    agent = _agent(log, to or name, asked=bool(to))
    own = name == agent.format
    here = folder_of(log)
    given = os.path.realpath(cwd) if cwd else ""
    known = Moves([*([(here, given)] if given and here else []), *moves])
    named = given or known.of(here) or os.getcwd()
    if not os.path.isdir(named):
        what = "its session ran" if named == here else "it is to continue"
        text = f"{log.opening.name}: {named}, in which {what}, does not exist on this machine: nothing was written"
        raise Usage(text, "--cwd DIR names the folder to continue in; --map OLD=NEW, folders that have moved")
    folder = os.path.realpath(named)
    identity = _identity(id) if id else str(uuid.UUID(bytes=os.urandom(16), version=4))
    source = None if log.opening.path is None else log.opening.path.resolve()
    stays = own and not (copy or id or moves) and folder == os.path.realpath(here or folder) and untouched(log)
    ready = stays and source is not None and agent.place(env, folder, source.name).resolve() == source
    ready = ready and source is not None and log.opening.format.is_newest(source)
    ready = ready and not sent_alone(log)
    return Destination(agent, own, ready, here, folder, identity, known, source, env)


def _agent(log: OpenLog, name: str, *, asked: bool) -> Agent:
    """The agent of that format. Raises Usage for a format without an agent."""
    if name in AGENTS:
        return AGENTS[name]
    there = ", ".join(AGENTS)
    if asked:
        raise Usage(f"no session of {name} can be written: nothing was written", f"--to takes {there}")
    text = f"{log.opening.name} is not a session that an agent can resume (it is {name}): nothing was written"
    raise Usage(text, f"--to names the agent: {there}")


def _identity(text: str) -> str:
    """An id in its standard form. Raises Usage if it is not a UUID: agents accept no other."""
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise Usage(
            f"--id {text}: not a UUID: nothing was written", "as uuidgen prints one, or without --id"
        ) from error
