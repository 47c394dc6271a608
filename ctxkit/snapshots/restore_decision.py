"""restore: a snapshot comes back: what of it is not visible now, all of it after a boundary, or its summary alone.

Pure. In the log that it was taken of, messages come back by their numbers; what was shown shortened or told otherwise,
and all in another log, as copies that say what they were made from (replay 47, 48).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ctxkit.core.decision import Decision
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ops import Edit, Item, LogPosition, Restore
from ctxkit.core.snapshot import Snapshot
from ctxkit.core.state import State
from ctxkit.core.text.json_text import canonical
from ctxkit.core.times import iso, seconds


class RestoreRequest(msgspec.Struct, frozen=True):
    """What is asked for, and what is known of it. `own`: the snapshot is of this log; `steps`: for each message the
    step that it is part of, where not all come back; `as_it_is`: for each whether its number still says the same;
    `visible`: what is seen now.
    """

    kept: Snapshot
    own: bool
    steps: Sequence[int]
    as_it_is: bytes
    visible: Sequence[Name]
    replace: bool = False
    summary: bool = False


def restore(state: State, at: LogPosition, wish: RestoreRequest) -> Decision:
    """The op that brings it back. None where all of it is visible already; with `replace` always one."""
    head = wish.kept.head
    called = f"{head.kind} {head.short}" + (f" ({head.description})" if head.description else "")
    known = {"id": head.session_id, "at": msgspec.to_builtins(head.at)}
    mode = "replace" if wish.replace else "append"
    if wish.summary:
        item = told(wish.kept)
        if not wish.replace and _told(item) in map(_told, _brought(state, wish.visible)):
            return Decision(None, f"The summary of {called} is visible already: nothing appended.")
        op = Restore(at=at, items=[item], mode=mode, snapshot=known)
        return Decision(op, f"Summary of {called} brought in.")
    places = range(len(wish.kept.messages)) if wish.replace else _missing(state, wish)
    items = [_item(wish, place) for place in places]
    count = f"{len(items)} message{'s' * (len(items) != 1)}"
    if wish.replace:
        op = Restore(at=at, items=items, mode=mode, snapshot=known)
        said = f"The context is {called} again: {count}."
        return Decision(op, said, list(_notes(state, wish, items)), settled=True)  # it would bring back what left since
    if not items:
        return Decision(None, f"All of {called} is visible already: nothing appended.")
    left = sorted(set(range(len(wish.kept.messages))) - set(places))
    op = Restore(at=at, items=items, mode=mode, snapshot=known, skipped=str(_skipped(wish, left)))
    notes = list(_notes(state, wish, items))
    if left:
        notes.append(f"visible already, left where they are: {len(left)} of {len(wish.kept.messages)}")
    return Decision(op, f"Restored {count} of {called}.", notes)


def told(kept: Snapshot) -> Item:
    """The summary alone, as a user message that says where it is from."""
    head = kept.head
    name = f' "{head.description}"' if head.description else ""
    of = f" of {head.log}" if head.log else ""
    moment = seconds(head.timestamp)
    when = head.timestamp if moment is None else iso(moment)  # a model reads it: the same bytes in every zone
    origin = f"[Summary of {head.kind} {head.short}{name}{of}, {when}, {head.message_count} messages]"
    quoted = "\n".join(f"> {line}" for line in (head.summary or "(no summary)").splitlines())
    message = {"role": "user", "content": f"{origin}\n\n{quoted}"}
    return Item(message=message, origin={"snapshot": head.session_id})


def _missing(state: State, wish: RestoreRequest) -> list[int]:
    """The places of what is not visible now, steps whole."""
    numbers = {name for name in wish.visible if isinstance(name, int)}
    items = list(_brought(state, wish.visible))
    copied = {_name(item.origin) for item in items if isinstance(item.origin, int | str)}
    seen = {*wish.visible, *copied}
    brought = set() if wish.own else {_told(item) for item in items if isinstance(item.origin, dict)}
    steps = set()
    for place, held in enumerate(wish.kept.held):
        if not wish.own:
            there = _told(_item(wish, place)) in brought
        elif wish.as_it_is[place]:
            there = held.n in numbers
        else:
            there = _name(held.n or held.origin) in seen
        if not there:
            steps.add(wish.steps[place])
    return [place for place in range(len(wish.kept.held)) if wish.steps[place] in steps]


def _item(wish: RestoreRequest, place: int) -> Item:
    """One message as the op has it."""
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
    """What is visible of the messages that edits and restores brought, as they wrote it."""
    for name in visible:
        entry = state.ledger.by_id.get(name.op) if isinstance(name, ItemName) else None
        if entry is not None and isinstance(entry.op, Edit | Restore) and isinstance(name, ItemName):
            yield entry.op.items[name.k - 1]


def _told(item: Item) -> tuple[bytes, bytes]:
    """What it was made from, and what it says."""
    return canonical(item.origin), canonical(item.message)


def _name(text: int | str | None) -> Name | None:
    return Names.parse(str(text)).single


def _skipped(wish: RestoreRequest, places: Sequence[int]) -> Names:
    """The names in this log of what was left."""
    if not wish.own:
        return Names()
    names = [_name(wish.kept.held[place].n or wish.kept.held[place].origin) for place in places]
    return Names.of(name for name in names if name is not None)


def _notes(state: State, wish: RestoreRequest, items: Sequence[Item]) -> Iterator[str]:
    copies = sum(item.n is None for item in items)
    if copies and wish.own:
        yield f"as copies, as they were shortened, told or written otherwise: {copies}"
    if wish.replace:
        return
    numbers = Names.of(item.n for item in items if item.n is not None)
    for name in wish.visible:
        summary = state.board.telling.get(name) if isinstance(name, ItemName) else None
        if summary is not None and (both := summary.tells & numbers):
            yield f"{state.brief(both)} stands beside the summary {state.label(summary.name)}, which contains it too"
