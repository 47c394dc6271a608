"""The screen of `ctxkit` alone on a terminal: the project's newest sessions, how full they are, what to type next.

The tokens are those of `ctxkit status`, from the user's index if the session was counted since it changed; otherwise
the last figure of its program, or an estimate by its size, marked `~`. Nothing is counted here.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from ctxkit.cli.abnormal_ends import abnormal_ends
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.layout import home_short
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.session_list import UNTITLED, ago, fitted, remarks
from ctxkit.cli.terminal.status_view import EMPTY, FULL, brief
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.errors import CtxkitError, NoSuchLog
from ctxkit.measure.limit import with_config
from ctxkit.measure.status import level
from ctxkit.search.naming import AGENTS
from ctxkit.search.project_sessions import project, project_sessions
from ctxkit.search.resumed import sources
from ctxkit.search.sessions import ROUGH, Session, find_files, find_sessions
from ctxkit.settings.log_config import Configured
from ctxkit.store.folder import file_name

SHOWN = 5
"""Sessions on the screen."""
NAMES = ("@", *(f"@{k}" for k in range(2, SHOWN + 1)))
BAR = 10
"""Cells of the bar."""
WIDE = 60
"""Columns from which a session takes one line."""
ENDING = ".jsonl"
"""Of the logs of this folder that are shown; other files of JSON are rarely logs."""
NEXT = ("show", "forget", "compact", "resume")
"""Commands to type next."""


class Fullness(NamedTuple):
    """Tokens of a context and of its limit, None if unknown; `level`: the bar's colour; `rough`: not counted."""

    used: int | None = None
    limit: int | None = None
    level: str = ""
    rough: bool = False


def show() -> bool:
    """Print the screen; False if this project has no session, and this folder no log."""
    try:
        here = project()
    except NoSuchLog:
        return False
    logs = _logs_here()
    with streams.progress("looking for sessions", "files") as step:
        some = list(islice(project_sessions(os.environ, here), SHOWN + 1))
        found = find_files(some[:SHOWN], env=os.environ, progress=step)
        for error in found.ruined:
            streams.warn(error.message, error)
        by_path = {str(one.path): one for one in found.sessions}
        shown = [by_path[one.path] for one in some[:SHOWN] if one.path in by_path]
        if not shown and not logs:
            return False
        full = [_fullness(one) for one in shown]
    names = {one.path: name for one, name in zip(some, NAMES, strict=False)}
    said = remarks(shown, names, sources(os.environ))
    for line in lines(shown, full, home_short(here.folder), layout.width(), said, logs=logs, more=len(some) > SHOWN):
        streams.out(*line)
    for text in abnormal_ends():
        streams.warn(text)
    return True


def _logs_here() -> list[Session]:
    """The logs of the current folder itself that changed last; what is no log, or cannot be read, is left out."""
    found: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir() as entries:
        for one in entries:
            if one.name.endswith(ENDING) and one.is_file():
                found.append((-one.stat().st_mtime, file_name(one.name)))
    try:
        return find_sessions([name for _, name in sorted(found)[:SHOWN]]).sessions if found else []
    except CtxkitError:
        return []


def _fullness(one: Session) -> Fullness:
    """How full a session is, as far as it is known without counting."""
    used = one.used
    if used is None:
        return Fullness()
    try:
        config = Configured(str(one.path), env=os.environ).load(tolerant=True)
    except CtxkitError:
        return Fullness(used.count, used.limit, "", used.counter == ROUGH)
    limit = with_config(config, used.limit)
    colour = level(100 * used.count / limit, config["status.yellow"], config["status.red"]) if limit else ""
    return Fullness(used.count, limit, colour, used.counter == ROUGH)


def lines(
    some: list[Session], full: list[Fullness], top: str, width: int, said: list[str], *, logs: Sequence[Session] = (),
    more: bool,
) -> Iterator[Line]:  # fmt: skip
    """The lines of the screen, in `width` columns. `said`: what else is said of each session; `logs`: of the folder."""
    yield from wrapped([Styled(top, "bold")], width, 2, hard=True)
    agents = [_agent(one) for one in some]
    ages = [ago(time.time() - one.written) for one in some]
    wide = max(map(len, agents), default=0), max(map(len, ages), default=0)
    for name, one, agent, age, held, more_of_it in zip(NAMES, some, agents, ages, full, said, strict=False):
        yield from _session(name, one, f"{agent:{wide[0]}}", f"{age:>{wide[1]}}", held, width)
        if more_of_it:
            yield from wrapped(["    ", Styled(more_of_it, "dim")], width, 4, hard=True)
    if more:
        yield from wrapped([Styled("    ctxkit sessions --here lists the others", "dim")], width, 6, hard=True)
    if logs:
        title = "Logs in this folder" if some else "No agent's session; logs in this folder"
        yield from wrapped([Styled(title, "dim")], width, 2, hard=True)
        for one in logs:
            name = [Styled(str(one.path), "bold"), f"  {layout.count(one.glance.messages, 'message')}"]
            yield from wrapped(name, width, 4, hard=True)
    yield []
    hang = 22 if width >= WIDE else 6
    first = "@" if some or not logs else shlex.quote(str(logs[0].path))
    for command in NEXT:
        start = f"  ctxkit {command} {first}"
        yield from wrapped(
            [Styled(start, "bold"), " " * max(22 - len(start), 2), COMMANDS[command].summary], width, hang
        )
    yield from wrapped([Styled("  ctxkit --help", "bold"), " " * 7, "all commands"], width, hang)


def _session(name: str, one: Session, agent: str, age: str, fullness: Fullness, width: int) -> Iterator[Line]:
    """`@2  2 h ago  codex   ███░░░░░░░ 31 % of 272k  The words of its title`."""
    start: Line = [Styled(f"{name:3}", "bold"), Styled(f" {age}  {agent}", "dim"), "  "]
    figure, title = _bar(fullness), one.glance.title or UNTITLED
    used = sum(cells(span if isinstance(span, str) else span.text) for span in (*start, *figure))
    if width >= WIDE and width - used >= layout.ROOMY // 2:
        yield [*start, *figure, "  ", fitted(title, width - used - 2)]
        return
    if used <= width:
        yield [*start, *figure]
    else:
        yield from wrapped(start, width, 4)
        yield from wrapped(["    ", *figure], width, 4)
    yield ["    ", fitted(title, width - 4)]


def _bar(fullness: Fullness) -> Line:
    """The bar of the share of the limit that is used, and the share in words."""
    if fullness.used is None:
        return [" " * BAR, f" {'':11}"]
    about = "~" if fullness.rough else " "
    if not fullness.limit:
        return [" " * BAR, f"{about}{brief(fullness.used):>4} tokens "]
    share = fullness.used / fullness.limit
    filled = min(BAR, round(share * BAR))
    return [Styled(FULL * filled, fullness.level), Styled(EMPTY * (BAR - filled), "dim"),
            f"{about}{'<1' if 0 < share < 0.01 else int(100 * share):>2} % of {brief(fullness.limit):>4}"]  # fmt: skip


def _agent(one: Session) -> str:
    """The agent of a session, by the shortest name that `@` takes."""
    return next((name for name, format in AGENTS.items() if format == one.glance.format), one.glance.format)
