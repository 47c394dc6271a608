"""ctxkit why: why a message is in the context, or what keeps it out and what would bring it back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ctxkit.cli.log_access import finish_reading, opened, with_dash
from ctxkit.cli.options import LogArgument, Looking, Reading, takes
from ctxkit.cli.terminal import message_view, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.content.thinking import unsent
from ctxkit.core.ended_ops import role_of
from ctxkit.core.item_names import Name
from ctxkit.core.reasons import Reason, Reasons
from ctxkit.core.select import parse_ids
from ctxkit.core.state import State
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import Usage
from ctxkit.explain.remedies import Remedies, Remedy
from ctxkit.measure.overhead import configured


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Annotated[list[str] | None, typer.Argument(metavar="N...", help="Messages: 45, 45-47, 7.1.")] = None,
    *,
    looking: Looking,
    reading: Reading,
) -> None:
    """Say for each message whether it is in the context, which ops keep it out, and which commands bring it back.

    A message can be out for several reasons; it is back when the last one is gone. The named commands, run in their
    order, are enough: they were tried in memory, and nothing is written. If other messages leave with them, that is
    said. An item of an op that is undone or superseded can be named too (7.1). --at: only what kept it out then.

    For a message that is sent without its thinking, that is said too. --json prints an object per message.
    """
    if not numbers:
        hint = f"{with_dash('why', log)} <LOG" if log[:1].isdigit() else "ctxkit why LOG 45"
        raise Usage("why which message?", hint)
    target = opened(log, reading, looking, command="why")
    state = target.state()
    names = parse_ids(state, numbers, gone=True)
    visibilities = Visibilities(state, target.projection())
    why, shown = Reasons(visibilities), visibilities.visible
    left, remedies = unsent(target, configured(target)), Remedies(target).of(names)
    for name in names:
        reasons, remedy = why.of(name), remedies.get(name)
        thinking = left.of(name) if left is not None and name in shown else None
        if reading.json:
            found = _json(state, name, reasons, remedy, visible=name in shown)
            streams.out_json(found | {"thinking": thinking})
            continue
        role = role_of(state, name)
        where = Styled("in the context", "green") if name in shown else Styled("out of the context", "yellow")
        streams.out(
            Styled(state.label(name), "bold"), " ", Styled(role, message_view.ROLES.get(role, "")), ": ", where, hang=4
        )
        for reason in reasons:
            streams.out(f"    {reason.text}", hang=6)
            if reason.back and remedy is None:
                streams.out("      ", Styled("back with:", "dim"), f" {streams.with_log(reason.back)}", hang=8)
        if remedy is not None:
            _print(state, remedy)
        if thinking is not None:
            streams.out(f"    {thinking}", hang=6)
    finish_reading(target)


def _print(state: State, remedy: Remedy) -> None:
    """The commands, one a line, and what they cost; or why there are none."""
    if remedy.text:
        streams.out(f"      {streams.with_log(remedy.text)}", hang=8)
        return
    lead = "back with:"
    for command in remedy.commands:
        streams.out("      ", Styled(lead, "dim"), f" {streams.with_log(command)}", hang=8)
        lead = " and then:"
    if remedy.leave:
        leave = "1 other leaves" if len(remedy.leave) == 1 else f"{len(remedy.leave):,} others leave"
        streams.out(f"      then {leave}: {state.brief(remedy.leave)}", hang=8)


def _json(state: State, name: Name, reasons: list[Reason], remedy: Remedy | None, *, visible: bool) -> dict[str, Any]:
    found = Remedy() if remedy is None else remedy
    return {
        **message_view.named(name, state.label(name)),
        "in_context": visible,
        "reasons": [{"kind": r.kind, "op": r.op, "text": r.text, "back": r.back} for r in reasons],
        "commands": list(found.commands),
        "leave": state.say(found.leave),
        "no_command": found.text or None,
    }
