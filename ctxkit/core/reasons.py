"""Reasons: why a name is in the context or out of it, in words. `explain/remedies.py` gives the commands.

Used by `why` and `show --explain`; reads only a `State`, through the projection of its `Visibilities`.
"""

from __future__ import annotations

from shlex import quote as quoted
from typing import Any

import msgspec

from ctxkit.core.board import ContextItem, Exclusion, LeftOut, shortening
from ctxkit.core.context import belongs, window_seconds
from ctxkit.core.ended_ops import fate
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ops import BY_NAME
from ctxkit.core.sets.membership import Membership
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.times import spoken
from ctxkit.core.transcript import CUT_OFF
from ctxkit.core.visibility import Visibilities


class Reason(msgspec.Struct, frozen=True):
    """One reason. `kind`: the op's name, `program`, `branch`, `sidechain`, `window`...; `op`: its number or None.

    `back`: the command that removes this reason, or "". `brief`: the same as `text` in fewer words, with the op's own.
    """

    kind: str
    op: int | None
    text: str
    back: str
    brief: str


def taken_out(kind: str, op: int) -> str:
    """`forgotten by op 5`."""
    verb = BY_NAME[kind].gone_by if kind in BY_NAME else ""
    return f"{verb or f'taken out by {kind}'} op {op}"


def _reason(kind: str, op: int | None, text: str, back: str = "", brief: str = "") -> Reason:
    return Reason(kind, op, text, back, brief or text.removeprefix("it is "))


class Reasons:
    """Why each name of a state, seen through a projection, is in or out."""

    def __init__(self, visibilities: Visibilities) -> None:
        self.visibilities = visibilities
        self.state = visibilities.state
        board = self.state.board
        self._outs = Membership((out, out.names) for out in board.outs)
        self._told = Membership((item, item.tells) for item in board.telling.values())
        self._lost = Membership(
            (lost, lost.item.tells) for lost in self.state.dropped.values() if not lost.item.summary
        )
        self._present = self.state.present()
        self._away = self.state.away
        self._changed: dict[Name, list[ContextItem]] = {}
        for item in self.state.board.items.values():
            if item.origin is not None:
                self._changed.setdefault(item.origin, []).append(item)

    def of(self, name: Name) -> list[Reason]:
        """All reasons for `name`: first what keeps it out, then what of the projection hides it."""
        state = self.state
        if isinstance(name, ItemName) and name not in state.board.items:
            gone = fate(state, name)
            back = f"ctxkit undo LOG {gone.undo}" if gone.undo else ""
            return [_reason("gone", gone.undo or None, gone.text, back)]
        seen = self.visibilities.projection.thread in state.threads and state.in_thread(
            name, self.visibilities.projection.thread
        )
        outs = list(self._outs.of(name))
        if isinstance(name, int) and name in self._away:
            outs.append(Exclusion(0, state.inactive_reason[name], Names(Ranges.span(name, name))))
        found = [_out(state, name, out) for out in outs if not (seen and out.source == 0 and out.kind == "sidechain")]
        found += [self._hidden(kind, name) for kind in self.visibilities.hidden(name)]
        item = state.board.items.get(name) if isinstance(name, ItemName) else None
        if item is not None and item.summary:
            text = f"it is the summary that op {item.source} put in for {item.tells}"
            found.append(_reason("compact", item.source, text))
        elif item is not None:
            stem = f", from {state.label(item.origin)}" if item.origin is not None else ""
            found.append(_reason("item", item.source, f"op {item.source} brought it in{stem}"))
        for other in self._changed.get(name, ()):
            text = f"changed by {other.source}, now {state.label(other.name)}"
            found.append(_reason("edit", other.source, text, f"ctxkit undo LOG {other.source}"))
        for other in self._told.of(name):
            if other.name != name and other.name in self._present:
                left = next(iter(self._outs.of(other.name)), None)
                end = f", {taken_out(left.kind, left.source)}" if left is not None else ""
                found.append(_reason("compact", other.source, f"summarized in {state.label(other.name)}{end}"))
        for lost in self._lost.of(name) if outs and not self._told.of(name) else ():
            by = f"op {lost.source}" if lost.source > 0 else "the log's own program"
            text = f"summarized in {state.label(lost.item.name)} until {by} removed that summary: it is in no text now"
            found.append(_reason("told", max(lost.source, 0) or None, text))
        return found + self._flags(name)

    def _said(self, name: Name) -> str:
        """What the newest op that shortened `name` says about it: `: stale result`."""
        for entry in reversed(self.state.ledger.entries):
            if not entry.void and str(name) in (entry.body.get("stubs") or ()):
                words = _words(entry.body, name)
                return f": {words}" if words else ""
        return ""

    def _flags(self, name: Name) -> list[Reason]:
        state, found = self.state, []
        stub = state.board.stubs.get(name)
        if isinstance(stub, LeftOut):
            ops = [entry.number for entry in state.ledger.entries if not entry.void and _parts_of(entry.body, name)]
            count = f"{len(stub.parts)} part{'s' * (len(stub.parts) != 1)} of it"
            by = f" by op {', '.join(map(str, ops))}" if ops else ""
            back = f"ctxkit undo LOG {ops[-1]}" if ops else ""
            op = ops[-1] if ops else None
            found.append(_reason("parts", op, f"{count} left out{by}", back, f"{count} left out"))
        if shortening(stub) is not None:
            back = f"ctxkit recall LOG {state.label(name)} --apply"
            text = f"its content is shown shortened{self._said(name)}"
            found.append(_reason("stub", None, text, back, "shortened"))
        if name in state.board.keys and name not in state.board.items:
            by = "an edit or restore" if name in state.board.effective else "the log's own program"
            if (op := state.board.restored.get(name)) is not None:
                found.append(_reason("restored", op, f"op {op} (restore) brought it back", f"ctxkit undo LOG {op}"))
            else:
                found.append(_reason("moved", None, f"{by} put it here", brief=f"put here by {by}"))
        if state.protected(name):
            by = "as part of the system preamble" if state.is_preamble(name) else "by a protect"
            found.append(_reason("protected", None, f"it is protected {by}"))
        elif state.guarded(name):
            text = "it is the first message: compact and trim keep it"
            found.append(_reason("protected", None, text, brief="the first message"))
        return found

    def _hidden(self, kind: str, name: Name) -> Reason:
        state, projection = self.state, self.visibilities.projection
        if kind == "window":
            message = state.messages[name - 1] if isinstance(name, int) else None
            agent = message.agent if message is not None else None
            of = f" of {spoken(seconds)}" if message and (seconds := window_seconds(state, projection, agent)) else ""
            own = f" --agent {quoted(agent)}" if agent is not None and agent in state.windows else ""
            return _reason("window", None, f"older than the window{of}", f"ctxkit window LOG off{own}")
        if kind == "sidechain":
            return _aside(state.aside_in(name) or "")
        if kind == "newest":
            return _reason("newest", None, f"beyond the newest {projection.newest} that are shown (window.messages)")
        other = projection.agent is not None and not belongs(state, name, projection.agent, None)
        what = f"agent than {projection.agent}" if other else f"thread than {projection.thread}"
        return _reason("filter", None, f"of another {what}")


def _aside(thread: str) -> Reason:
    return _reason("sidechain", None, f"in the sidechain {thread}", f"ctxkit show LOG --thread {quoted(thread)}")


def _out(state: State, name: Name, out: Exclusion) -> Reason:
    if out.source < 0:
        view = state.transcript.view
        label = view.all_cuts[-1 - out.source].label if view is not None else ""
        return _reason("program", None, label, f"ctxkit recall LOG {state.label(name)} --apply")
    if out.source == 0 and out.kind == "sidechain" and isinstance(name, int):
        thread = state.messages[name - 1].thread
        if thread in state.threads:
            return _aside(thread or "")
    if out.source == 0 and out.kind == "excluded":
        return _reason(out.kind, None, "excluded: its program does not send it to the model")
    if out.source == 0 and out.kind == CUT_OFF:
        line = state.transcript.view.cut_before if state.transcript.view is not None else 0
        return _reason(out.kind, None, f"cut off: a record before line {line:,} is missing", "")
    if out.source == 0:
        return _reason(out.kind, None, f"{out.kind}: not on the path from the log's last row", "")
    entry = state.ledger.entries[out.source - 1]
    when = f" ({entry.body['ts']})" if isinstance(entry.body.get("ts"), str) else ""
    back = f"ctxkit undo LOG {out.source}" if entry.id else ""  # what has no id cannot be named by an undo
    said = _words(entry.body, name)
    verb = taken_out(out.kind, out.source)
    brief = verb + (f" ({said})" if said else "")
    chosen = f": {said}" if said and isinstance(entry.body.get("reasons"), dict) else ""
    return _reason(out.kind, out.source, f"{verb}{when}{chosen}", back, brief)


def _parts_of(body: dict[str, Any], name: Name) -> bool:
    """Whether an op removes parts of the message."""
    parts = body.get("parts")
    return isinstance(parts, dict) and str(name) in parts


def _words(body: dict[str, Any], name: Name) -> str:
    """What an op says about its choice: the reason that a trim gives for each message, or the criteria as typed."""
    given = body.get("reasons")
    said = given.get(str(name)) if isinstance(given, dict) else body.get("criteria")
    return said if isinstance(said, str) else ""
