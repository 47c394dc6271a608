"""forget and remember: messages leave the context; the bytes stay in the log. Pure.

Everything is decided here, before the append (replay 8): steps completed, protected ones skipped, summaries rewritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ctxkit.core.board import ContextItem
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names
from ctxkit.core.ops import (
    PARTS_VERSION,
    SHORT_VERSION,
    VERSION,
    Compact,
    Forget,
    Index,
    LogPosition,
    Remember,
    Resummarized,
)
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import PREAMBLE_ROLES, State
from ctxkit.errors import NothingChanges

Again = Callable[[Compact, Names, Names], Resummarized | None]
"""Writes the summary of a compact again from the original messages: gets the op, the names that it still covers, and
those that leave; returns its texts, or None if that is not possible.
"""


def no_words(op: Compact, covered: Names, leave: Names) -> Resummarized | None:
    """An `Again` that never writes a summary, for logs whose messages cannot be read."""
    return None


class ForgetRequest(msgspec.Struct, frozen=True):
    """The request: `chosen` names, the `planning` conversation about it, and the criteria as typed.

    `exempt`: messages that stay, even if they were chosen; `answer`: if a model chose, digests of the request and its
    answer.
    """

    chosen: Names
    planning: Names = NOTHING
    criteria: str | None = None
    include_protected: bool = False
    keep_summary: bool = False
    exempt: Names = NOTHING
    answer: dict[str, Any] | None = None


class MessagePart(msgspec.Struct, frozen=True):
    """A part of the message `name`: its place in the message, and its kind."""

    name: Name
    place: Index
    kind: str


class ForgetPlan(msgspec.Struct, frozen=True):
    """What a forget would do. `asked`: the names that leave, of which `closed` were added to complete steps; `skipped`:
    protected names that stay; `planning`: further names that leave, of the conversation about it.
    """

    asked: Names
    closed: Names
    skipped: Names
    planning: Names
    now: Names
    """The leaving names that are in the context now."""


def leaving(state: State, wish: ForgetRequest) -> ForgetPlan:
    """The plan: steps are completed, and protected steps skipped unless the request includes them."""
    asked, skipped = _spare(state, wish.chosen, wish)
    planning, more = _spare(state, wish.planning, wish)
    closed = asked - wish.chosen - _with_covered(state, wish.chosen)
    return ForgetPlan(asked, closed, skipped | more, planning - asked, (asked | planning) & state.present())


def forget(state: State, at: LogPosition, wish: ForgetRequest, again: Again = no_words) -> Decision:
    """Takes out `chosen`; `again` writes a summary again without what it contained of that.

    Raises NothingChanges if nothing of it is in the context, or all of it is protected.
    """
    plan = leaving(state, wish)
    if not plan.asked.meets(_with_covered(state, state.present())):  # a message in a summary counts as present
        if plan.skipped:
            hint = "use --include-protected, or remove the protection with ctxkit protect --off"
            raise NothingChanges(
                _protected(state, plan.skipped),
                hint,
            )
        raise NothingChanges(
            f"{state.say(plan.asked or wish.chosen)} is out of the context already: nothing was changed",
            "ctxkit why LOG N explains it",
        )
    words, notes = _summaries(state, plan.asked | plan.planning, wish, again, named=wish.chosen | wish.planning)
    notes = _notes(state, plan) + notes
    op = Forget(
        at=at, v=_version(words), ids=str(plan.asked), planning=str(plan.planning), summaries=words,
        criteria=wish.criteria, closed=str(plan.closed), skipped=str(plan.skipped), answer=wish.answer,
    )  # fmt: skip
    said = f"Forgot {state.brief(plan.now)} ({_count(len(plan.now))})"
    if not plan.now:
        said = f"Forgot {state.brief(plan.asked)} (0 messages, as only a summary contained this)"

    def outcome(before: State, after: State) -> tuple[str, list[str]]:
        there, now = before.shown(), after.shown()
        same = len(there) - len(now) == len(plan.now)
        size = "" if same else f"; context: {len(there)} → {_count(len(now))}"
        size = f"; the context still has {_count(len(now))}" if size and len(there) == len(now) else size
        return f"{said}{size}.", returned(before, after)

    return Decision(op, f"{said}.", notes, outcome=outcome)


def _protected(state: State, names: Names) -> str:
    return f"{state.brief(names)} {'is' if len(names) == 1 else 'are'} protected: nothing was changed"


def forget_parts(
    state: State,
    at: LogPosition,
    parts: Sequence[MessagePart],
    *,
    summaries: Sequence[Name] = (),
    largest: tuple[Name, int] | None = None,
    criteria: str | None = None,
    include_protected: bool = False,
) -> Decision:
    """Takes these parts out of messages that stay, except protected messages. Raises NothingChanges.

    `summaries`: messages that lose no part because they are summaries; the report names them. `largest`: the message
    with the largest part there is, and its tokens, for the hint where nothing matched.
    """
    held = NOTHING if include_protected else state.steps.close(protected(state))
    left = [part for part in parts if part.name not in held]
    skipped = Names.of(part.name for part in parts) & held
    kept = [_stays(state, name) for name in summaries]
    if not left:
        if skipped:
            hint = "use --include-protected, or remove the protection with ctxkit protect --off"
            raise NothingChanges(_protected(state, skipped), hint)
        text = "nothing matched: no message in the context has such a part"
        raise NothingChanges(
            "; ".join([text, *kept]), _smaller(state, *largest) if largest else "ctxkit show LOG prints the context"
        )
    places: dict[str, list[Index]] = {}
    for part in left:
        places.setdefault(str(part.name), []).append(part.place)
    op = Forget(at=at, v=PARTS_VERSION, ids="", parts=places, criteria=criteria, skipped=str(skipped))
    notes = [f"skipped, protected: {state.brief(skipped)} (use --include-protected to include them)"] if skipped else []
    notes += kept
    names = Names.of(part.name for part in left)
    stay = f"{_count(len(names))} stay{'s' * (len(names) == 1)}"
    return Decision(op, f"Left out {counted(left)} of {state.brief(names)} ({stay}).", notes)


def _stays(state: State, name: Name) -> str:
    """That a summary stays, and how it leaves."""
    label = state.label(name)
    return f"{label} is the summary of a compaction: it stays; `ctxkit forget LOG {label}` takes it out"


def _smaller(state: State, name: Name, tokens: int) -> str:
    """The size to try, below the largest part: in thousands where it has so many."""
    thousands = (tokens - 1) // 1000
    size = f"{thousands}k" if thousands else max(tokens - 1, 0)
    return f"the largest part has {tokens:,} tokens (message {state.label(name)}): try --larger-than {size}"


def counted(parts: Sequence[MessagePart]) -> str:
    """How many there are of each kind: `3 images, 1 result`."""
    kinds = Counter(part.kind for part in parts)
    return ", ".join(f"{count:,} {kind}{'s' * (count != 1)}" for kind, count in kinds.items())


def remember(state: State, at: LogPosition, wish: ForgetRequest, again: Again = no_words) -> Decision:
    """Keeps only `chosen`: everything else up to `at` leaves, except system, developer and protected messages.

    The complement is taken over all numbers and items, absent ones too (replay 34). Raises NothingChanges.
    """
    keep = state.steps.close(_with_covered(state, wish.chosen | wish.exempt))
    guarded = state.steps.close(protected(state))
    system = Names(
        Ranges.of(m.n for m in state.messages if m.role in PREAMBLE_ROLES),
        (name for name, item in state.board.items.items() if item.role in PREAMBLE_ROLES),
    )
    if not keep & state.present():
        text = f"{state.brief(wish.chosen)} is out of the context already: nothing would be left, nothing was changed"
        raise NothingChanges(text, "ctxkit why LOG N explains it")
    ids = state.steps.whole(state.everything() - keep - guarded - system)
    # a summary of a message that stays is not forgotten by name, because that would forget the message too
    ids = ids - Names(items=(name for name, item in state.board.telling.items() if item.tells - ids))
    planning, skipped = _spare(state, wish.planning, wish)
    now = (ids | planning) & state.present()
    if not ids & state.present():
        raise NothingChanges("nothing else is in the context: nothing was changed", "ctxkit show LOG prints it")
    words, notes = _summaries(state, ids | planning, wish, again)
    op = Remember(
        at=at, v=_version(words), ids=str(ids), planning=str(planning - ids), summaries=words, criteria=wish.criteria,
        skipped=str(((guarded - system) & state.present()) - keep | skipped), answer=wish.answer,
    )  # fmt: skip
    kept = len(state.present() - now)

    def outcome(before: State, after: State) -> tuple[str, list[str]]:
        stay = after.shown()
        gone = len(before.shown() - stay)
        return f"Kept {_count(len(stay))}; everything else ({_count(gone)}) is forgotten.", returned(before, after)

    said = f"Kept {_count(kept)}; everything else ({_count(len(now))}) is forgotten."
    return Decision(op, said, notes, outcome=outcome)


def returned(before: State, after: State) -> list[str]:
    """A note that names what is in the context again because its summary was dropped, if anything is."""
    back = after.shown() - before.shown()
    return [f"in the context again, without their summary: {after.brief(back)}"] if back else []


def _with_covered(state: State, names: Names) -> Names:
    """The names with the messages of each summary among them: naming a summary names its messages too (replay 9)."""
    for name in names.items & state.board.items.keys():
        names = names | state.board.items[name].tells
    return names


def protected(state: State) -> Names:
    """The protected names, with the messages of protected summaries: forgetting one would change the summary."""
    names = state.board.protected | (Names(Ranges.span(1, state.preamble)) - state.board.unprotected)
    names = names | Names(items=filter(state.protected, state.board.items))
    return _with_covered(state, names & state.everything())


def _spare(state: State, chosen: Names, wish: ForgetRequest) -> tuple[Names, Names]:
    """`chosen` with whole steps but without protected messages and their steps; and these."""
    names = state.steps.close(_with_covered(state, chosen))
    if wish.include_protected and not wish.exempt:
        return names, NOTHING
    held = NOTHING if wish.include_protected else protected(state)
    skipped = names & state.steps.close(held | _with_covered(state, wish.exempt))
    # a summary of a protected message is not named, but dropped for its other messages: the protected one returns
    items = state.board.telling
    summaries = [name for name in names.items & items.keys() if items[name].tells.meets(skipped)]
    return names - skipped - Names(items=summaries), skipped


def _summaries(
    state: State, names: Names, wish: ForgetRequest, again: Again, named: Names = NOTHING
) -> tuple[list[Resummarized], list[str]]:
    """What happens to each summary that contains some of `names`: a summary never leaks what was forgotten.

    `named`: the chosen names; a summary among them is not written again.
    """
    words: list[Resummarized] = []
    notes: list[str] = []
    present = state.present()
    for name, item in state.board.telling.items():
        hit = item.tells & names
        if not hit or name in names or name not in present:
            continue
        label = state.label(name)
        rest = item.tells - hit
        retold = rewritten(state, item, rest, names, again) if rest and name not in named else None
        if retold is not None:
            words.append(msgspec.structs.replace(retold, op=_wire(name, item), tells=str(rest)))
            notes.append(f"the summary {label} was written again without {state.say(hit)}")
        elif wish.keep_summary:
            words.append(Resummarized(op=_wire(name, item), keep=True))
            notes.append(f"the summary {label} is kept as it is: it still contains {state.say(hit)}")
        else:
            notes.append(f"the summary {label} is dropped because it contained {state.say(hit)}")
    for cut in state.transcript.view.all_cuts if state.transcript.view else ():
        inside = Ranges.of(cut.out) & names.numbers
        if cut.after and inside and cut.after not in names.numbers:
            notes.append(f"{cut.after} may contain it too: forget {inside},{cut.after}")
    return words, notes


def _wire(name: ItemName, item: ContextItem) -> str:
    return name.op if item.summary and name.k == 1 else str(name)


def _notes(state: State, plan: ForgetPlan) -> list[str]:
    notes = []
    if plan.closed:
        notes.append(f"also taken, since a call and its result stay together: {state.brief(plan.closed)}")
    if plan.skipped:
        notes.append(f"skipped, protected: {state.brief(plan.skipped)} (use --include-protected to include them)")
    return notes


def _count(messages: int) -> str:
    return f"{messages} message{'s' * (messages != 1)}"


def _version(words: Sequence[Resummarized]) -> int:
    return SHORT_VERSION if any(retold.short is not None for retold in words) else VERSION


def rewritten(
    state: State, item: ContextItem, covered: Names, leave: Names, again: Again = no_words
) -> Resummarized | None:
    """The summary's new texts for `covered` only; None if its strategy is not a rule that can be applied again."""
    entry = state.ledger.by_id.get(item.name.op)
    op = entry.op if entry else None
    if not isinstance(op, Compact) or op.model is not None or not item.summary:
        return None
    return again(op, covered, leave)
