"""Replay: applies the ops of a log, in file order, to a state. docs/replay.md has its rules.

Second of two passes (`ledger` is the first: which ops are in force). No clock, network, tokenizer, config or regex.
What a later rewind undoes is found first (`undone`) and never applied. The rest is applied to a `Board`; the result is
a `State`, from which `context` makes the context. `History` gives the state
after each op.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from math import isqrt
from types import UnionType
from typing import assert_never

from ctxkit.core.board import HIDING, ContextItem, Exclusion, Key, is_of
from ctxkit.core.boundaries import FOREIGN, lost
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, joined
from ctxkit.core.ledger import Ledger, LedgerEntry, When, completed, void_ops
from ctxkit.core.op_fit import check, dangling, faults
from ctxkit.core.ops import (
    BY_NAME,
    PLACE_VERSION,
    Clear,
    Compact,
    Edit,
    Forget,
    Index,
    Interrupted,
    Mark,
    Op,
    Protect,
    Recall,
    Restore,
    Resummarized,
    Rewind,
    Trim,
    Undo,
    Unprotect,
    Window,
    behind,
)
from ctxkit.core.ops import Item as WireItem
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import Boundary, DroppedItem, LiveMark, OpEnd, State, recorded
from ctxkit.core.times import written
from ctxkit.core.transcript import ProgramCut, Transcript

Event = tuple[When, int, LedgerEntry | ProgramCut]
"""When, source, and what: an op, or a cut that the program made."""


def fold(
    transcript: Transcript, ledger: Ledger, identity: Callable[[int], str] | None = None, *, force: bool = False
) -> State:
    """The state after all ops of `ledger` over `transcript`.

    `identity(n)` gives the identity to compare with `at.last`; None: no comparison. `force` also applies ops that do
    not fit. Raises Misfit or DamagedOp for an op in force that does not fit or cannot be read (replay 23).
    """
    state = State(transcript, ledger, len(transcript.messages))
    cuts = transcript.view.all_cuts if transcript.view else []
    if transcript.view:
        state.use(transcript.view)
    events: list[Event] = []
    earlier: dict[str, LedgerEntry] = {}
    for entry in ledger.entries:
        missing = dangling(entry, earlier)
        if entry.id:
            earlier[entry.id] = entry
        if entry.void:
            continue
        if not force:
            check(entry, missing, transcript, identity)
        elif identity is not None and (fault := faults(entry, transcript, identity)):
            then = "applied all the same" if entry.op is not None else "ignored"
            state.warnings.append(f"op {entry.number} ({entry.name}) {fault[1]}: {then}")
        if missing:
            state.warnings.append(f"op {entry.number} ({entry.name}) {missing}: ignored")
        elif entry.op is not None:
            events.append((entry.when, entry.number, entry))
        elif not entry.fault:
            version = f" of version {entry.body.get('v')}" if entry.name in BY_NAME else ""
            text = f"op {entry.number} is a {entry.name!r}{version}, which this ctxkit does not know"
            state.warnings.append(f"{text}: ignored")
    after_ops = len(ledger.entries) + 1  # of what stands at the same row, a cut and a message come after the ops
    events += [((cut.row, after_ops), FOREIGN - index, cut) for index, cut in enumerate(cuts)]
    events.sort(key=lambda event: event[0])
    play_all(Fold(state), events, after_ops)
    return state


ALONE = Rewind | Interrupted | Window
"""Ops that look at earlier ones in another way than by what these left on the board."""


def fold_on(
    state: State, transcript: Transcript, ledger: Ledger, identity: Callable[[int], str] | None = None, *,
    force: bool = False,
) -> State | None:  # fmt: skip
    """The state of a log that grew since `state`: only what came is played. None if that is not enough: then `fold`.

    `ledger` is one of `build_on`. The same as `fold` says, at the price of what is new: a rolling context asks for it
    after each message. `force`: as in `fold`, which says what is raised too.
    """
    before = state.ledger.entries
    same = transcript.messages is state.transcript.messages and len(transcript.messages) >= state.count
    known = ledger.entries[: len(before)]
    goes_on = len(known) == len(before) and (not before or known[-1] is before[-1])
    if not same or not goes_on or transcript.view or state.warnings:
        return None
    new = ledger.entries[len(before) :]
    if any(entry.op is None or isinstance(entry.op, ALONE) for entry in new):
        return None
    if len(transcript.messages) != state.count and any(_takes_steps(entry.op) for entry in ledger.entries):
        return None
    for entry in () if force else new:
        check(entry, "", transcript, identity)
    found = state.grown(transcript, ledger)
    play_all(Fold(found), [(entry.when, entry.number, entry) for entry in new], len(ledger.entries) + 1)
    return found


def _takes_steps(op: Op | None) -> bool:
    """Whether what an op took out depends on messages after it, which may join a step of its."""
    return isinstance(op, Clear) and op.agent is not None


def play_all(folder: Fold, events: list[Event], after_ops: int) -> None:
    """Apply all of `events` that no later one undoes."""
    left_out = undone(folder.state, events, after_ops)
    for event in events:
        if event[1] not in left_out:
            folder.play(event)
    for source, by in left_out.items():
        folder.state.ended[source] = OpEnd(f"undone by {by.name} {by.number}", by.number)


def undone(state: State, events: list[Event], after_ops: int) -> dict[int, LedgerEntry]:
    """The sources that a later rewind undoes: compacts, trims, restores, a program's own cuts (docs/replay.md, "rewind
    ×"); each with that rewind.

    The others are noted in `state.representation`. Each is looked at twice, so the time is linear.
    """
    found: dict[int, LedgerEntry] = {}
    for event in events:
        for source in goes_behind(state, event, after_ops):
            if isinstance(event[2], LedgerEntry):
                found[source] = event[2]
    return found


def goes_behind(state: State, event: Event, after_ops: int) -> list[int]:
    """The sources that this event undoes as a rewind; notes in `state.representation` what a later one may undo."""
    when, source, what = event
    op, left, found = None if isinstance(what, ProgramCut) else what.op, state.representation, list[int]()
    if represents(op):
        left.append((when, source))
    elif (since := goes_back_to(state, when, op, after_ops)) is not None:
        while left and left[-1][0] > since:
            found.append(left.pop()[1])
    return found


def represents(op: Op | None) -> bool:
    """Whether an op, or (None) a program's cut, only changes how messages are shown, so that a rewind undoes it."""
    match op:
        case None | Compact() | Trim():
            return True
        case Restore(mode=mode):
            return mode != "replace"
        case (
            Clear() | Mark() | Rewind() | Forget() | Recall() | Protect() | Unprotect() | Window() | Edit() | Undo()
            | Interrupted()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)


def goes_back_to(state: State, when: When, op: Op | None, after_ops: int) -> When | None:
    """The point that an op goes back to; None if it does not go back."""
    match op:
        case Rewind(to=to):
            return state.ledger.by_id[to].when
        case Interrupted(at=at):
            start = state.turn(at.messages)
            return (state.transcript.row_of[start - 1], after_ops) if start else when
        case (
            None | Clear() | Mark() | Forget() | Recall() | Protect() | Unprotect() | Window() | Compact() | Trim()
            | Edit() | Restore() | Undo()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)


class Fold:
    """Applies one op after the other to a state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.board = state.board
        self._windows: dict[str | None, int] = {}
        """Agent, or None for all -> the op that set its window last."""

    def copied(self) -> Fold:
        """Another one with the same state, that goes on by itself."""
        found = Fold(self.state.copied())
        found._windows = self._windows.copy()
        return found

    def play(self, event: Event) -> None:
        """Apply one op in force, or one cut."""
        _, source, what = event
        if isinstance(what, ProgramCut):
            self.cut(source, what)
        elif what.op is not None:
            self.op(what, what.op)

    def op(self, entry: LedgerEntry, op: Op) -> None:
        """Apply one op in force."""
        source, at = entry.number, op.at.messages
        match op:
            case Mark(label=label):
                self.state.marks.append(LiveMark(source, entry.id, label, at))
            case Clear(agent=None):
                self.boundary(source, at, recorded(op.keep, at), spare_preamble=True, kind="clear")
            case Clear():
                self.clear_agent(source, at, op)
            case Rewind():
                self.rewind(entry, op)
            case Interrupted():
                if start := self.state.turn(at):
                    self.take_out(Exclusion(source, "interrupted", Names(Ranges.span(start, at))))
            case Forget():
                self.forget(source, op)
            case Recall():
                self.board.recall(recorded(op.ids, at))
            case Protect() | Unprotect():
                self.board.flag(recorded(op.ids, at), protected=isinstance(op, Protect))
            case Window():
                self.window(source, op)
            case Compact():
                self.compact(entry, op)
            case Trim():
                self.board.take_out(Exclusion(source, "trim", recorded(op.ids, at)))
                self.stubs(op.stubs, at)
                self.leave_out(op.parts, at)
            case Edit(items=items):
                self.boundary(source, at, NOTHING, spare_preamble=False, kind="edit")
                self.enter(entry, op, items)
            case Restore(items=items, mode=mode):
                if mode == "replace":
                    self.boundary(source, at, NOTHING, spare_preamble=False, kind="restore")
                self.enter(entry, op, items)
            case Undo():
                pass
            case _:
                assert_never(op)

    def boundary(self, source: int, at: int, keep: Names, *, spare_preamble: bool, kind: str) -> None:
        """All messages up to `at`, all items and all marks leave; messages appended in between count as later
        (replay 22).
        """
        state = self.state
        exempt = keep
        if spare_preamble:
            exempt = exempt | state.preamble_names()
        # a message that stays is seen: the summary that tells it would take it along
        for item in self.board.tellers(exempt):
            if item.name not in exempt:
                self.drop(item.name, source)
        gone = Names(Ranges.span(1, at), self.board.items) - exempt
        self.take_out(Exclusion(source, kind, gone, boundary=True), kept=keep)
        state.boundaries.append(Boundary(source, kind, gone))
        state.ended.update({mark.number: OpEnd(f"ended by {kind} {source}", source) for mark in state.marks})
        state.marks.clear()

    def window(self, source: int, op: Window) -> None:
        """One window for each agent, and one for all: the newest op for it counts."""
        state = self.state
        if op.agent in self._windows:
            state.ended[self._windows[op.agent]] = OpEnd(f"superseded by {source}", source)
        self._windows[op.agent] = source
        if op.seconds is None:
            state.windows.pop(op.agent, None)
        else:
            state.windows[op.agent] = op.seconds

    def clear_agent(self, source: int, at: int, op: Clear) -> None:
        """The messages with the agent's name leave, with whole steps, except the preamble; marks stay (6, 59)."""
        state, keep = self.state, recorded(op.keep, at)
        named = Ranges.of(m.n for m in state.messages[:at] if m.agent == op.agent)
        items = [name for name, item in self.board.items.items() if item.message.get("agent") == op.agent]
        closed = state.steps.close(Names(named, items))
        gone = Names(closed.numbers & Ranges.span(1, at), closed.items) - keep - state.preamble_names()
        self.take_out(Exclusion(source, "clear", gone, boundary=True), kept=keep)

    def rewind(self, entry: LedgerEntry, op: Rewind) -> None:
        """Back to the mark: what entered after it leaves (replay 7); `undone` has found the rest."""
        state = self.state
        target = state.ledger.by_id[op.to]
        position = target.op.at.messages if target.op is not None else op.at.messages
        late = [
            name
            for name, item in self.board.items.items()
            if item.source > target.number and self._entered_after(item, position)
        ]
        self.take_out(Exclusion(entry.number, "rewind", Names(Ranges.span(position + 1, op.at.messages), late)))
        while state.marks and state.marks[-1].number > target.number:
            state.ended[state.marks.pop().number] = OpEnd(f"ended by rewind {entry.number}", entry.number)

    def _entered_after(self, item: ContextItem, position: int) -> bool:
        """Whether an item entered after `position`: its origin is above it, or it has none. Else it stays where
        that stays (replay 58).
        """
        while not isinstance(item.origin, int):  # of an edit of an edit of …
            origin = None if item.origin is None else self.board.items.get(item.origin)
            if origin is None:
                break
            item = origin
        if isinstance(item.origin, int):
            return item.origin > position
        return not item.tells.meets(Names(Ranges.span(1, position)))

    def forget(self, source: int, op: Forget) -> None:
        """`ids` are taken as recorded; forgetting a summary by name forgets its messages (replay 8, 9)."""
        at = op.at.messages
        self.leave_out(op.parts, at)
        names = recorded(op.ids, at) | recorded(op.planning, at)
        for name in names.items & self.board.telling.keys():
            names = names | self.board.telling[name].tells
        words = {_summary_name(retold.op): retold for retold in op.summaries if retold.text is not None}
        kept = Names(items=(_summary_name(retold.op) for retold in op.summaries if retold.keep))
        self.take_out(Exclusion(source, op.name, names), kept=kept, words=words)

    def take_out(
        self, out: Exclusion, *, kept: Names = NOTHING, words: dict[ItemName, Resummarized] | None = None
    ) -> None:
        """Apply `out`. A summary of a message that leaves gets the new text in `words`, or is dropped (9).

        It is also dropped if the new text covers more: it was made while an earlier forget was undone that is now in
        force.
        """
        self.board.take_out(out)
        for item in self.board.tellers(out.names):
            name = item.name
            if name in kept or name in out.names:
                continue
            retold = words.get(name) if words else None
            if retold is None or retold.text is None:
                self.drop(name, out.source)
            elif more := Names.parse(retold.tells) - (item.tells - out.names):
                state, told = self.state, f"it told {self.state.say(more)}, which is forgotten again"
                state.warnings.append(f"the summary {state.label(name)} is dropped, {told}")
                self.drop(name, out.source)
            else:
                self.board.retell(name, retold.text, out.names, retold.short)

    def drop(self, name: ItemName, by: int) -> None:
        """An item leaves because of source `by`. If it is a summary, its compact is no longer in force."""
        item = self.board.items[name]
        if item.summary:
            words = str(by) if by > 0 else "the log's own program"
            self.state.ended[item.source] = OpEnd(f"superseded by {words}", max(by, 0))
        self.state.dropped[name] = DroppedItem(item, by)
        self.board.drop(name)

    def compact(self, entry: LedgerEntry, op: Compact) -> None:
        """Replaces `ids` by a summary at the place of the first one (replay 12, 13)."""
        state, board, source, ids = self.state, self.board, entry.number, Names.parse(op.ids)
        before = recorded(op.tells, op.at.messages)
        if missing := state.missing(ids) | lost(state, before):
            state.warnings.append(f"compact {source} has no effect: {state.say(missing)} left the context meanwhile")
            away = (out.source for out in board.holding(missing) if out.kind not in HIDING)
            state.ended[source] = OpEnd("no effect", max(0, *away, 0))
            return
        for name in board.superseded(ids):
            self.drop(name, source)
        self.stubs(op.stubs, op.at.messages)
        if not ids:
            return
        *lead, offset = state.first_key(ids)
        board.take_out(Exclusion(source, "compact", ids))
        if op.text is not None:
            tells = ids | before
            for name in ids.items & board.telling.keys():
                tells = tells | board.telling[name].tells
            message = {"role": "user", "content": op.text}
            board.bring(ContextItem(ItemName(entry.id, 1), source, "user", message, tells=tells, summary=True))
            board.enter([ItemName(entry.id, 1)], [(*lead, offset - 1)], None)

    def leave_out(self, parts: dict[str, list[Index]], at: int) -> None:
        """Remove parts of messages that stay."""
        for text, places in parts.items():
            for name in recorded(text, at):
                self.board.leave_out(name, places)

    def tells(self, name: str, stub: object) -> bool:
        """Whether a stub of a summary shows only what that tells: it may have been told again without a message."""
        one = Names.parse(name).single
        item = self.board.items.get(one) if isinstance(one, ItemName) else None
        return item is None or not item.summary or is_of(stub, str(item.message.get("content")))

    def stubs(self, stubs: dict[str, object], at: int) -> None:
        for text, content in stubs.items():
            if self.tells(text, content):
                self.board.shorten(recorded(text, at), content)

    def enter(self, entry: LedgerEntry, op: Op, items: Iterable[WireItem]) -> None:
        """The items of an edit or restore are added in order, at the end; those of a restore that have a place return
        to it. Their time is the op's.
        """
        board, at = self.board, op.at.messages
        names: list[Name] = []
        after: dict[Name, int | str | None] = {}
        flags: dict[bool, list[Name]] = {True: [], False: []}
        brought: list[ContextItem] = []
        for k, wire in enumerate(items, start=1):
            if wire.n is None:
                brought.append(self._literal(entry, ItemName(entry.id, k), wire, at))
                names.append(brought[-1].name)
            elif 0 < wire.n <= at:
                names.append(wire.n)
            else:
                self.state.warnings.append(f"{op.name} {entry.number}: there is no message {wire.n} to bring back")
                continue
            after[names[-1]] = wire.after
            origin = brought[-1].origin if wire.n is None else None
            if wire.protected or (origin is not None and origin in board.protected):
                flags[True].append(names[-1])
            elif origin is not None and origin in board.unprotected:
                flags[False].append(names[-1])
        for item in brought:
            board.bring(item)
        for protected, flagged in flags.items():
            if flagged:
                board.flag(Names.of(flagged), protected=protected)
        place = {name: k for k, name in enumerate(names)}  # a number shows once, at its last place (18)
        keys: dict[Name, Key] = {}
        bases: dict[Name, Key] = {}
        beside = isinstance(op, Restore) and op.mode != "replace"
        for name, k in place.items():
            keys[name] = at, entry.number, k, 0
            if isinstance(op, Restore) and beside:
                put = self._behind(entry, after[name], bases, at) if op.mode == "place" else None
                own = put or self._own_key(name, op)
                made = put is not None or (op.v >= PLACE_VERSION and isinstance(name, ItemName))
                bases[name] = keys[name] if own is None else own
                keys[name] = (*own, -entry.number, 2 * k) if made and own is not None else bases[name]
        board.enter(list(keys), list(keys.values()), written(op.ts), entry.number if beside else None)

    def _behind(self, entry: LedgerEntry, after: int | str | None, bases: dict[Name, Key], at: int) -> Key | None:
        """The position of what an item stands right behind; None if it names nothing that is there. `bases`: what the
        items before it in the op stand behind, so that a long row of them has short keys.
        """
        name = None if after is None else behind(after, entry.id)
        if name is None or not (name in self.board.items if isinstance(name, ItemName) else 0 <= name <= at):
            return None
        return bases.get(name) or ((0,) if name == 0 else self.state.key(name))

    def _own_key(self, name: Name, op: Restore) -> Key | None:
        """The position to which a message of the log, or what was made of some, returns; None for the end (18, 68).

        In ops of `v` 1 only a message of the system preamble returns, and behind a summary that tells it (69).
        """
        state = self.state
        if op.v < PLACE_VERSION:
            own = isinstance(name, int) and state.is_preamble(name)
            return state.rank.get(name, (name, 0, 0, 0)) if own and isinstance(name, int) else None
        return state.home(name) if op.mode == "place" or state.is_preamble(name) else None

    def _literal(self, entry: LedgerEntry, name: ItemName, wire: WireItem, at: int) -> ContextItem:
        """A literal inherits the flags of its `from`, and still stands for the messages of a summary (replay 29,
        30).
        """
        state, message = self.state, wire.message or {}
        role = message.get("role")
        item = ContextItem(name, entry.number, role if isinstance(role, str) else "user", message, ts=wire.ts)
        origin = Names.parse(str(wire.origin)).single if isinstance(wire.origin, int | str) else None
        item.tells = state.told(origin, entry.number)
        if origin in self.board.items or (isinstance(origin, int) and 0 < origin <= at):
            item.origin = origin
            item.preamble, item.first = state.is_preamble(origin), state.is_first(origin)
        return item

    def cut(self, source: int, cut: ProgramCut) -> None:
        """The program's own compaction or rollback, at its row (replay 26).

        Items that ops put after a message leave with it; a summary leaves when all its messages do.
        """
        state, items, numbers = self.state, self.board.items, Ranges.of(cut.out)
        literals = [name for name, item in items.items() if not item.summary and state.key(name)[0] in numbers]
        gone = Names(numbers, literals)
        summaries = [name for name, item in items.items() if item.summary and not item.tells - gone]
        self.take_out(Exclusion(source, "program", gone | Names(items=summaries)))
        if cut.moved:
            key = state.key(cut.after)
            lead = key[:3] if len(key) == 4 else (*key, 0)
            steps = range(2, 2 * len(cut.moved) + 1, 2)  # even: a summary stands right before what it replaces
            self.board.place(cut.moved, [(*lead, step) for step in steps])


KEPT = 64
"""Copies of the state that a `History` keeps at most: each is as large as all that ops did before it."""


class History:
    """The states of a log after each of its ops, one after the other.

    An op is played onto the state that is there. Where it voids earlier ones, or goes back behind them, what is in
    force now is folded anew: from a copy of the state before these, or from the start. Of what a replay finds besides,
    `ended`, `warnings` and `representation` are not kept right.
    """

    def __init__(
        self, transcript: Transcript, ledger: Ledger, ignored: Collection[int] = (), *, after: int | None = None
    ) -> None:
        """`ignored`: numbers of ops that never count, as they do not fit. `after`: so many ops, and all cuts of the
        program's own, were played already; None: nothing was, and the cuts come in their turn.
        """
        self._base = State(transcript, ledger, len(transcript.messages))
        if transcript.view is not None:
            self._base.use(transcript.view)
        self._after_ops = len(ledger.entries) + 1
        ops: list[Event] = [
            (e.when, e.number, e) for e in ledger.entries if e.op is not None and e.number not in ignored
        ]
        cuts = transcript.view.all_cuts if transcript.view is not None else []
        first: list[Event] = [((cut.row, self._after_ops), FOREIGN - k, cut) for k, cut in enumerate(cuts)]
        first += [event for event in ops if after is None or event[1] <= after]
        first.sort(key=lambda event: event[0])
        self.events = first + [event for event in ops if after is not None and event[1] > after]
        """All ops that count, and the cuts, in the order in which they are played."""
        self._place = {source: place for place, (_, source, _) in enumerate(self.events)}
        self._turns = any(_is_a(what, Rewind | Interrupted) for _, _, what in self.events)
        self._voiding = [
            (place, what)
            for place, (_, _, what) in enumerate(self.events)
            if isinstance(what, LedgerEntry) and (_is_a(what, Undo) or completed(what, ledger.by_id) is not None)
        ]
        """The undos, and the clean-ups that are undone with another op."""
        self._noted, self._out = self._base.afresh(), set[int]()
        """What a rewind may undo; the sources that have no effect, as others void them or go back behind them."""
        self._copied = self._to_copy()
        self._kept: list[tuple[int, Fold]] = [(0, Fold(self._base.afresh()))]
        """Copies, each from before the event at its place; ascending. The first one is from before all."""
        self._fold = self._kept[0][1].copied()
        self._played: list[int] = []
        """Places of the events that the state has, ascending."""
        self._changes: dict[int, Names] = {}
        """What each of these changed."""
        self._reached = 0 if after is None else len(first)
        self._out = self._left_out()
        self._fold_anew(range(self._reached))

    @property
    def state(self) -> State:
        """The state after the newest op that was played."""
        return self._fold.state

    def play(self, what: LedgerEntry | ProgramCut) -> Names:
        """Take the next op or cut. The names that may be shown otherwise now; none for an op that never counts."""
        place = self._reached
        if place == len(self.events) or self.events[place][2] is not what:
            return NOTHING
        self._reached += 1
        changed: Collection[int] = ()
        if _is_a(what, Undo):
            before, self._out = self._out, self._left_out()
            changed = before ^ self._out
        elif self._turns:
            changed = goes_behind(self._noted, self.events[place], self._after_ops)
            self._out.update(changed)
        return self._fold_anew([*sorted(self._place[one] for one in changed if one in self._place), place])

    def _left_out(self) -> set[int]:
        """The sources so far that have no effect."""
        found = set(void_ops([one for place, one in self._voiding if place < self._reached], self._base.ledger.by_id))
        if self._turns:
            self._noted = self._base.afresh()
            so_far = [one for one in self.events[: self._reached] if one[1] not in found]
            found |= undone(self._noted, so_far, self._after_ops).keys()
        return found

    def _fold_anew(self, places: Sequence[int]) -> Names:
        """Play the events at `places`, ascending, where they count, and again what was played behind the first of them.
        What that changed, or had changed before.
        """
        first = places[0] if places else 0
        again = self._played[bisect_left(self._played, first) :]
        before = [self._changes.pop(place) for place in again]
        if again:
            while self._kept[-1][0] > first:
                self._kept.pop()
            start, fold = self._kept[-1]
            self._fold = fold.copied()
            again = self._played[bisect_left(self._played, start) :]
            del self._played[len(self._played) - len(again) :]
        for place in sorted({*again, *places}):
            _, source, what = self.events[place]
            if source not in self._out and not _is_a(what, Undo):
                self._keep(place)
                self._fold.board.changed = []
                self._fold.play(self.events[place])
                self._played.append(place)
                self._changes[place] = joined(self._fold.board.changed)
        return joined([*before, *(self._changes[place] for place in self._played[bisect_left(self._played, first) :])])

    def _keep(self, place: int) -> None:
        """Keep a copy of the state, if something that is still to come goes back to it."""
        if self._copied.get(place, -1) >= self._reached and self._kept[-1][0] < place:
            if len(self._kept) >= KEPT:
                del self._kept[1::2]  # so the older ones get sparser: mostly the newest op is undone
            self._kept.append((place, self._fold.copied()))

    def _to_copy(self) -> dict[int, int]:
        """Places of events before which the state is worth a copy -> place of the last one that goes back to there.

        Of n places √n: as many events are played anew at most, as long as all copies are kept.
        """
        wanted: dict[int, int] = {}
        for place, (_, _, what) in enumerate(self.events):
            if isinstance(what, LedgerEntry) and isinstance(what.op, Undo):
                for target in self._base.ledger.undone(what)[-1:]:
                    wanted[self._place.get(target.number, place)] = place
            elif isinstance(what, LedgerEntry) and isinstance(what.op, Rewind):
                wanted[self._place.get(self._base.ledger.by_id[what.op.to].number, place)] = place
        places, step = sorted(wanted), isqrt(len(wanted)) or 1
        return {places[k]: max(map(wanted.__getitem__, places[k : k + step])) for k in range(0, len(places), step)}


def _is_a(what: LedgerEntry | ProgramCut, kind: type[Op] | UnionType) -> bool:
    """Whether it is an op of this kind."""
    return isinstance(what, LedgerEntry) and isinstance(what.op, kind)


def _summary_name(text: str) -> ItemName:
    """`summaries[].op` names a compact (its item 1), or an item of an edit that stands for a summary."""
    op, dot, k = text.rpartition(".")
    return ItemName(op, int(k)) if dot and k.isascii() and k.isdigit() else ItemName(text, 1)
