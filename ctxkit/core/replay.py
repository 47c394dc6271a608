"""Replay: folding ops, in file order, into a state. DESIGN section 4 and REPLAY.md are its specification.

Second of two passes (`ledger` is the first: which ops are in force). No clock, network, tokenizer, config or regex.
Each op becomes effects on a board (`effects`); what they came to is a `State`; `context` projects it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxkit.core.effects import Bring, Drop, Effect, Enter, Flag, Item, Key, Lift, Out, Place, Retell, Stub
from ctxkit.core.fit import check, dangling
from ctxkit.core.ledger import Ledger, LedgerEntry
from ctxkit.core.names import NOTHING, ItemName, Name, Names
from ctxkit.core.ops import (
    Clear, Compact, Edit, Forget, Interrupted, Mark, Op, Protect, Recall, Restore, Rewind, Trim, Undo, Unprotect, Window,
)  # fmt: skip
from ctxkit.core.ops import Item as WireItem
from ctxkit.core.ranges import Ranges
from ctxkit.core.state import LiveMark, State
from ctxkit.core.times import written
from ctxkit.core.transcript import Cut, Transcript

FOREIGN = -1
"""Sources of a program's own events: FOREIGN - index of the cut. Ops have sources from 1."""


def fold(
    transcript: Transcript, ledger: Ledger, identity: Callable[[int], str] | None = None, *, force: bool = False
) -> State:
    """The state after all ops of `ledger` over `transcript`.

    `identity(n)` gives the identity that `at.last` is compared with; None: not compared. `force` folds misfitting ops
    too. Raises Misfit or DamagedOp for an op in force that does not fit or cannot be read (REPLAY 23).
    """
    state = State(transcript, ledger, len(transcript.messages))
    cuts = transcript.view.cuts if transcript.view else []
    if transcript.view:
        state.use(transcript.view)
    folder = _Fold(state)
    done = 0
    earlier: set[str] = set()
    for entry in ledger.entries:
        missing = dangling(entry, earlier)
        earlier.add(entry.id)
        if entry.void:
            continue
        while done < len(cuts) and cuts[done].row < entry.place:
            folder.cut(done, cuts[done])
            done += 1
        if not force:
            check(entry, missing, transcript, identity)
        if missing:
            state.warnings.append(f"op {entry.number} ({entry.name}) {missing}: ignored")
        elif entry.op is not None:
            folder.op(entry, entry.op)
        elif not entry.fault:
            state.warnings.append(f"op {entry.number} is a {entry.name!r}, which this ctxkit does not know: ignored")
    for index in range(done, len(cuts)):
        folder.cut(index, cuts[index])
    return state


class _Fold:
    """One op after the other onto a state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.order: dict[int, int] = {}
        """source -> ordinal in the fold, so that "made after the mark" can be asked."""
        self.representation: list[int] = []
        """Sources that a rewind to an earlier mark undoes: compacts, trims, restores, a program's own cuts."""

    def play(self, *effects: Effect) -> None:
        for effect in effects:
            self.state.board.play(effect)

    def op(self, entry: LedgerEntry, op: Op) -> None:
        """Fold one op in force."""
        source, at = entry.number, op.at.messages
        self.order[source] = len(self.order)
        match op:
            case Mark(label=label):
                self.state.marks.append(LiveMark(source, entry.id, label, at))
            case Clear(agent=None):
                self.boundary(source, at, Names.parse(op.keep), spare_preamble=True, kind="clear")
            case Clear():
                self.clear_agent(source, at, op)
            case Rewind():
                self.rewind(entry, op)
            case Interrupted():
                self.interrupted(source, at)
            case Forget():
                self.forget(source, op)
            case Recall():
                self.play(Lift(source, Names.parse(op.ids)))
            case Protect() | Unprotect():
                self.play(Flag(source, Names.parse(op.ids), isinstance(op, Protect)))
            case Window():
                self.window(op)
            case Compact():
                self.compact(entry, op)
            case Trim():
                self.representation.append(source)
                self.play(Out(source, "trim", Names.parse(op.ids)))
                self.stubs(source, op.stubs)
            case Edit(items=items):
                self.boundary(source, at, NOTHING, spare_preamble=False, kind="edit")
                self.enter(entry, op, items)
            case Restore(items=items, mode=mode):
                if mode == "replace":
                    self.boundary(source, at, NOTHING, spare_preamble=False, kind="restore")
                else:
                    self.representation.append(source)
                self.enter(entry, op, items)
            case Undo():
                pass

    def boundary(self, source: int, at: int, keep: Names, *, spare_preamble: bool, kind: str) -> None:
        """All messages up to `at`, all items and all marks go; what slipped in is later (REPLAY 22)."""
        state = self.state
        spared = keep
        if spare_preamble:
            spared = spared | Names(Ranges.span(1, state.preamble), filter(state.is_preamble, state.board.items))
        gone = Names(Ranges.span(1, at), state.board.items) - spared
        self.take_out(Out(source, kind, gone, boundary=True), kept=keep)
        state.marks.clear()

    def clear_agent(self, source: int, at: int, op: Clear) -> None:
        """The messages that carry the agent's name go, steps whole; marks stay (settled detail 6)."""
        state = self.state
        named = Ranges.of(m.n for m in state.messages[:at] if m.agent == op.agent)
        items = [name for name, item in state.board.items.items() if item.message.get("agent") == op.agent]
        closed = state.steps.close(Names(named, items))
        gone = Names(closed.numbers & Ranges.span(1, at), closed.items) - Names.parse(op.keep)
        self.take_out(Out(source, "clear", gone, boundary=True), kept=Names.parse(op.keep))

    def rewind(self, entry: LedgerEntry, op: Rewind) -> None:
        """Back to the mark's place: what entered after it goes, compacts and trims made after it are undone."""
        state = self.state
        target = state.ledger.by_id[op.to]
        position = target.op.at.messages if target.op is not None else 0
        since = self.order.get(target.number)
        undone = {s for s in self.representation if self._after(s, target, since)}
        if undone:
            state.board = state.board.without(undone)
            self.representation = [s for s in self.representation if s not in undone]
        late = [name for name, item in state.board.items.items() if item.source > target.number and not item.summary]
        gone = Names(Ranges.span(position + 1, op.at.messages), late)
        self.take_out(Out(entry.number, "rewind", gone))
        state.marks = [mark for mark in state.marks if mark.number <= target.number]

    def _after(self, source: int, target: LedgerEntry, since: int | None) -> bool:
        if since is not None:
            return self.order[source] > since
        cuts = self.state.transcript.view.cuts if self.state.transcript.view else []
        return source > target.number if source > 0 else cuts[FOREIGN - source].row >= target.place

    def interrupted(self, source: int, at: int) -> None:
        """A rewind to just before the last user message; marks stay (settled detail 4)."""
        messages = self.state.messages
        start = next((n for n in range(at, 0, -1) if messages[n - 1].opens), None)
        if start is not None:
            self.take_out(Out(source, "interrupted", Names(Ranges.span(start, at))))

    def forget(self, source: int, op: Forget) -> None:
        """`ids` are taken as recorded; forgetting a summary by name forgets what it tells (settled details 8, 9)."""
        items = self.state.board.items
        names = Names.parse(op.ids) | Names.parse(op.planning)
        for name in names.items & items.keys():
            names = names | items[name].tells
        words: dict[ItemName, str | None] = {}
        for retold in op.summaries:
            name = _summary_name(retold.op)
            words[name] = None if retold.keep else retold.text
        self.take_out(Out(source, op.name, names), words=words)

    def take_out(self, out: Out, *, kept: Names = NOTHING, words: dict[ItemName, str | None] | None = None) -> None:
        """Play `out`; a summary that tells something of it is retold where `words` say how, else dropped (9)."""
        self.play(out)
        for name, item in list(self.state.board.items.items()):
            hit = item.tells & out.names
            if not hit or name in kept or name in out.names:
                continue
            if words is not None and name in words:
                self.play(Retell(out.source, name, words[name], hit))
            else:
                self.play(Drop(out.source, name))

    def window(self, op: Window) -> None:
        if op.seconds is None:
            self.state.windows.pop(op.agent, None)
        else:
            self.state.windows[op.agent] = op.seconds

    def compact(self, entry: LedgerEntry, op: Compact) -> None:
        """Replaces `ids` by a summary at the place of the first one (settled details 12, 13)."""
        state, source, ids = self.state, entry.number, Names.parse(op.ids)
        if missing := ids - state.present():
            labels = ",".join(map(state.label, missing))
            state.warnings.append(f"compact {source} has no effect: {labels} left the context meanwhile")
            return
        self.representation.append(source)
        for out in [out for out in state.board.outs if out.kind == "compact" and out.names & ids]:
            older = [name for name, item in state.board.items.items() if item.summary and item.source == out.source]
            self.play(*(Drop(source, name) for name in older))
        self.stubs(source, op.stubs)
        if not ids:
            return
        place, sub, index, _ = min(map(state.key, ids))
        self.play(Out(source, "compact", ids))
        if op.text is not None:
            name = ItemName(entry.id, 1)
            message = {"role": "user", "content": op.text}
            item = Item(name, source, "user", message, tells=ids, summary=True)
            key: Key = (place, sub, index, -1)
            self.play(Bring(source, item), Enter(source, [name], [key], None))

    def stubs(self, source: int, stubs: dict[str, object]) -> None:
        for text, content in stubs.items():
            self.play(*(Stub(source, name, content) for name in Names.parse(text)))

    def enter(self, entry: LedgerEntry, op: Op, items: Iterable[WireItem]) -> None:
        """The items of an edit or restore, in order, at the end; their time is the op's (DESIGN section 4)."""
        effective = written(op.ts)
        names: list[Name] = []
        for k, wire in enumerate(items, start=1):
            if wire.n is not None:
                if 0 < wire.n <= op.at.messages:
                    names.append(wire.n)
                else:
                    self.state.warnings.append(f"{op.name} {entry.number}: there is no message {wire.n} to bring back")
                continue
            item = self._literal(entry, ItemName(entry.id, k), wire)
            self.play(Bring(entry.number, item))
            names.append(item.name)
            origin = item.origin
            if wire.protected or (origin is not None and origin in self.state.board.protected):
                self.play(Flag(entry.number, Names.of([item.name]), True))
            elif origin is not None and origin in self.state.board.unprotected:
                self.play(Flag(entry.number, Names.of([item.name]), False))
        numbers = [wire.n for wire in items if wire.n is not None and wire.protected]
        if numbers:
            self.play(Flag(entry.number, Names.of(numbers), True))
        place = {name: k for k, name in enumerate(names)}  # a number shows once, at its last place (18)
        keys: list[Key] = [(op.at.messages, entry.number, k, 0) for k in place.values()]
        self.play(Enter(entry.number, list(place), keys, effective))

    def _literal(self, entry: LedgerEntry, name: ItemName, wire: WireItem) -> Item:
        """A literal inherits the flags of its `from`, and goes on telling what a summary told (REPLAY 29, 30)."""
        state, message = self.state, wire.message or {}
        role = message.get("role")
        item = Item(name, entry.number, role if isinstance(role, str) else "user", message, ts=wire.ts)
        if isinstance(wire.origin, int):
            item.origin = wire.origin
        elif isinstance(wire.origin, str):
            found = list(Names.parse(wire.origin))
            item.origin = found[0] if len(found) == 1 else None
        if item.origin is not None:
            item.preamble, item.first = state.is_preamble(item.origin), state.is_first(item.origin)
            told = state.board.items.get(item.origin) if isinstance(item.origin, ItemName) else None
            item.tells = told.tells if told else NOTHING
            if item.ts is None:
                item.ts = state.original(item.origin)
        return item

    def cut(self, index: int, cut: Cut) -> None:
        """The program's own compaction or rollback, at its row (REPLAY 26)."""
        source = FOREIGN - index
        self.order[source] = len(self.order)
        self.representation.append(source)
        self.play(Out(source, "program", Names(Ranges.of(cut.out), self.state.board.items)))
        if cut.moved:
            place, sub, position, _ = self.state.key(cut.after)
            keys: list[Key] = [(place, sub, position, j) for j in range(1, len(cut.moved) + 1)]
            self.play(Place(source, list(cut.moved), keys))


def _summary_name(text: str) -> ItemName:
    """`summaries[].op` names a compact (its item 1), or an item of an edit that goes on telling."""
    op, dot, k = text.rpartition(".")
    return ItemName(op, int(k)) if dot and k.isdigit() else ItemName(text, 1)
