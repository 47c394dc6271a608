"""Formats the notes of a project for `memory`: by kind, each with its number and sources; or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.safe_text import safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.times import seconds
from ctxkit.memory.memory import CheckedNote
from ctxkit.memory.notes import HAND, KINDS, RULES, MemoryNote
from ctxkit.memory.sources import GONE

HANG = 6
"""Cells before the further lines of a note."""


def as_json(one: CheckedNote) -> dict[str, Any]:
    """Return a note as an object; without its text if it may not be shown."""
    note = one.note
    return {
        "note": one.number, "id": note.id, "kind": note.kind, "text": note.text if one.may_be_shown else None,
        "made": note.made, "ts": one.ts, "state": one.state, "superseded_by": one.by,
        "repeats": one.repeats,
        "sources": [{"name": it.name, "log": it.log, "session": it.session, "n": it.n} for it in note.sources],
        "sources_state": one.sources,
    }  # fmt: skip


def show(notes: Sequence[CheckedNote]) -> None:
    """Print notes by kind, in the order of KINDS."""
    first = True
    for kind, heading in KINDS.items():
        some = [one for one in notes if one.note.kind == kind]
        if some:
            if not first:
                streams.out("")
            first = False
            streams.out(Styled(heading, "bold"))
            for one in some:
                streams.out(*line(one), hang=HANG)


def line(one: CheckedNote, score: str = "") -> Line:
    """Return a note: `   3  text  @3f2a91c0#12  2026-02-12`; the terminal breaks it."""
    note, state = one.note, "" if one.state == "current" else one.state
    if state == "superseded":
        state += f" by {one.by}" if one.by else ""
    elif one.repeats is not None:
        state += f": repeats {one.repeats}"
    day = seconds(one.ts)
    about = [
        *(source.name for source in note.sources), "session gone" if one.sources == GONE else "",
        "" if day is None else streams.clock().day(day), "" if note.made in (HAND, RULES) else f"by {note.made}",
        state, score,
    ]  # fmt: skip
    words = [safe(note.text, keep_newlines=False), *(safe(text, keep_newlines=False) for text in about)]
    return [
        Styled(f"{one.number:4}  ", "bold"),
        words[0],
        Styled("".join(f"  {word}" for word in words[1:] if word), "dim"),
    ]


def new_line(note: MemoryNote) -> str:
    """Return a note that was just made: its kind, its text and its sources."""
    sources = ", ".join(source.name for source in note.sources)
    return safe(f"  {note.kind}: {note.text}  {sources}", keep_newlines=False)
