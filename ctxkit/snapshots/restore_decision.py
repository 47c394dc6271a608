"""restore: brings back the messages of a snapshot that are not visible now, all of it, or only its summary.

Pure. In the log that the snapshot was taken of, messages come back by their numbers, at their places (replay 68).
Messages that were shortened or changed, and all messages in another log, come back as copies that name their origin, at
the end (replay 47, 48).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ctxkit.core.decision import Decision
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ops import PLACE_VERSION, VERSION, Edit, Item, LogPosition, Restore
from ctxkit.core.snapshot import Snapshot
from ctxkit.core.state import State
from ctxkit.core.text.json_text import canonical
from ctxkit.core.times import iso, seconds


class RestoreRequest(msgspec.Struct, frozen=True):
    """The request. `own`: the snapshot is of this log; `steps`: the step of each message, if not all have to come back;
    `as_it_is`: for each message, whether the log's message with its number is the same; `visible`: the names of the
    context now. `append`: to the end, in its own log too.
    """

    kept: Snapshot
    own: bool
    steps: Sequence[int]
    as_it_is: bytes
    visible: Sequence[Name]
    replace: bool = False
    summary: bool = False
    append: bool = False


def restore(state: State, at: LogPosition, wish: RestoreRequest) -> Decision:
    """The op that restores the snapshot. No op if all of it is visible already; with `replace` always one."""
    head = wish.kept.head
    called = f"{head.kind} {head.short}" + (f" ({head.description})" if head.description else "")
    known = {"id": head.session_id, "at": msgspec.to_builtins(head.at)}
    mode = "replace" if wish.replace else "append"
    if wish.own and not (wish.replace or wish.summary or wish.append):
        mode, wish = "place", msgspec.structs.replace(wish, as_it_is=_whole_steps(wish))
    if wish.summary:
        item = summary_item(wish.kept)
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
    if not items:
        return Decision(None, f"All of {called} is visible already: nothing appended.")
    left = sorted(set(range(len(wish.kept.messages))) - set(places))
    numbers = Names.of(item.n for item in items if item.n is not None)
    told = state.board.tellers(numbers & state.preamble_names())
    version = PLACE_VERSION if mode == "place" or told else VERSION  # an older ctxkit would read another order
    op = Restore(at=at, v=version, items=items, mode=mode, snapshot=known, skipped=str(_skipped(wish, left)))
    notes = list(_notes(state, wish, items))
    if left:
        notes.append(f"visible already, left where they are: {len(left)} of {len(wish.kept.messages)}")
    return Decision(op, f"Restored {count} of {called}{'' if mode == 'place' else ', at the end'}.", notes)


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


def _whole_steps(wish: RestoreRequest) -> bytes:
    """`as_it_is`, where a step of which one message comes as a copy comes as copies: these go to the end, and a result
    before its call is sent to no model.
    """
    copied = {step for step, same in zip(wish.steps, wish.as_it_is, strict=True) if not same}
    return bytes(step not in copied for step in wish.steps)


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
        where = "" if wish.replace else ", at the end"
        yield f"brought back as copies{where}, because they were shortened, summarized or written differently: {copies}"
    if wish.replace:
        return
    numbers = Names.of(item.n for item in items if item.n is not None)
    for name in wish.visible:
        summary = state.board.telling.get(name) if isinstance(name, ItemName) else None
        if summary is not None and (both := summary.tells & numbers):
            yield f"{state.brief(both)} stands beside the summary {state.label(summary.name)}, which contains it too"
