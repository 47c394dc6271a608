"""ctxkit log: the ops, newest last, with what each did."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import finish_reading, opened
from ctxkit.cli.options import LogArgument, Looking, Reading, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.op_view import as_json, line, table
from ctxkit.core.chain import links
from ctxkit.core.ended_ops import ended
from ctxkit.core.state import State


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    tokens: Annotated[bool, typer.Option("--tokens", help="Tokens of the context before and after each op.")] = False,
    looking: Looking,
    reading: Reading,
) -> None:
    """List the ops of a log, newest last: number, time, what it did, and whether it was undone.

    `ctxkit undo LOG OP` and --at take the number (or the id). [undone by 7], [superseded by 7], [ended by clear 7]: the
    op is no longer in force. --tokens replays the log and counts the context before and after every op, even if it was
    undone later. All figures are from one counter, before windows, and without system prompt and tools. --json prints a
    JSON object per op; its `digest` is what the next op names, and half of a head of `check`.
    """
    target = opened(log, reading, looking, command="log")
    state = target.state()
    if tokens:
        _tokens(target, json=reading.json)
        return
    over = ended(state)
    digests = links(state.ledger.entries) if reading.json else []
    for entry in state.ledger.entries:
        if reading.json:
            streams.out_json({**as_json(over, entry), "digest": digests[entry.number - 1]})
        else:
            streams.out(*line(state, over, entry), hang=5)
    finish_reading(target, _counted(state))


def _tokens(target: Log, *, json: bool) -> None:
    """The ops with the size of the context around each."""
    from ctxkit.measure.per_op import OpSizes

    state, found = target.state(), OpSizes(target)
    changes = list(found)
    if json:
        digests, over = links(state.ledger.entries), ended(state)
        for change in changes:
            sizes = {key: size and size.tokens for key, size in (("before", change.before), ("after", change.after))}
            own = {**as_json(over, change.op), "digest": digests[change.op.number - 1]}
            streams.out_json({**own, "tokens": {**sizes, "counter": found.counter}})
    else:
        for spans in table(state, changes, layout.breadth()):
            streams.out(*spans, hang=5)
    finish_reading(target, f"{_counted(state)}; tokens: {found.counter}")


def _counted(state: State) -> str:
    ops, messages = len(state.ledger.entries), len(state.messages)
    return f"{layout.count(ops, 'op')}, {layout.count(messages, 'message')}"
