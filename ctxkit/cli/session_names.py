"""Sessions in place of paths: `@…` wherever a log is named, and the picker where none is, on a terminal.

What a name means is `search/naming.py`; which session it was is said by `opened`. A script that writes never guesses.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import typer

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.session_list import fitted, home_short
from ctxkit.errors import ExitCode, TwoSessions
from ctxkit.search.naming import NamedSession, candidates, find_session, is_name
from ctxkit.search.project_sessions import SessionFile, project, project_sessions
from ctxkit.search.sessions import find_files

if TYPE_CHECKING:
    from ctxkit.logfile.read import Opening

TITLE = 60
"""Cells of a title in a report."""
NONE = "-"
"""No log: that the terminal is none is said where it is opened."""
OFFERED = 200
"""Sessions that the picker has, the newest; `ctxkit sessions --pick` has all."""


def path_of(word: str, *, writes: bool = False) -> str:
    """The path that a word in a log's place means: `@…` that of a session, any other word itself.

    Raises NoSuchSession, AmbiguousSession; TwoSessions where a script `writes`, and it may be one as well as the other.
    """
    if not is_name(word):
        return word
    with streams.progress("looking for the session", "files") as step:
        found = find_session(word, os.environ, progress=step)
    if writes and found.rival is not None and not streams.on_terminal():
        raise _doubtful(found, found.rival)
    streams.Streams.sessions[found.file.path] = word
    return found.file.path


def _doubtful(found: NamedSession, rival: SessionFile) -> TwoSessions:
    """The error where another session was written at the same time."""
    lines = candidates([found.file, rival], os.environ)
    top = found.of.folder.replace("\n", "␊")
    text = f"{found.name}: two sessions of {top} were written within a minute of each other: nothing was changed"
    return TwoSessions("\n".join([text, *lines]), f"name one by its id: {lines[0].split()[0]}")


def told(path: str, opening: Opening) -> None:
    """Say which session a name meant."""
    from ctxkit.search.preview import title_of

    name = streams.Streams.sessions.pop(path)
    title = title_of(opening)
    words = f"{fitted(title, TITLE)} " if title else ""
    streams.say(f"{name or 'picked'}: {words}({opening.format.name}, {home_short(path)})")


def picked() -> str:
    """The path of the session of this project that is chosen on the terminal; `NONE` where there is none to choose.

    Raises NoSuchLog, and typer.Exit where none is chosen.
    """
    from ctxkit.cli.terminal.picker import pick

    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        return NONE
    here = project(env=os.environ)
    with streams.progress("looking for sessions", "files") as step:
        with closing(project_sessions(os.environ, here)) as files:
            some = list(islice(files, OFFERED))
        found = find_files(some, env=os.environ, progress=step)
    if not found.sessions:
        return NONE
    one = pick(found.sessions, streams.drawn)
    if one is None:
        raise typer.Exit(ExitCode.NO)
    streams.Streams.sessions[str(one.path)] = ""
    return str(one.path)
