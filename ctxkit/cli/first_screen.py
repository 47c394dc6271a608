"""`ctxkit` alone, on a terminal: the newest sessions of this project, how full they are, and what one would type next.

The figure is that of `ctxkit status`: of a session that was counted since it changed, from the user's index; else it is
counted now, the newest first, as long as that takes no second. Of the rest the program's own last figure is shown.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import NamedTuple

from ctxkit.api.log import Log
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.session_list import UNTITLED, Line, fitted, home_short
from ctxkit.cli.terminal.status_view import EMPTY, FULL, brief
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.errors import CtxkitError, NoSuchLog
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.measure.status import level
from ctxkit.search.file_cache import CachedTokens
from ctxkit.search.naming import AGENTS
from ctxkit.search.project_sessions import project, project_sessions
from ctxkit.search.sessions import Session, find_files

SHOWN = 5
"""Sessions."""
PATIENCE = 1.0
"""Seconds within which counting begins, of all of them together."""
LARGEST = 16 << 20
"""Bytes of a session that is counted here."""
BAR = 10
"""Cells."""
WIDE = 60
"""Columns from which on a session is one line."""
NEXT = ("show", "compact", "resume", "status")
"""Commands that one would type next; the first three that there are."""


class Fullness(NamedTuple):
    """Tokens of a context, and of its limit, where they are known; `level`: how that is coloured."""

    used: int | None = None
    limit: int | None = None
    level: str = ""


def show() -> bool:
    """Print it; False where this project has no session."""
    try:
        here = project()
    except NoSuchLog:
        return False
    with streams.progress("looking for sessions", "files") as step:
        with closing(project_sessions(os.environ, here)) as files:
            some = list(islice(files, SHOWN + 1))
        found = find_files(some[:SHOWN], env=os.environ, progress=step).sessions
        by_path = {str(one.path): one for one in found}
        shown = [by_path[one.path] for one in some[:SHOWN] if one.path in by_path]
        if not shown:
            return False
        begun = time.monotonic()
        full = [_fullness(one, count=time.monotonic() - begun < PATIENCE) for one in shown]
    for line in lines(shown, full, home_short(here.folder), layout.width(), more=len(some) > SHOWN):
        streams.out(*line)
    return True


def _fullness(one: Session, *, count: bool) -> Fullness:
    """As `status` tells it."""
    told = one.tokens
    yellow, red = 70.0, 85.0
    if told is None and count and one.size <= LARGEST:
        try:
            with one_of_many(str(one.path)):
                log = Log.open(one.path)
                yellow, red = log.config["status.yellow"], log.config["status.red"]
                found = log.status().tokens
                told = CachedTokens(found.used or 0, found.counter or "", found.limit.value)
                from ctxkit.search.size_cache import note

                note(log, found)
        except CtxkitError:
            told = None
    told = told or one.used
    if told is None:
        return Fullness()
    share = level(100 * told.count / told.limit, yellow, red) if told.limit else ""
    return Fullness(told.count, told.limit, share)


def lines(some: list[Session], full: list[Fullness], top: str, width: int, *, more: bool) -> Iterator[Line]:
    """The screen, in `width` columns."""
    yield from wrapped([Styled(top, "bold")], width, 2, hard=True)
    names = ["@", *(f"@{i}" for i in range(2, len(some) + 1))]
    agents = [_agent(one) for one in some]
    ages = [_ago(time.time() - one.time) for one in some]
    wide = max(map(len, agents)), max(map(len, ages))
    for name, one, agent, ago, held in zip(names, some, agents, ages, full, strict=True):
        yield from _session(name, one, f"{agent:{wide[0]}}", f"{ago:>{wide[1]}}", held, width)
    if more:
        yield from wrapped([Styled("    ctxkit sessions --here lists the others", "dim")], width, 6, hard=True)
    yield []
    for command in [name for name in NEXT if name in COMMANDS][:3]:
        start = f"  ctxkit {command} @"
        yield from wrapped([Styled(start, "bold"), " " * (22 - len(start)), COMMANDS[command].summary], width, 6)
    yield from wrapped([Styled("  ctxkit --help", "bold"), " " * 7, "all commands"], width, 6)


def _session(name: str, one: Session, agent: str, ago: str, held: Fullness, width: int) -> Iterator[Line]:
    """`@2  2 h ago  codex   ███░░░░░░░ 31 % of 272k  The words of its title`."""
    start: Line = [Styled(f"{name:3}", "bold"), Styled(f" {ago}  {agent}", "dim"), "  "]
    figure, said = _bar(held), one.glance.title or UNTITLED
    used = sum(cells(span if isinstance(span, str) else span.text) for span in (*start, *figure))
    if width >= WIDE and width - used >= layout.ROOMY // 2:
        yield [*start, *figure, "  ", fitted(said, width - used - 2)]
    else:
        yield from wrapped([*start, *figure], width, 4)
        yield ["    ", fitted(said, width - 4)]


def _bar(held: Fullness) -> Line:
    """Of the limit, in so many cells, and in words."""
    if held.used is None:
        return [" " * BAR, f" {'':11}"]
    if not held.limit:
        return [" " * BAR, f" {brief(held.used):>4} tokens "]
    share = held.used / held.limit
    filled = min(BAR, round(share * BAR))
    return [Styled(FULL * filled, held.level), Styled(EMPTY * (BAR - filled), "dim"),
            f" {'<1' if 0 < share < 0.01 else int(100 * share):>2} % of {brief(held.limit):>4}"]  # fmt: skip


def _agent(one: Session) -> str:
    """The shortest name that `@` takes."""
    return next((name for name, format in AGENTS.items() if format == one.glance.format), one.glance.format)


def _ago(seconds: float) -> str:
    """`5 min ago`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"
