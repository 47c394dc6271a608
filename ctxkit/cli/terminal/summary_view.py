"""What is noted behind a message: where it comes from; of a summary what it tells, by which strategy, on one line.

`show` prints this for a summary that an op of ctxkit put in, and `show --expand` the whole of it.
"""

from __future__ import annotations

from ctxkit.api.log import Log
from ctxkit.cli.terminal import layout
from ctxkit.core.board import ContextItem, LeftOut
from ctxkit.core.context import Entry
from ctxkit.core.item_names import ItemName
from ctxkit.core.ops import Compact
from ctxkit.core.state import State

LONGEST = 60
"""Characters of what a summary says that lists nothing."""
NOUNS = {
    "files edited": ("file edited", "files edited"), "files read": ("file read", "files read"),
    "commands": ("command", "commands"), "errors": ("error", "errors"), "decisions": ("decision", "decisions"),
    "pending": ("pending", "pending"), "code": ("piece of code", "pieces of code"),
    "messages": ("message quoted", "messages quoted"),
}  # fmt: skip
"""What `outline` counts, in the order in which it is told -> the word for one, and for more."""


def line(state: State, item: ContextItem) -> str:
    """`summary of 2-140 (extract): 12 files edited, 8 commands, 31 messages quoted`."""
    entry = state.ledger.by_id.get(item.name.op)
    strategy = entry.op.strategy if entry is not None and isinstance(entry.op, Compact) else None
    how = f" ({strategy})" if strategy else ""
    held = contents(str(item.message.get("content", "")))
    return f"summary of {state.brief(item.tells)}{how}" + (f": {held}" if held else "")


def contents(text: str) -> str:
    """What a summary holds, in words: what it lists, else how it begins, behind the line that says what it is."""
    from ctxkit.compact.summary_text import outline  # brings all of extract: only where there is a summary

    found, order = outline(text), list(NOUNS)
    listed = [
        f"{found[name]:,} {NOUNS[name][found[name] != 1] if name in NOUNS else name}"
        for name in sorted(found, key=lambda name: order.index(name) if name in NOUNS else 0) if found[name]
    ]  # fmt: skip
    if listed:
        return ", ".join(listed)
    _, _, said = text.strip().partition("\n\n")
    words = " ".join(said[: 2 * LONGEST].split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rstrip()}…"


def notes(log: Log, entry: Entry) -> str:
    """What stands behind a message's header: what it is a summary of, where it is from, what it is about."""
    score = log.ranked.scores.get(entry.name)
    return ", ".join(filter(None, (_origin(log.state(), entry), "" if score is None else f"{score} %")))


def _origin(state: State, entry: Entry) -> str:
    if entry.item is not None and entry.item.summary:
        return line(state, entry.item)
    if entry.item is not None and entry.item.origin is not None:
        return f"from {state.label(entry.item.origin)}"
    if isinstance(entry.name, ItemName):
        return f"by op {entry.item.source if entry.item else '?'}"
    if isinstance(entry.stub, LeftOut) and entry.stub.stub is None:
        return layout.count(len(entry.stub.parts), "part") + " left out"
    return "shortened" if entry.stub is not None else ""
