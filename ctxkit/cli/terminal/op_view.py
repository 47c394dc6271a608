"""Formats ops: a line in the list of ops, with or without tokens, or an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.ended_ops import ended
from ctxkit.core.item_names import Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import BY_NAME, Envelope
from ctxkit.core.snapshot import SHORT
from ctxkit.core.state import OpEnd, State
from ctxkit.core.times import written
from ctxkit.explain.turning_points import recorded_sizes

if TYPE_CHECKING:
    from ctxkit.measure.per_op import OpEffect

WIDE_IDS = 40
"""Characters of a list of numbers on a line."""
TIMED = 80
"""Width from which on a line with tokens also has the time."""
Ends = Mapping[int, OpEnd]
"""Op number -> the end of its effect."""


def table(state: State, changes: Sequence[OpEffect], width: int) -> Iterator[Line]:
    """Yield a line for each op with the tokens before and after it and their difference; below 80 columns without the
    time, below 40 without columns.
    """
    sizes = [(change.before.tokens, change.after.tokens) for change in changes if change.before and change.after]
    most = max((len(f"{max(pair):,}") for pair in sizes), default=1) if width >= layout.ROOMY else 0
    over = ended(state)
    sign = max((len(_signed(*pair)) for pair in sizes), default=0) if most else 0
    for change in changes:
        op, figures, moved = change.op, "not counted: the log was refused with it", ""
        if change.before and change.after:
            before, after = change.before.tokens, change.after.tokens
            moved = f"{_signed(before, after):>{sign}}"
            figures = f"{before:>{most},} → {after:>{most},}" if most else f"{before:,}→{after:,}"
        name = state.ledger.name_of(op)
        yield layout.spaced(
            Styled(f"{op.number:>3}", "bold"), Styled(_when(op) if width >= TIMED else "", "dim"),
            Styled(f"{name:<9}" if most else name, "cyan"), figures, moved, what(state, op),
            *_ended(over, op),
        )  # fmt: skip


def _signed(before: int, after: int) -> str:
    return f"{'+' if after > before else '−'}{abs(after - before):,}" if after != before else ""


def as_json(over: Ends, entry: LedgerEntry) -> dict[str, Any]:
    """Return the op with its keys in the log and those below, which replace keys of the same name.

    `over`: from `core/ended_ops.py`. `ended`: the rewind or later op that ended its effect; null while it has an effect
    or if an undo voided it.
    """
    end = None if entry.void else over.get(entry.number)
    own = {
        "number": entry.number,
        "void": entry.void,
        "voided_by": entry.voided_by or None,
        "ended": None if end is None else end.text,
    }
    return {**own, **entry.body, **own}


def line(state: State, over: Ends, entry: LedgerEntry) -> Line:
    """Return the line of an op as spans for `streams.out`."""
    (before, after), unit = recorded_sizes(state.ledger, entry) or ((0, 0), "")
    name = state.ledger.name_of(entry)
    return layout.spaced(
        Styled(f"{entry.number:>3}", "bold"), Styled(_when(entry), "dim"), Styled(f"{name:<9}", "cyan"),
        what(state, entry), f"{before:,} → {after:,} {unit}" if before != after else "", *_ended(over, entry),
        Styled(entry.id, "dim"),
    )  # fmt: skip


def _when(entry: LedgerEntry) -> str:
    clock, stored = streams.clock(), entry.body.get("ts", "")
    moment = written(stored)
    shown = str(stored)[: clock.width] if moment is None else clock.time(moment)
    return f"{shown:<{clock.width}}"


def _ended(over: Ends, entry: LedgerEntry) -> tuple[Styled, Styled]:
    """The end of an op's effect, and its fault; empty without one."""
    end = over.get(entry.number)
    text = f"undone by {entry.voided_by}" if entry.void else end.text if end is not None else ""
    void = f"[{text}]" if text else ""
    fault = f"[cannot be read: {entry.fault}]" if entry.fault else ""
    return Styled(void, "yellow"), Styled(fault, "red")


def what(state: State, entry: LedgerEntry) -> str:
    """Return a description of an op in a few words."""
    if undone := state.ledger.undone(entry):
        return _Speaker(state).op(undone[-1].id)
    return BY_NAME.get(entry.name, Envelope).about(entry.body, _Speaker(state))


class _Speaker:
    """Names of ops, messages and snapshots for people."""

    def __init__(self, state: State) -> None:
        self.state = state

    def op(self, key: Any) -> str:
        """Return `op 3 (forget)` for the id of an op."""
        target = self.state.ledger.by_id.get(str(key))
        return f"op {target.number} ({self.state.ledger.name_of(target)})" if target else str(key)

    def names(self, text: str) -> str:
        """Return messages and items, cut if they are many; unchanged if they cannot be parsed."""
        try:
            names = Names.parse(text)
        except ValueError:
            return text[:WIDE_IDS]
        shown = self.state.say(names)
        return shown if len(shown) <= WIDE_IDS else f"{shown[: WIDE_IDS - 1]}…"

    def snapshot(self, key: str) -> str:
        """Return the first digits of its id."""
        return key[:SHORT]
