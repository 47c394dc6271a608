"""forget and remember: messages leave the context; the bytes stay in the log.

Everything is settled here, before the append (settled detail 8): steps closed, protected ones skipped, summaries retold.
"""

from __future__ import annotations

import msgspec

from ctxkit.core.effects import Item
from ctxkit.core.names import NOTHING, ItemName, Name, Names
from ctxkit.core.ops import At, Forget, Remember, Retold
from ctxkit.core.ranges import Ranges
from ctxkit.core.state import PREAMBLE_ROLES, State
from ctxkit.errors import NothingChanges
from ctxkit.policies.decision import Decision
from ctxkit.policies.retell import retell


class Wish(msgspec.Struct, frozen=True):
    """What was asked: `chosen` names, the `planning` conversation about it, and the criteria as typed."""

    chosen: Names
    planning: Names = NOTHING
    criteria: str | None = None
    include_protected: bool = False
    keep_summary: bool = False


class Leaving(msgspec.Struct, frozen=True):
    """What would happen: `asked` names that leave, `closed` added by steps, `skipped` protected, `planning`."""

    asked: Names
    closed: Names
    skipped: Names
    planning: Names
    now: Names
    """Those of them that are in the context now."""


def leaving(state: State, wish: Wish) -> Leaving:
    """Steps closed, protected steps skipped unless the wish includes them."""
    asked, skipped = _spare(state, state.steps.close(_told(state, wish.chosen)), wish)
    planning, more = _spare(state, state.steps.close(_told(state, wish.planning)), wish)
    closed = asked - wish.chosen - _told(state, wish.chosen)
    present = state.present()
    return Leaving(asked, closed, skipped | more, planning - asked, (asked | planning) & present)


def forget(state: State, at: At, wish: Wish) -> Decision:
    """Takes out `chosen`. Raises NothingChanges where nothing of it is in the context, or all of it is protected."""
    plan = leaving(state, wish)
    if not plan.asked & state.present():
        if plan.skipped:
            hint = "--include-protected takes them too; ctxkit unprotect lifts the protection"
            raise NothingChanges(f"protected: {_say(state, plan.skipped)}: nothing was changed", hint)
        raise NothingChanges(
            f"{_say(state, plan.asked or wish.chosen)} is out of the context already: nothing was changed",
            "ctxkit why LOG N says why",
        )
    words, notes = _summaries(state, plan.asked | plan.planning, wish)
    notes = _notes(state, plan) + notes
    op = Forget(
        at=at, ids=str(plan.asked), planning=str(plan.planning), summaries=words, criteria=wish.criteria,
        closed=str(plan.closed), skipped=str(plan.skipped),
    )  # fmt: skip
    count = len(plan.now)
    return Decision(op, f"Forgot {_say(state, plan.now)} ({count} message{'s' * (count != 1)}).", notes)


def remember(state: State, at: At, wish: Wish) -> Decision:
    """Keeps only `chosen`: everything else up to `at` leaves, but system, developer and protected messages.

    The complement is taken over all numbers and items, absent ones too (REPLAY 34). Raises NothingChanges.
    """
    keep = state.steps.close(_told(state, wish.chosen))
    protected = state.steps.close(_protected(state))
    system = Names(
        Ranges.of(m.n for m in state.messages if m.role in PREAMBLE_ROLES),
        (name for name, item in state.board.items.items() if item.role in PREAMBLE_ROLES),
    )
    ids = state.steps.whole(state.everything() - keep - protected - system)
    planning, skipped = _spare(state, state.steps.close(_told(state, wish.planning)), wish)
    now = (ids | planning) & state.present()
    if not ids & state.present():
        raise NothingChanges("nothing else is in the context: nothing was changed", "ctxkit show prints it")
    words, notes = _summaries(state, ids | planning, wish)
    op = Remember(
        at=at, ids=str(ids), planning=str(planning - ids), summaries=words, criteria=wish.criteria,
        skipped=str((protected & state.present()) - keep | skipped),
    )  # fmt: skip
    kept = len((state.present() - now).numbers) + len((state.present() - now).items)
    return Decision(op, f"Kept {kept} messages; everything else ({len(now)} messages) is forgotten.", notes)


def _told(state: State, names: Names) -> Names:
    """A summary stands for what it tells: naming it names that too (settled detail 9)."""
    for name in names.items & state.board.items.keys():
        names = names | state.board.items[name].tells
    return names


def _protected(state: State) -> Names:
    names = state.board.protected | (Names(Ranges.span(1, state.preamble)) - state.board.unprotected)
    return names | Names(items=filter(state.protected, state.board.items))


def _spare(state: State, names: Names, wish: Wish) -> tuple[Names, Names]:
    """`names` without the protected ones and their steps; and those."""
    if wish.include_protected:
        return names, NOTHING
    skipped = names & state.steps.close(_protected(state))
    return names - skipped, skipped


def _summaries(state: State, names: Names, wish: Wish) -> tuple[list[Retold], list[str]]:
    """What becomes of each summary that tells something of `names`: a summary never leaks what was forgotten."""
    words: list[Retold] = []
    notes: list[str] = []
    for name, item in state.board.items.items():
        hit = item.tells & names
        if not hit or name in names:
            continue
        label = state.label(name)
        text = retell(state, item, item.tells - hit)
        if text is not None:
            words.append(Retold(op=_wire(name, item), text=text))
            notes.append(f"the summary {label} is told again without {_say(state, hit)}")
        elif wish.keep_summary:
            words.append(Retold(op=_wire(name, item), keep=True))
            notes.append(f"the summary {label} is kept as it is: it still tells {_say(state, hit)}")
        else:
            notes.append(f"the summary {label} is dropped, it told {_say(state, hit)}; the other originals return")
    for cut in state.transcript.view.cuts if state.transcript.view else ():
        inside = Ranges.of(cut.out) & names.numbers
        if cut.after and inside and cut.after not in names.numbers:
            notes.append(f"{cut.after} may tell it too: forget {inside},{cut.after}")
    return words, notes


def _wire(name: ItemName, item: Item) -> str:
    return name.op if item.summary and name.k == 1 else str(name)


def _notes(state: State, plan: Leaving) -> list[str]:
    notes = []
    if plan.closed:
        notes.append(f"taken along, a step is never split: {_say(state, plan.closed)}")
    if plan.skipped:
        notes.append(f"skipped, protected: {_say(state, plan.skipped)} (--include-protected takes them)")
    return notes


def _say(state: State, names: Names) -> str:
    items: list[Name] = list(names.items)
    return ",".join(filter(None, (str(names.numbers), *(state.label(name) for name in items))))
