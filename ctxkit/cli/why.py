"""ctxkit why: why a message is in the context, or what keeps it out and what would bring it back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ctxkit.cli import io, render
from ctxkit.cli.ink import Ink
from ctxkit.cli.params import LogArgument, Looking, Reading, takes
from ctxkit.cli.run import finish_reading, opened, with_dash
from ctxkit.core.names import Name
from ctxkit.core.reasons import Reason, Reasons
from ctxkit.core.select import parse_ids
from ctxkit.core.standing import Standings
from ctxkit.core.state import State
from ctxkit.errors import Usage
from ctxkit.thinking import unsent


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Annotated[list[str] | None, typer.Argument(metavar="N...", help="Messages: 45, 45-47, 7.1.")] = None,
    *,
    looking: Looking,
    reading: Reading,
) -> None:
    """Say for each message whether it is in the context, which ops keep it out, and what would bring it back.

    A message can be out for several reasons; it is back when the last one is gone. Of a message that goes out without
    its thinking, that is said too. --json prints an object per message.
    """
    if not numbers:
        hint = f"{with_dash('why', log)} <LOG" if log[:1].isdigit() else "ctxkit why LOG 45"
        raise Usage("why which message?", hint)
    target = opened(log, reading, looking, command="why")
    state = target.state()
    standings = Standings(state, target.lens())
    why, shown = Reasons(standings), standings.visible
    left = unsent(target)
    for name in parse_ids(state, numbers):
        reasons = why.of(name)
        thinking = left.of(name) if left is not None else None
        if reading.json:
            io.out_json(_json(state, name, reasons, visible=name in shown) | {"thinking": thinking})
            continue
        role = state.messages[name - 1].role if isinstance(name, int) else state.board.items[name].role
        where = Ink("in the context", "green") if name in shown else Ink("out of the context", "yellow")
        io.out(Ink(state.label(name), "bold"), " ", Ink(role, render.ROLES.get(role, "")), ": ", where, hang=4)
        for reason in reasons:
            io.out(f"    {reason.text}", hang=6)
            if reason.back:
                io.out("      ", Ink("back with:", "dim"), f" {reason.back}", hang=8)
        if thinking is not None:
            io.out(f"    {thinking}", hang=6)
    finish_reading(target)


def _json(state: State, name: Name, reasons: list[Reason], *, visible: bool) -> dict[str, Any]:
    return {
        **render.named(name, state.label(name)),
        "in_context": visible,
        "reasons": [{"kind": r.kind, "op": r.op, "text": r.text, "back": r.back} for r in reasons],
    }
