"""ctxkit sessions: which sessions there are, newest first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxkit.cli.log_access import zoned
from ctxkit.cli.options import JsonOption, QuietOption, UtcOption
from ctxkit.cli.terminal import session_list, streams
from ctxkit.cli.terminal.layout import breadth, count, width
from ctxkit.core.text.search_pattern import Needle
from ctxkit.core.times import seconds
from ctxkit.errors import CtxkitError, ExitCode, NothingMatched, Usage
from ctxkit.formats import registry
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.sessions import Found, Session, chosen, find_sessions, homes, ordered

if TYPE_CHECKING:
    from ctxkit.search.match import MentionSearch
    from ctxkit.store.config import Config


class SortOrder(StrEnum):
    """What a list begins with."""

    TIME = "time"
    SIZE = "size"
    TOKENS = "tokens"


def command(
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR]...", help="Folders or logs (default: the folders of the agents)."),
    ] = None,
    *,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not older than a time, or than a duration before now (2d).")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not newer: a time, or a duration before now.")
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Of the agents' sessions those of this folder's project alone.")
    ] = False,
    sort: Annotated[
        SortOrder, typer.Option(help="What comes first: the newest, the largest file, or the fullest context.")
    ] = SortOrder.TIME,
    grep: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Sessions whose title, path or any message matches.")
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="FORMAT", help="Sessions of this format or provider.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most N sessions, the newest.")] = None,
    agents: Annotated[bool, typer.Option("--agents", help="Also the files of subagents.")] = False,
    pick: Annotated[bool, typer.Option("--pick", help="Choose one on the terminal, and print its path.")] = False,
    null: Annotated[bool, typer.Option("-0", "--null", help="Print only paths, each followed by a NUL byte.")] = False,
    utc: UtcOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """List the sessions below folders, of all formats, newest first.

    Each with its title, its last words, the time of its newest message, how many messages, tokens and checkpoints it
    has, whether it is clean, interrupted (the last exchange has no end: an agent was stopped, or is at work) or
    damaged, and in which folder and on which branch it was begun. Without DIR those of the agents on this machine are
    listed; --here lists those of one project: the git repository that this folder is in, else this folder, and what is
    below. Sidecars whose log is gone are named on standard error; nothing is changed, ever. Exit 1 where there is none.
    """
    streams.Streams.quiet = quiet
    if format is not None:
        registry.known(format)
    if null and json:
        raise Usage("-0 prints paths alone, and --json objects", "use only one of them")
    for place in places or ():
        if not place:
            raise Usage("the name of a folder is empty", "is a shell variable empty?")
    if here and places:
        raise Usage(
            "--here lists the agents' sessions of this project, and DIR what is below it", "use only one of them"
        )
    places = [_path(place) for place in places or ()]
    config = _config()
    zoned(config, utc=utc)
    first = None if since is None else _moment(since, config)
    last = None if until is None else _moment(until, config, end=True)
    needle = None if grep is None else Needle(grep, regex=True)
    with streams.progress("looking for sessions", "files") as step:
        found = find_sessions(places or None, agents=agents, progress=step, here="." if here else None)
    _reported(found)
    mentioned = None if needle is None else _mentioning(needle, places)
    shown = 0
    offered: list[Session] = []
    some = ordered(found.sessions, sort.value)
    matches = _matches(mentioned, found)
    for one in chosen(some, since=first, until=last, format=format, matches=matches, limit=limit):
        if pick:
            offered.append(one)
        else:
            _print(one, shown, null=null, json=json)
        shown += 1
    for path, error in found.failed:
        streams.settle()
        streams.warn(error.message if str(path) in error.message else f"{path}: {error.message}")
    if not shown:
        if not found.sessions and found.failed:
            return found.failed[0][1].code
        where = ", ".join(places) if places else "the agents' folders"
        if here:
            from ctxkit.search.project_sessions import project

            where = f"the project {project('.').folder}"
        fits = f"none of {count(len(found.sessions), 'session')} fits" if found.sessions else "no session"
        raise NothingMatched(f"nothing found: {fits} in {where}")
    if pick:
        return _picked(offered, null=null, json=json)
    streams.flush()
    streams.say(count(shown, "session"))
    if mentioned is not None:
        mentioned.learn()
    return ExitCode.DONE


def _picked(offered: list[Session], *, null: bool, json: bool) -> int:
    """Let one be chosen; what is printed of it is its path, as it is."""
    from ctxkit.cli.terminal.picker import pick

    one = pick(offered, streams.drawn)
    if one is None:
        return ExitCode.NO
    if json:
        streams.out_json(session_list.as_json(one))
    else:
        streams.out_bytes([os.fsencode(one.path) + (b"\0" if null else b"\n")])
    return ExitCode.DONE


def _print(one: Session, before: int, *, null: bool, json: bool) -> None:
    """One session, in the form that was asked for."""
    if null:
        streams.out_bytes([os.fsencode(one.path) + b"\0"])
    elif json:
        streams.out_json(session_list.as_json(one))
    else:
        if before:
            streams.out("")
        for line in session_list.lines(one, width(), breadth()):
            streams.out(*line)


def _reported(found: Found) -> None:
    """Sidecars whose log is gone."""
    for folder in found.orphans:
        streams.say(f"{folder}: a sidecar whose log is gone")


def _mentioning(needle: Needle, places: list[str] | None) -> MentionSearch:
    from ctxkit.cli.regex_timeout import RegexTimeout
    from ctxkit.search.match import MentionSearch

    return MentionSearch(
        needle, map(Path, places) if places else homes(os.environ), os.environ, RegexTimeout(needle.text)
    )


def _matches(mentioned: MentionSearch | None, found: Found) -> Callable[[Session], bool] | None:
    """Whether a session mentions what is looked for; one that cannot be searched is reported, and does not."""
    if mentioned is None:
        return None

    def matches(one: Session) -> bool:
        try:
            with one_of_many(str(one.path)):
                return mentioned(one)
        except CtxkitError as error:
            if error.code is ExitCode.USAGE:  # the pattern is what is wrong
                raise
            found.failed.append((one.path, error))
            return False

    return matches


def _config() -> Config:
    """The settings that hold in the working folder."""
    from ctxkit.store.config import load
    from ctxkit.store.sidecar import user_config

    try:
        here = Path.cwd()
    except FileNotFoundError:  # the working folder is gone
        here = None
    return load(None, here, os.environ, user_config(os.environ))


def _moment(text: str, config: Config, *, end: bool = False) -> float:
    """A bound, where durations count from the config's `now` if that is a time, else from the clock."""
    from ctxkit import when

    named = seconds(config["now"])
    read = when.until if end else when.moment
    return read(text, time.time() if named is None else named, streams.clock().zone)


def _path(place: str) -> str:
    """What a word in a folder's place means: `@…` a session."""
    if not place.startswith("@"):
        return place
    from ctxkit.cli.session_names import path_of

    return path_of(place)
