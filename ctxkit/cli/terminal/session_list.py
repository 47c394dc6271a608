"""Formats found sessions: some lines each for people, an object each for programs. Nothing is printed here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY, UNBROKEN, count, home_short, spaced
from ctxkit.cli.terminal.message_view import ROLES
from ctxkit.cli.terminal.safe_text import cells, clip, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.times import iso
from ctxkit.formats import registry
from ctxkit.formats.session_folders import session_id
from ctxkit.search.naming import SHORT
from ctxkit.search.sessions import ROUGH, Session

UNTITLED = "(no title)"
STATES = {"interrupted": "yellow", "damaged": "bold red"}
"""The styles of the states that are shown; `clean` is not shown."""
DAY = 86400
"""Seconds."""


def lines(
    one: Session, width: int, wrap_width: int, name: str = "", source: str = "", *, here: bool = False
) -> Iterator[Line]:  # fmt: skip
    """Yield name (`@2`), time and title; the last message; figures; the path, unbroken for copying; and `source`, the
    session that `ctxkit resume` made it from. `here`: the time is that of the file's last change, by which `@` goes.

    Texts are cut to `width` cells; figures are wrapped at `wrap_width`.
    """
    indent = "    " if width >= ROOMY else "  "
    when, title = Styled(streams.clock().time(one.written if here else one.time), "dim"), one.glance.title or UNTITLED
    named: Line = [Styled(f"{name:3}", "bold"), " "] if name else []
    room = width - len(when.text) - 2 - (max(3, len(name)) + 1) * bool(name)
    if room >= ROOMY // 2:
        yield [*named, when, "  ", Styled(fitted(title, room), "bold")]
    else:
        yield from wrapped([*named, when], width, 2)
        yield [Styled(fitted(title, width), "bold")]
    last = one.glance.last
    if last is not None:
        speaker = f"{last.role}: "
        room = width - cells(indent) - len(speaker)
        yield [indent, Styled(safe(speaker), ROLES.get(last.role, "")), fitted(last.text, room)]
    newest = [f"last message {streams.clock().time(one.time)}", "  "] if here and _apart(one) else []
    for line in wrapped([*newest, *facts(one)], wrap_width - cells(indent), 0):
        yield [indent, *line]
    thread = f" --thread {one.thread}" if one.thread else ""
    path = str(one.path) if wrap_width == UNBROKEN else home_short(str(one.path))
    yield [indent, Styled(f"{path}{thread}", "dim")]
    if source:
        yield [indent, Styled(f"resumed from {source}", "dim")]


def remarks(some: Sequence[Session], names: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """What tells each session from the others, "" for nothing: `f47b76e3, made from @2, last message 293 d ago`.

    `names`: path -> `@2`; `sources`: path of each session that `ctxkit resume` made -> path of its source.
    """
    titles = Counter(one.glance.title for one in some)
    said = []
    for one in some:
        source = sources.get(str(one.path), "")
        own = short_id(one.glance.format, str(one.path)) if titles[one.glance.title] > 1 else ""
        made = f"made from {names.get(source) or short_id(one.glance.format, source)}" if source else ""
        newest = f"last message {ago(time.time() - one.time)}" if _apart(one) else ""
        said.append(", ".join(filter(None, (own, made, newest))))
    return said


def _apart(one: Session) -> bool:
    """Whether the file was written at another time than its newest message."""
    return abs(one.written - one.time) > DAY


def short_id(format: str, path: str) -> str:
    """The beginning of a session's id, enough to name it."""
    return session_id(format, path)[:SHORT]


def ago(seconds: float) -> str:
    """`5 min ago`."""
    for size, unit in ((DAY, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


def facts(one: Session) -> Line:
    """Return `claude-code  42 messages  126,400 tokens  2 checkpoints  interrupted  ~/shop  main`."""
    glance = one.glance
    many = count(glance.conversations, "conversation") if glance.conversations > 1 else ""
    size = one.used
    used = "" if size is None else f"{'~' * (size.counter == ROUGH)}{size.count:,} tokens"
    kept = count(one.checkpoints, "checkpoint") if one.checkpoints else ""
    state = Styled(one.state, STATES[one.state]) if one.state in STATES else ""
    project, branch = Styled(home_short(glance.folder), "dim"), Styled(glance.branch, "dim")
    left = Styled("prompts only", "yellow") if one.thread else ""
    home = registry.HOMES.get(glance.format)
    retired = home is not None and home.retired and one.path.parent.name == home.retired
    put_away = Styled("archived", "dim") if retired else ""
    messages = count(glance.messages, "message")
    return spaced(glance.format, messages, many, used, kept, state, left, put_away, project, branch)


def fitted(text: str, room: int) -> str:
    """Return the start of a text on one safe line of `room` cells."""
    return clip(safe(text[: 8 * max(room, 0) + 64], keep_newlines=False), max(room, 0))


def as_json(one: Session, name: str = "", source: str = "") -> dict[str, Any]:
    """Return a session as an object; all keys are always present."""
    glance = one.glance
    return {
        "path": str(one.path),
        "format": glance.format,
        "title": glance.title,
        "last": None if glance.last is None else {"role": glance.last.role, "text": glance.last.text},
        "time": iso(one.time),
        "size": one.size,
        "messages": glance.messages,
        "conversations": glance.conversations,
        "tokens": None if one.used is None else one.used.count,
        "counter": None if one.used is None else one.used.counter,
        "checkpoints": one.checkpoints,
        "state": one.state,
        "damaged": glance.damaged,
        "thread": one.thread or None,
        "sidecar": None if one.sidecar is None else str(one.sidecar),
        "project": glance.folder or None,
        "branch": glance.branch or None,
        "name": name or None,
        "resumed_from": source or None,
    }
