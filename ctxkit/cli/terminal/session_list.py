"""How found sessions look: to people some lines each, to programs an object each. Pure: no stream is written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY, count, spaced
from ctxkit.cli.terminal.message_view import ROLES
from ctxkit.cli.terminal.safe_text import cells, clip, safe
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.times import iso
from ctxkit.search.sessions import Session

UNTITLED = "(no title)"
STATES = {"interrupted": "yellow", "damaged": "bold red"}
"""The style of each state that is named; `clean` is not."""
Line = list[str | Styled]


def lines(one: Session, width: int, breadth: int) -> Iterator[Line]:
    """Time and title; the last words; what is known in figures; the path, whole: it is what one copies.

    Words have `width` cells, everywhere; figures are broken at `breadth`, that of a terminal.
    """
    indent = "    " if width >= ROOMY else "  "
    when, title = Styled(streams.clock().time(one.time), "dim"), one.glance.title or UNTITLED
    room = width - len(when.text) - 2
    if room >= ROOMY // 2:
        yield [when, "  ", Styled(fitted(title, room), "bold")]
    else:
        yield from wrapped([when], width, 2)
        yield [Styled(fitted(title, width), "bold")]
    last = one.glance.last
    if last is not None:
        said = f"{last.role}: "
        room = width - cells(indent) - len(said)
        yield [indent, Styled(safe(said), ROLES.get(last.role, "")), fitted(last.text, room)]
    for line in wrapped(facts(one), breadth - cells(indent), 0):
        yield [indent, *line]
    yield [indent, Styled(str(one.path), "dim")]


def facts(one: Session) -> Line:
    """`claude-code  42 messages  126,400 tokens  2 checkpoints  interrupted  ~/shop  main`."""
    told = one.glance
    many = count(told.conversations, "conversation") if told.conversations > 1 else ""
    used = f"{one.used.count:,} tokens" if one.used is not None else ""
    kept = count(one.checkpoints, "checkpoint") if one.checkpoints else ""
    state = Styled(one.state, STATES[one.state]) if one.state in STATES else ""
    project, branch = Styled(home_short(told.folder), "dim"), Styled(told.branch, "dim")
    return spaced(told.format, count(told.messages, "message"), many, used, kept, state, project, branch)


def home_short(folder: str) -> str:
    """A folder as people write it: `~/shop`."""
    home = os.path.expanduser("~")
    return "~" + folder[len(home) :] if folder == home or folder.startswith(home + os.sep) else folder


def fitted(text: str, room: int) -> str:
    """The start of a text on one line of so many cells, made visible."""
    return clip(safe(text[: 8 * max(room, 0) + 64], keep_newlines=False), max(room, 0))


def as_json(one: Session) -> dict[str, Any]:
    """The machine form: every key is always there."""
    told = one.glance
    return {
        "path": str(one.path),
        "format": told.format,
        "title": told.title,
        "last": None if told.last is None else {"role": told.last.role, "text": told.last.text},
        "time": iso(one.time),
        "size": one.size,
        "messages": told.messages,
        "conversations": told.conversations,
        "tokens": None if one.used is None else one.used.count,
        "counter": None if one.used is None else one.used.counter,
        "checkpoints": one.checkpoints,
        "state": one.state,
        "damaged": told.damaged,
        "sidecar": None if one.sidecar is None else str(one.sidecar),
        "project": told.folder or None,
        "branch": told.branch or None,
    }
