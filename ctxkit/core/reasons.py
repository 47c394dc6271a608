"""Reasons: why a name is in the context or out of it, in words, with the one command that brings it back.

Used by `why`; reads only a `State`.
"""

from __future__ import annotations

from shlex import quote as quoted

import msgspec

from ctxkit.core.effects import Out
from ctxkit.core.names import ItemName, Name
from ctxkit.core.state import State


class Reason(msgspec.Struct, frozen=True):
    """One reason. `kind`: the op's name, `program`, `branch`, `sidechain`, `window`...; `op`: its number or None."""

    kind: str
    op: int | None
    text: str
    back: str


def explain(state: State, name: Name, *, visible: bool) -> list[Reason]:
    """Everything that concerns `name`, what keeps it out first. `visible`: it is in the projected context."""
    found = [_out(state, name, out) for out in state.reasons(name)]
    if not found and not visible:
        text = "older than the window, or of another agent or thread"
        found.append(Reason("window", None, text, "ctxkit window LOG off"))
    item = state.board.items.get(name) if isinstance(name, ItemName) else None
    if item is not None and item.summary:
        text = f"it is the summary that op {item.source} put in for {item.tells}"
        found.append(Reason("compact", item.source, text, ""))
    elif item is not None:
        stem = f", from {state.label(item.origin)}" if item.origin is not None else ""
        found.append(Reason("item", item.source, f"op {item.source} brought it in{stem}", ""))
    for other in state.board.items.values():
        if other.origin == name:
            text = f"changed by {other.source}, now {state.label(other.name)}"
            found.append(Reason("edit", other.source, text, f"ctxkit undo LOG {other.source}"))
        if name in other.tells and other.name != name:
            text = f"told by the summary {state.label(other.name)}"
            found.append(Reason("compact", other.source, text, ""))
    if name in state.board.stubs:
        found.append(Reason("stub", None, "its content is shown shortened", "ctxkit log LOG names the compact or trim"))
    if name in state.board.keys and name not in state.board.items:
        by = "an edit or restore" if name in state.board.effective else "the log's own program"
        found.append(Reason("moved", None, f"it stands where {by} put it", ""))
    if state.protected(name):
        by = "as part of the system preamble" if state.is_preamble(name) else "by a protect"
        found.append(Reason("protected", None, f"it is protected {by}", ""))
    elif state.guarded(name):
        found.append(Reason("protected", None, "it is the first message: compact and trim leave it", ""))
    return found


def _out(state: State, name: Name, out: Out) -> Reason:
    if out.source < 0:
        view = state.transcript.view
        label = view.all_cuts[-1 - out.source].label if view is not None else ""
        return Reason("program", None, label, "a rewind to a mark before it")
    if out.source == 0 and out.kind == "sidechain" and isinstance(name, int):
        thread = state.messages[name - 1].thread
        if thread in state.threads:
            return Reason(out.kind, None, f"in the sidechain {thread}", f"ctxkit show LOG --thread {quoted(thread)}")
    if out.source == 0:
        return Reason(out.kind, None, f"{out.kind}: not on the path from the log's last row", "")
    verb = {
        "forget": "forgotten by", "remember": "left out by the remember of", "rewind": "rewound by",
        "clear": "cleared by", "edit": "left out by the edit of", "restore": "replaced by the restore of",
        "compact": "replaced by the summary of", "trim": "trimmed by", "interrupted": "interrupted at",
    }.get(out.kind, f"taken out by {out.kind}")  # fmt: skip
    entry = state.ledger.entries[out.source - 1]
    when = f" ({entry.body['ts']})" if isinstance(entry.body.get("ts"), str) else ""
    back = f"ctxkit undo LOG {out.source}" if entry.id else ""  # what has no id cannot be named by an undo
    return Reason(out.kind, out.source, f"{verb} op {out.source}{when}", back)
