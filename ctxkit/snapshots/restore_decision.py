"""restore: brings back the messages of a snapshot that are not visible now, all of it, or only its summary.

Pure. In the log that the snapshot was taken of, messages come back to where they stood (replay 68), by their numbers;
those that were shortened or changed as copies that name their origin. In another log all are copies, at the end
(replay 47, 48).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ctxkit.core.board import Key
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ops import PLACE_VERSION, VERSION, Compact, Edit, Item, LogPosition, Restore
from ctxkit.core.snapshot import Snapshot
from ctxkit.core.state import State
from ctxkit.core.text.json_text import canonical
from ctxkit.core.times import iso, seconds
from ctxkit.errors import NothingChanges

FORGETS = ("forget", "remember")
"""The ops whose messages come back by no summary (replay: a summary never leaks what was forgotten)."""


class RestoreRequest(msgspec.Struct, frozen=True):
    """The request. `own`: the snapshot is of this log; `steps`: the step of each message, if not all have to come back;
    `as_it_is`: for each message, whether the log's message with its number is the same; `visible`: the names of the
    context now. `append`: to the end, in its own log too. `shorter`: what is shown shorter now than the snapshot of
    this log has it.
    """

    kept: Snapshot
    own: bool
    steps: Sequence[int]
    as_it_is: bytes
    visible: Sequence[Name]
    replace: bool = False
    summary: bool = False
    append: bool = False
    shorter: frozenset[Name] = frozenset()


def restore(state: State, at: LogPosition, wish: RestoreRequest) -> Decision:
    """The op that restores the snapshot. No op if all of it is visible already; with `replace` always one. Raises
    NothingChanges for a summary of what was forgotten.
    """
    head = wish.kept.head
    called = f"{head.kind} {head.short}" + (f" ({head.description})" if head.description else "")
    known = {"id": head.session_id, "at": msgspec.to_builtins(head.at)}
    mode = "replace" if wish.replace else "append"
    if wish.own and not (wish.replace or wish.summary or wish.append):
        mode = "place"
    if wish.summary:
        item = summary_item(wish.kept)
        for number, names in _forgotten(state, wish):
            text = f"the summary of {called} may contain {state.brief(names)}, forgotten by op {number}"
            raise NothingChanges(
                f"{text}: nothing was changed",
                f"ctxkit undo LOG {number}, or without --summary the messages themselves",
            )
        if not wish.replace and _identity(item) in map(_identity, _brought(state, wish.visible)):
            return Decision(None, f"The summary of {called} is visible already: nothing appended.")
        op = Restore(at=at, items=[item], mode=mode, snapshot=known)
        return Decision(op, f"Summary of {called} brought in.")
    places = range(len(wish.kept.messages)) if wish.replace else _missing(state, wish)
    items = [_item(wish, place) for place in places]
    count = f"{len(items)} message{'s' * (len(items) != 1)}"
    if wish.replace:
        op = Restore(at=at, items=items, mode=mode, snapshot=known)
        said = f"The context is {called} again: {count}."
        # settled: decided again, it would bring back messages that left since
        return Decision(op, said, list(_notes(state, wish, items)), settled=True)
    left = sorted(set(range(len(wish.kept.messages))) - set(places))
    short = sum(_name(wish.kept.held[place].n or wish.kept.held[place].origin) in wish.shorter for place in left)
    less = f"{short} shorter than in the {head.kind} (--replace brings the long ones)" if short else ""
    if not items:
        return Decision(None, f"All of {called} is visible already{less and ', '}{less}: nothing appended.")
    if mode == "place":
        items = _placed(state, wish, dict(zip(places, items, strict=True)))
    numbers = Names.of(item.n for item in items if item.n is not None)
    told = state.board.tellers(numbers & state.preamble_names())
    version = PLACE_VERSION if mode == "place" or told else VERSION  # an older ctxkit would read another order
    op = Restore(at=at, v=version, items=items, mode=mode, snapshot=known, skipped=str(_skipped(wish, left)))
    notes = list(_notes(state, wish, items))
    if left:
        notes.append(
            f"visible already, left where they are: {len(left)} of {len(wish.kept.messages)}{less and ', '}{less}"
        )
    return Decision(op, f"Restored {count} of {called}{'' if mode == 'place' else ', at the end'}.", notes)


def _forgotten(state: State, wish: RestoreRequest) -> Iterator[tuple[int, Names]]:
    """What the snapshot's summary was made of in this log and a forget or remember took out since: the op's number, and
    the names. With what summaries in the snapshot told then: they may have been told again without it.
    """
    if not wish.own:
        return
    made_of = Names.of(name for held in wish.kept.held if (name := _name(held.n or held.origin)) is not None)
    for name in made_of.items:
        entry = state.ledger.by_id.get(name.op)
        if entry is not None and isinstance(entry.op, Compact):
            made_of |= Names.parse(entry.op.ids) | Names.parse(entry.op.tells)
    then = seconds(wish.kept.head.timestamp) or 0
    for out in state.board.outs:
        names = out.names & made_of
        if (
            names
            and out.kind in FORGETS
            and (seconds(state.ledger.entries[out.source - 1].body.get("ts")) or then) >= then
        ):
            yield out.source, names


def summary_item(kept: Snapshot) -> Item:
    """The summary of a snapshot as a user message, which names the snapshot."""
    head = kept.head
    name = f' "{head.description}"' if head.description else ""
    of = f" of {head.log}" if head.log else ""
    moment = seconds(head.timestamp)
    when = head.timestamp if moment is None else iso(moment)  # for a model, so not in the user's zone
    origin = f"[Summary of {head.kind} {head.short}{name}{of}, {when}, {head.message_count} messages]"
    quoted = "\n".join(f"> {line}" for line in (head.summary or "(no summary)").splitlines())
    message = {"role": "user", "content": f"{origin}\n\n{quoted}"}
    return Item(message=message, origin={"snapshot": head.session_id})


def _missing(state: State, wish: RestoreRequest) -> list[int]:
    """The places of the messages that are not visible now, with whole steps."""
    numbers = {name for name in wish.visible if isinstance(name, int)}
    items = list(_brought(state, wish.visible))
    copied = {_name(item.origin) for item in items if isinstance(item.origin, int | str)}
    seen = {*wish.visible, *copied}
    brought = set() if wish.own else {_identity(item) for item in items if isinstance(item.origin, dict)}
    steps = set()
    for place, held in enumerate(wish.kept.held):
        if not wish.own:
            there = _identity(_item(wish, place)) in brought
        elif wish.as_it_is[place]:
            there = held.n in numbers
        else:
            there = _name(held.n or held.origin) in seen
        if not there:
            steps.add(wish.steps[place])
    return [place for place in range(len(wish.kept.held)) if wish.steps[place] in steps]


def _placed(state: State, wish: RestoreRequest, items: dict[int, Item]) -> list[Item]:
    """`items`, by their places in the snapshot, each so that it stands behind what stands before it there, and behind
    what is visible of earlier messages: at its own place, else right `after` that.
    """
    names = [_name(held.n or held.origin) for held in wish.kept.held]
    comes = {item.n for item in items.values()}
    stays = [name for name in wish.visible if name not in comes]
    homes = [state.home(name) for name in stays]
    there, index = _standing(state, stays), {name: at for at, name in enumerate(stays)}
    ahead: list[Key | None] = []
    first: Key | None = None
    for place in reversed(range(len(names))):
        ahead.append(first)
        if place not in items and (name := there.get(names[place])) is not None:
            first = state.key(name)
    ahead.reverse()
    found: list[Item] = []
    after, at = "0", -1
    last: Key = (0,)
    base = last
    for place, name in enumerate(names):
        same, item = there.get(name), items.get(place)
        if item is not None and name is not None:
            home, limit, mine = state.home(name), ahead[place], (-len(state.ledger.entries) - 1, 2 * len(found) + 2)
            for more in range(at + 1, len(stays)):  # what is visible of earlier messages, whether the snapshot has it
                own, key = homes[more], state.key(stays[more])
                earlier = state.is_preamble(stays[more]) if home is None else own is None or own < home
                if not earlier or (limit is not None and key >= limit):
                    break
                if own is not None and key > last:
                    after, last, base, at = str(stays[more]), key, key, more
            fits = home if home is None or item.n is not None else (*home, *mine)
            if fits is None or fits <= last or (limit is not None and fits >= limit):
                if same is not None:
                    after, base = str(same), state.key(same)
                item = msgspec.structs.replace(item, after=int(after) if after.isdecimal() else after)
                fits = *base, *mine
            found.append(item)
            after, last = str(item.n) if item.n is not None else f".{len(found)}", fits
            base = fits[:-2] if fits[-2:] == mine else fits
        if same is not None and (item is None or state.key(same) > last):
            after, last, at = str(same), state.key(same), index[same]
            base = last
    return found


def _standing(state: State, names: Sequence[Name]) -> dict[Name | None, Name]:
    """For each of `names`, and for what it was made from, the one that stands for it."""
    found: dict[Name | None, Name] = {}
    for name in names:
        stem: Name | None = name
        while isinstance(stem, ItemName) and stem in state.board.items:
            stem = state.board.items[stem].origin
            found.setdefault(stem, name)
        for item in _brought(state, [name]):
            if isinstance(item.origin, int | str):
                found.setdefault(_name(item.origin), name)
    return {**found, **{name: name for name in names}}


def _item(wish: RestoreRequest, place: int) -> Item:
    """One message as an item of the op."""
    held, record = wish.kept.held[place], wish.kept.messages[place]
    if wish.own and wish.as_it_is[place]:
        return Item(n=held.n)
    name = held.n if held.n is not None else held.origin
    if wish.own:
        return Item(message=record, origin=name, ts=held.ts)
    return Item(
        message=record, origin={"log": wish.kept.head.log or "-", "n": name}, ts=held.ts, protected=held.protected
    )  # fmt: skip


def _brought(state: State, visible: Sequence[Name]) -> Iterator[Item]:
    """The visible items of edits and restores, as these wrote them."""
    for name in visible:
        entry = state.ledger.by_id.get(name.op) if isinstance(name, ItemName) else None
        if entry is not None and isinstance(entry.op, Edit | Restore) and isinstance(name, ItemName):
            yield entry.op.items[name.k - 1]


def _identity(item: Item) -> tuple[bytes, bytes]:
    """The origin and the message of an item, for comparing."""
    return canonical(item.origin), canonical(item.message)


def _name(text: int | str | None) -> Name | None:
    return Names.parse(str(text)).single


def _skipped(wish: RestoreRequest, places: Sequence[int]) -> Names:
    """The names in this log of the messages that are not brought back."""
    if not wish.own:
        return Names()
    names = [_name(wish.kept.held[place].n or wish.kept.held[place].origin) for place in places]
    return Names.of(name for name in names if name is not None)


def _notes(state: State, wish: RestoreRequest, items: Sequence[Item]) -> Iterator[str]:
    copies = sum(item.n is None for item in items)
    if copies and wish.own:
        where = ", at the end" if wish.append else ""
        yield f"brought back as copies{where}, because they were shortened, summarized or written differently: {copies}"
    if wish.replace:
        return
    numbers = Names.of(item.n for item in items if item.n is not None)
    for name in wish.visible:
        summary = state.board.telling.get(name) if isinstance(name, ItemName) else None
        if summary is not None and (both := summary.tells & numbers):
            yield f"{state.brief(both)} stands beside the summary {state.label(summary.name)}, which contains it too"
