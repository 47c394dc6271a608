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
from ctxkit.core.ops import PARTS_VERSION, Compact, Forget, Index, LogPosition, Remember, Resummarized
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import PREAMBLE_ROLES, State
from ctxkit.errors import NothingChanges

Again = Callable[[Compact, Names, Names], str | None]
"""Makes the words of a compact again from the original messages: for the names that it still tells, when others leave;
None where there are no such words.
"""


def no_words(op: Compact, told: Names, leave: Names) -> str | None:
    """For logs whose messages cannot be read."""
    return None


class ForgetRequest(msgspec.Struct, frozen=True):
    """The request: `chosen` names, the `planning` conversation about it, and the criteria as typed.

    `exempt`: what stays whatever was chosen; `answer`: if a model chose, digests of what it was asked and answered.
    """

    chosen: Names
    planning: Names = NOTHING
    criteria: str | None = None
    include_protected: bool = False
    keep_summary: bool = False
    exempt: Names = NOTHING
    answer: dict[str, Any] | None = None


class MessagePart(msgspec.Struct, frozen=True):
    """A part of the message `name`: its place in it, and what it is."""

    name: Name
    place: Index
    kind: str


class ForgetPlan(msgspec.Struct, frozen=True):
    """What would happen: `asked` names that leave, `closed` added to complete steps, `skipped` protected,
    `planning`.
    """

    asked: Names
    closed: Names
    skipped: Names
    planning: Names
    now: Names
    """Those of them that are in the context now."""


def leaving(state: State, wish: ForgetRequest) -> ForgetPlan:
    """Steps completed, and protected steps skipped unless the request includes them."""
    asked, skipped = _spare(state, wish.chosen, wish)
    planning, more = _spare(state, wish.planning, wish)
    closed = asked - wish.chosen - _told(state, wish.chosen)
    return ForgetPlan(asked, closed, skipped | more, planning - asked, (asked | planning) & state.present())


def forget(state: State, at: LogPosition, wish: ForgetRequest, again: Again = no_words) -> Decision:
    """Takes out `chosen`; `again` writes a summary again without what it contained of that.

    Raises NothingChanges if nothing of it is in the context, or all of it is protected.
    """
    plan = leaving(state, wish)
    if not plan.asked.meets(_told(state, state.present())):  # what a summary tells is there, wherever the original is
        if plan.skipped:
            hint = "use --include-protected, or remove the protection with ctxkit unprotect"
            raise NothingChanges(f"protected: {state.brief(plan.skipped)}: nothing was changed", hint)
        raise NothingChanges(
            f"{state.say(plan.asked or wish.chosen)} is out of the context already: nothing was changed",
            "ctxkit why LOG N explains it",
        )
    words, notes = _summaries(state, plan.asked | plan.planning, wish, again, named=wish.chosen | wish.planning)
    notes = _notes(state, plan) + notes
    op = Forget(
        at=at, ids=str(plan.asked), planning=str(plan.planning), summaries=words, criteria=wish.criteria,
        closed=str(plan.closed), skipped=str(plan.skipped), answer=wish.answer,
    )  # fmt: skip
    return Decision(op, f"Forgot {state.brief(plan.now)} ({_count(len(plan.now))}).", notes)


def forget_parts(
    state: State,
    at: LogPosition,
    parts: Sequence[MessagePart],
    *,
    criteria: str | None = None,
    include_protected: bool = False,
) -> Decision:
    """Takes these parts out of messages that stay, except protected messages. Raises NothingChanges."""
    held = NOTHING if include_protected else state.steps.close(protected(state))
    left = [part for part in parts if part.name not in held]
    skipped = Names.of(part.name for part in parts) & held
    if not left:
        if skipped:
            hint = "use --include-protected, or remove the protection with ctxkit unprotect"
            raise NothingChanges(f"protected: {state.brief(skipped)}: nothing was changed", hint)
        raise NothingChanges("nothing matched: no message in the context has such a part", "ctxkit show prints them")
    places: dict[str, list[Index]] = {}
    for part in left:
        places.setdefault(str(part.name), []).append(part.place)
    op = Forget(at=at, v=PARTS_VERSION, ids="", parts=places, criteria=criteria, skipped=str(skipped))
    notes = [f"skipped, protected: {state.brief(skipped)} (use --include-protected to include them)"] if skipped else []
    names = Names.of(part.name for part in left)
    stay = f"{_count(len(names))} stay{'s' * (len(names) == 1)}"
    return Decision(op, f"Left out {counted(left)} of {state.brief(names)} ({stay}).", notes)


def counted(parts: Sequence[MessagePart]) -> str:
    """How many there are of each kind: `3 images, 1 result`."""
    kinds = Counter(part.kind for part in parts)
    return ", ".join(f"{count:,} {kind}{'s' * (count != 1)}" for kind, count in kinds.items())


def remember(state: State, at: LogPosition, wish: ForgetRequest, again: Again = no_words) -> Decision:
    """Keeps only `chosen`: everything else up to `at` leaves, except system, developer and protected messages.

    The complement is taken over all numbers and items, absent ones too (replay 34). Raises NothingChanges.
    """
    keep = state.steps.close(_told(state, wish.chosen | wish.exempt))
    guarded = state.steps.close(protected(state))
    system = Names(
        Ranges.of(m.n for m in state.messages if m.role in PREAMBLE_ROLES),
        (name for name, item in state.board.items.items() if item.role in PREAMBLE_ROLES),
    )
    if not keep & state.present():
        text = f"{state.brief(wish.chosen)} is out of the context already: nothing would be left, nothing was changed"
        raise NothingChanges(text, "ctxkit why LOG N explains it")
    ids = state.steps.whole(state.everything() - keep - guarded - system)
    # a summary that tells something that stays is not forgotten by name: that would take along what it tells
    ids = ids - Names(items=(name for name, item in state.board.telling.items() if item.tells - ids))
    planning, skipped = _spare(state, wish.planning, wish)
    now = (ids | planning) & state.present()
    if not ids & state.present():
        raise NothingChanges("nothing else is in the context: nothing was changed", "ctxkit show prints it")
    words, notes = _summaries(state, ids | planning, wish, again)
    op = Remember(
        at=at, ids=str(ids), planning=str(planning - ids), summaries=words, criteria=wish.criteria,
        skipped=str(((guarded - system) & state.present()) - keep | skipped), answer=wish.answer,
    )  # fmt: skip
    kept = len(state.present() - now)
    said = f"Kept {_count(kept)}; everything else ({_count(len(now))}) is forgotten."
    return Decision(op, said, notes)


def _told(state: State, names: Names) -> Names:
    """A summary stands for its messages: naming it names them too (replay 9)."""
    for name in names.items & state.board.items.keys():
        names = names | state.board.items[name].tells
    return names


def protected(state: State) -> Names:
    """What is protected, and the messages of a protected summary: to forget one would change the summary."""
    names = state.board.protected | (Names(Ranges.span(1, state.preamble)) - state.board.unprotected)
    names = names | Names(items=filter(state.protected, state.board.items))
    return _told(state, names & state.everything())


def _spare(state: State, chosen: Names, wish: ForgetRequest) -> tuple[Names, Names]:
    """What `chosen` comes to, steps closed, without the protected ones and their steps; and those."""
    names = state.steps.close(_told(state, chosen))
    if wish.include_protected and not wish.exempt:
        return names, NOTHING
    held = NOTHING if wish.include_protected else protected(state)
    skipped = names & state.steps.close(held | _told(state, wish.exempt))
    # a summary that tells a protected message is not named, but dropped for what else it tells: the message returns
    told = state.board.telling
    telling = [name for name in names.items & told.keys() if told[name].tells.meets(skipped)]
    return names - skipped - Names(items=telling), skipped


def _summaries(
    state: State, names: Names, wish: ForgetRequest, again: Again, named: Names = NOTHING
) -> tuple[list[Resummarized], list[str]]:
    """What happens to each summary that contains some of `names`: a summary never leaks what was forgotten.

    `named`: what was chosen; a summary among it is not written again.
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
        text = retell(state, item, rest, names, again) if rest and name not in named else None
        if text is not None:
            words.append(Resummarized(op=_wire(name, item), text=text, tells=str(rest)))
            notes.append(f"the summary {label} was written again without {state.say(hit)}")
        elif wish.keep_summary:
            words.append(Resummarized(op=_wire(name, item), keep=True))
            notes.append(f"the summary {label} is kept as it is: it still contains {state.say(hit)}")
        else:
            notes.append(
                f"the summary {label} is dropped because it contained {state.say(hit)}; the other originals return"
            )
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


def retell(state: State, item: ContextItem, told: Names, leave: Names, again: Again = no_words) -> str | None:
    """The summary's new text for `told` alone; None if its strategy is not a rule that can be applied again."""
    entry = state.ledger.by_id.get(item.name.op)
    op = entry.op if entry else None
    if not isinstance(op, Compact) or op.model is not None or not item.summary:
        return None
    return again(op, told, leave)
