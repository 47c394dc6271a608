"""Makes the notes in a message's header: its origin, and for a summary its strategy and contents on one line.

`show` prints this line for a summary that an op of ctxkit added, and the whole text with `--full`.
"""

from __future__ import annotations

from ctxkit.api.log import Log
from ctxkit.cli.terminal import layout
from ctxkit.core.board import ContextItem, LeftOut, shortening
from ctxkit.core.context import Entry
from ctxkit.core.item_names import ItemName
from ctxkit.core.ops import Compact
from ctxkit.core.state import State

LONGEST = 60
"""Characters of a summary's text, if it has no lists."""
NOUNS = {
    "files edited": ("file edited", "files edited"), "files read": ("file read", "files read"),
    "commands": ("command", "commands"), "messages": ("message quoted", "messages quoted"),
}  # fmt: skip
"""What `outline` counts, in the order of the note -> its singular and plural."""


def line(state: State, item: ContextItem) -> str:
    """Return `summary of 2-140 (extract): 12 files edited, 8 commands, 31 messages quoted`."""
    entry = state.ledger.by_id.get(item.name.op)
    strategy = entry.op.strategy if entry is not None and isinstance(entry.op, Compact) else None
    how = f" ({strategy})" if strategy else ""
    stub = shortening(state.board.stubs.get(item.name))
    held = contents(stub if isinstance(stub, str) else str(item.message.get("content", "")))
    return f"summary of {state.brief(item.tells)}{how}" + (f": {held}" if held else "")


def contents(text: str) -> str:
    """Return the contents of a summary: the counts of its lists, else its beginning after the first paragraph."""
    from ctxkit.cut.summarize.summary_text import outline  # imports all of extract: only for a summary

    found, order = outline(text), list(NOUNS)
    listed = [
        f"{found[name]:,} {NOUNS[name][found[name] != 1] if name in NOUNS else name}"
        for name in sorted(found, key=lambda name: order.index(name) if name in NOUNS else 0) if found[name]
    ]  # fmt: skip
    if listed:
        return ", ".join(listed)
    _, _, rest = text.strip().partition("\n\n")
    words = " ".join(rest[: 2 * LONGEST].split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rstrip()}…"


def notes(log: Log, entry: Entry, out: str = "") -> str:
    """Return the notes of a message: its origin, its score for --about, and why it is `out` of the context."""
    score = log.ranked.scores.get(entry.name)
    found = (_origin(log.state(), entry), "" if score is None else f"{score} %", f"out: {out}" if out else "")
    return ", ".join(filter(None, found))


def _origin(state: State, entry: Entry) -> str:
    if entry.item is not None and entry.item.summary:
        return line(state, entry.item)
    if entry.item is not None and entry.item.origin is not None:
        return f"from {state.label(entry.item.origin)}"
    if isinstance(entry.name, ItemName):
        return f"by op {entry.item.source if entry.item else '?'}"
    by = state.board.restored.get(entry.name)
    restored = "" if by is None else f"restored by op {by}"
    if isinstance(entry.stub, LeftOut) and entry.stub.stub is None:
        cut = layout.count(len(entry.stub.parts), "part") + " left out"
    else:
        cut = "shortened" if entry.stub is not None else ""
    return ", ".join(filter(None, (restored, cut)))
