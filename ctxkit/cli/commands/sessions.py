"""ctxkit sessions: which sessions there are, newest first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxkit.cli.abnormal_ends import abnormal_ends
from ctxkit.cli.log_access import set_zone
from ctxkit.cli.options import session_path, takes
from ctxkit.cli.session_names import tell_older
from ctxkit.cli.terminal import session_list, streams
from ctxkit.cli.terminal.layout import count, width, wrap_width
from ctxkit.core.text.search_pattern import Needle
from ctxkit.core.times import seconds
from ctxkit.errors import CtxkitError, ExitCode, NothingMatched, Usage
from ctxkit.formats import registry
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.resumed import sources
from ctxkit.search.sessions import Found, Session, chosen, find_sessions, homes, ordered
from ctxkit.store.folder import without_sidecars

if TYPE_CHECKING:
    from ctxkit.search.match import MentionSearch
    from ctxkit.settings.config import Config


TOGETHER = 32
"""Files that one process reads before it adds them to the index."""


class SortOrder(StrEnum):
    """Orders of the list."""

    TIME = "time"
    SIZE = "size"
    TOKENS = "tokens"


@takes()
def command(
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR]...", help="Folders or logs (default: the folders of the agents)."),
    ] = None,
    *,
    since: str | None = None,
    until: str | None = None,
    here: bool = False,
    sort: SortOrder = SortOrder.TIME,
    grep: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    all_: bool = False,
    pick: bool = False,
    null: bool = False,
    files_from: str | None = None,
    jobs: int | None = None,
    archive: str | None = None,
    dry_run: bool = False,
    verify: bool = False,
    utc: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """List the sessions below folders, of all formats, newest first.

    Each session is shown with its title, its last words, the time of its newest message, its number of messages, tokens
    and checkpoints, its state, and the folder and branch in which it began. The state is clean, damaged or interrupted:
    the last exchange has no end, because the agent was stopped or is still working. Without DIR it lists the agents'
    sessions on this machine, the newest message first. --here lists those of this project, with their names (@, @2),
    the one whose file was written last first: the project is the git repository of this folder, or this folder, with
    everything below. Sidecars whose log is gone are named on standard
    error. The listed files are never changed. Exit 1 if there is no session.

    With --archive the agents' sessions are copied into DIR, because agents delete old ones: only what is new, with what
    stands beside them. The config key archive.dir lets all commands find deleted sessions there.
    """
    if archive is not None or dry_run or verify:
        others = {
            "DIR": places, "--since": since, "--until": until, "--here": here, "--grep": grep, "--format": format,
            "--limit": limit, "--all": all_, "--pick": pick, "-0": null, "--sort": sort is not SortOrder.TIME,
            "--files-from": files_from, "--jobs": jobs,
        }  # fmt: skip
        return _archive(archive, others, dry_run=dry_run, verify=verify, json=json)
    if format is not None:
        registry.require_known(format)
    if null and json:
        raise Usage("-0 prints paths alone, and --json objects", "use only one of them")
    for place in places or ():
        if not place:
            raise Usage("the name of a folder is empty", "is a shell variable empty?")
    listed: list[str] = []
    if files_from is not None:
        from ctxkit.cli.many_logs import listed_names

        listed = listed_names(files_from)
        if not listed:
            raise NothingMatched(f"the list {files_from} is empty: nothing was listed")
    if here and (places or listed):
        raise Usage(
            "--here lists the agents' sessions of this project, and DIR what is below it", "use only one of them"
        )
    places = [*without_sidecars([*(session_path(place) for place in places or ()), *listed])]
    from ctxkit.settings.config import load_here

    config = load_here(os.environ)
    set_zone(config, utc=utc)
    first = None if since is None else _moment(since, config)
    last = None if until is None else _moment(until, config, end=True)
    needle = None if grep is None else Needle(grep, regex=True)
    if jobs is not None and jobs > 1 and not here:
        _read_ahead(places, jobs)
    with streams.progress("looking for sessions", "files") as step:
        found = find_sessions(places or None, agents=all_, progress=step, here="." if here else None)
    if null or pick:  # a path alone does not name a thread
        found.sessions = [one for one in found.sessions if not one.thread]
    for folder in found.orphans:
        streams.say(f"{folder}: a sidecar whose log is gone")
    mentioned = None if needle is None else _mention_search(needle, places)
    origins = {} if null or pick else sources(os.environ)
    shown = 0
    offered: list[Session] = []
    some = found.sessions if here and sort is SortOrder.TIME else ordered(found.sessions, sort.value)
    matches = _matches(mentioned, found)
    for one in chosen(some, since=first, until=last, format=format, matches=matches, limit=limit):
        offered.append(one)
        if not pick:
            _print(
                one,
                shown,
                names=(found.names.get(str(one.path), ""), _origin(origins.get(str(one.path), ""), found, json=json)),
                here=here,
                null=null,
                json=json,
            )
        shown += 1
    worst = max((error.code for _, error in found.failed), default=ExitCode.DONE)
    for path, error in found.failed:
        streams.flush_unless_paged()
        streams.warn(error.message if str(path) in error.message else f"{path}: {error.message}", error)
    for one_error in found.ruined:
        streams.flush_unless_paged()
        streams.warn(one_error.message, one_error)
    if not shown:
        if not found.sessions and found.failed:
            return worst
        where = ", ".join(places) if places else "the agents' folders"
        if here:
            from ctxkit.search.project_sessions import project

            where = f"the project {project('.').folder}"
        fits = f"of {count(len(found.sessions), 'session')} none fits" if found.sessions else "no session"
        below = any(map(os.path.isdir, places or ()))
        hint = "ctxkit sessions --here lists the agents' sessions of this project" if below else ""
        if here:
            hint = "was its folder moved? ctxkit sessions lists all; ctxkit resume NAME --cwd . goes on with one here"
        hint = f"--all lists {count(found.agents, 'file')} of subagents" if found.agents else hint
        raise NothingMatched(f"nothing found: {fits} in {where}", hint)
    if pick:
        return _picked(offered, null=null, json=json)
    streams.flush()
    for line in abnormal_ends():
        streams.warn(line)
    for one in offered:
        tell_older(one.path)
    streams.say(count(shown, "session"))
    if mentioned is not None:
        mentioned.learn()
    return worst


def _read_ahead(places: list[str], jobs: int) -> None:
    """Read new files in several processes, each of which adds what it read to the index, from which they are listed."""
    from ctxkit.fleet.pool import results
    from ctxkit.search.log_files import log_files

    files = [one.path for one in log_files(places or homes(os.environ)) if one.error is None]
    parts = [files[i : i + TOGETHER] for i in range(0, len(files), TOGETHER)]
    with streams.progress("reading sessions", "files") as step, closing(results(_read, parts, jobs)) as done:
        for count, _ in enumerate(done, 1):  # what failed fails again where it is listed
            if step is not None:
                step(min(count * TOGETHER, len(files)), len(files))


def _read(paths: list[str]) -> None:
    find_sessions(paths, agents=True)


def _archive(archive: str | None, others: Mapping[str, object], *, dry_run: bool, verify: bool, json: bool) -> int:
    """Copy the agents' sessions, or verify the copies."""
    from ctxkit.cli import archive_run

    if not archive:
        belong = "--dry-run and --verify belong to --archive"
        what = belong if archive is None else "the name of the archive is empty"
        raise Usage(what, "ctxkit sessions --archive DIR")
    if verify and dry_run:
        raise Usage("--verify writes nothing: it cannot be combined with --dry-run", "use only one of them")
    archive_run.refuse_others(others)
    if verify:
        return archive_run.verify(archive, json=json)
    return archive_run.copy(archive, dry_run=dry_run, json=json)


def _picked(offered: list[Session], *, null: bool, json: bool) -> int:
    """Let one be picked, and print its path as it is."""
    from ctxkit.cli.terminal.picker import pick

    one = pick(offered)
    if one is None:
        return ExitCode.NO
    if json:
        streams.out_json(session_list.as_json(one))
    else:
        streams.out_bytes([os.fsencode(one.path) + (b"\0" if null else b"\n")])
    return ExitCode.DONE


def _origin(path: str, found: Found, *, json: bool) -> str:
    """Return the session that one was made from: its path; for people after its name."""
    return path if json or path not in found.names else f"{found.names[path]} ({path})"


def _print(one: Session, before: int, *, names: tuple[str, str], here: bool, null: bool, json: bool) -> None:
    """Print one session. `names`: its own, and that of the session from which it was resumed."""
    if null:
        streams.out_bytes([os.fsencode(one.path) + b"\0"])
    elif json:
        streams.out_json(session_list.as_json(one, *names))
    else:
        if before:
            streams.out("")
        for line in session_list.lines(one, width(), wrap_width(), *names, here=here):
            streams.out(*line)


def _mention_search(needle: Needle, places: list[str] | None) -> MentionSearch:
    from ctxkit.cli.regex_timeout import RegexTimeout
    from ctxkit.search.match import MentionSearch

    return MentionSearch(
        needle, map(Path, places) if places else homes(os.environ), os.environ, RegexTimeout(needle.text)
    )


def _matches(mentioned: MentionSearch | None, found: Found) -> Callable[[Session], bool] | None:
    """Whether a session matches --grep. One that cannot be searched is reported, and does not match."""
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


def _moment(text: str, config: Config, *, end: bool = False) -> float:
    """The time of a bound. Durations count from the config's `now` if that is a time, else from the clock."""
    from ctxkit import when

    named = seconds(config["now"])
    read = when.until if end else when.moment
    return read(text, time.time() if named is None else named, streams.clock().zone)
