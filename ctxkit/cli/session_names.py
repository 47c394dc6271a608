"""Sessions instead of paths: `@…` where a log is named, and on a terminal the picker where none is.

`search/naming.py` finds the session, and `opened` reports which one it is. A script that writes never guesses.
"""

from __future__ import annotations

import os
import shlex
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import home_short
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.session_list import fitted, remarks
from ctxkit.cli.terminal.wrap import USUAL
from ctxkit.errors import ExitCode, NoSuchSession, TwoSessions
from ctxkit.formats.codex.threads import older_files
from ctxkit.search.naming import ELSEWHERE, NamedSession, candidates, find_session, is_name
from ctxkit.search.project_sessions import SessionFile, names_in_order, project, project_sessions
from ctxkit.search.resumed import origin, sources
from ctxkit.search.sessions import find_files
from ctxkit.store.sidecar import Sidecar

if TYPE_CHECKING:
    from ctxkit.logfile.read import Opening

TITLE = 60
"""Cells of a title in a report, at most."""
SHORTEST = 20
"""Cells of a title at least; with less room the report takes two lines."""
ID = 13
"""Characters of an id in a report: in ids that begin with their time, all of the time."""
NONE = "-"
"""Standard input; `opened` reports that it is a terminal."""
OFFERED = 200
"""The newest sessions in the picker; `ctxkit sessions --pick` offers all."""


def path_of(word: str, *, writes: bool = False) -> str:
    """The path of the session that `@…` names; any other word itself.

    Raises NoSuchSession, AmbiguousSession; TwoSessions if a script `writes` and either of two sessions may be meant.
    """
    if not is_name(word):
        return word
    with streams.progress("looking for the session", "files") as step:
        found = find_session(word, os.environ, progress=step)
    if found.rival is not None and not streams.on_terminal():
        refused = partial(_two_sessions, found, found.rival)  # it reads both sessions
        if writes:
            raise refused()
        streams.Streams.doubtful[found.file.path] = refused
    streams.Streams.sessions[found.file.path] = (word, f"@{found.file.id[:ID]}")
    return found.file.path


def _two_sessions(found: NamedSession, rival: SessionFile) -> TwoSessions:
    """The error if another session was written at the same time."""
    lines = candidates([found.file, rival], os.environ)
    top = found.of.folder.replace("\n", "␊")
    text = f"{found.name}: two sessions of {top} were written within a minute of each other: nothing was changed"
    return TwoSessions("\n".join([text, *lines]), f"name one by its id: {lines[0].split()[0]}")


def made_from(path: str | os.PathLike[str]) -> str:
    """The name (`@2`) of the session from which `ctxkit resume` made this one, else its path; "" if it did not."""
    one = origin(os.path.abspath(path), os.environ)
    if one is None or not os.path.exists(one.source):
        return ""
    files = islice(project_sessions(os.environ, project(env=os.environ)), OFFERED)
    return names_in_order(files).get(one.source, one.source)


def report_session(path: str, opening: Opening) -> None:
    """Report which session a name meant."""
    from ctxkit.search.preview import title_of

    name, where = streams.Streams.sessions.pop(path)
    made = origin(path, os.environ)
    title = title_of(opening, made.title if made is not None else "")
    start, end = f"{name}: ", f" ({opening.format.name}, {where})"
    room = (streams.Streams.err_columns or USUAL) - cells(start) - cells(end)
    words = fitted(title, min(TITLE, room) if room >= SHORTEST else TITLE)
    streams.say(f"{start}{words}{end}" if title else f"{start}{end[1:]}")
    tell_older(Path(path))


def tell_older(path: Path) -> None:
    """Say that ops were made of an older file of the thread with which Codex goes on in this one."""
    for older in older_files(path):
        if Sidecar(older).may_hold_ops():
            call = shlex.join(["ctxkit", "log", str(older)])
            streams.say(f"Codex goes on with a newer file of this thread, in which older changes do not count: {call}")


def project_names(folder: str | None = None) -> dict[str, str]:
    """Path -> name (`@`, `@2`) of each session of a folder's project (default: the working folder), newest first.

    Raises NoSuchSession if there is none; NoSuchLog.
    """
    here = project(folder, env=os.environ)
    names = names_in_order(project_sessions(os.environ, here))
    if not names:
        raise NoSuchSession(f"no session was begun in {here.folder}", ELSEWHERE)
    return names


def picked() -> str:
    """The path of the session of this project that is picked on the terminal; `NONE` if there is none.

    Raises NoSuchLog, and typer.Exit if none is picked.
    """
    from ctxkit.cli.terminal.picker import pick

    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        return NONE
    here = project(env=os.environ)
    with streams.progress("looking for sessions", "files") as step:
        some = list(islice(project_sessions(os.environ, here), OFFERED))
        found = find_files(some, env=os.environ, progress=step)
    if not found.sessions:
        return NONE
    one = pick(found.sessions, remarks(found.sessions, names_in_order(some), sources(os.environ)))
    if one is None:
        raise typer.Exit(ExitCode.NO)
    streams.Streams.sessions[str(one.path)] = ("picked", home_short(str(one.path)))
    return str(one.path)
