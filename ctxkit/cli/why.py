"""ctxkit why: why a message is in the context, or what keeps it out and what would bring it back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ctxkit.cli import io
from ctxkit.cli.params import LogArgument, Looking, Reading, takes
from ctxkit.cli.run import finish_reading, opened, with_dash
from ctxkit.core.reasons import Reason, explain
from ctxkit.core.select import parse_ids
from ctxkit.errors import Usage


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Annotated[list[str] | None, typer.Argument(metavar="N...", help="Messages: 45, 45-47, 7.1.")] = None,
    *,
    looking: Looking,
    reading: Reading,
) -> None:
    """Say for each message whether it is in the context, which ops keep it out, and what would bring it back.

    A message can be out for several reasons; it is back when the last one is gone. --json prints an object per message.
    """
    if not numbers:
        hint = f"{with_dash('why', log)} <LOG" if log[:1].isdigit() else "ctxkit why LOG 45"
        raise Usage("why which message?", hint)
    target = opened(log, reading, looking, command="why")
    state = target.state()
    shown = set(target.names())
    for name in parse_ids(state, numbers):
        reasons = explain(state, name, visible=name in shown)
        if reading.json:
            io.out_json(_json(state.label(name), name in shown, reasons))
            continue
        role = state.messages[name - 1].role if isinstance(name, int) else state.board.items[name].role
        io.out(f"{state.label(name)} {role}: {'in the context' if name in shown else 'out of the context'}")
        for reason in reasons:
            io.out(f"    {reason.text}")
            if reason.back:
                io.out(f"      back with: {reason.back}")
    finish_reading(target)


def _json(label: str, visible: bool, reasons: list[Reason]) -> dict[str, Any]:
    return {
        "message": label,
        "in_context": visible,
        "reasons": [{"kind": r.kind, "op": r.op, "text": r.text, "back": r.back} for r in reasons],
    }
