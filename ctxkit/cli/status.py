"""ctxkit status: how full the context is, and what is in it and out of it."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli import gauge, io, render
from ctxkit.cli.amounts import tokens as tokens_of
from ctxkit.cli.params import LogArgument, Looking, Reading, takes
from ctxkit.cli.run import opened
from ctxkit.status import as_json


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    short: Annotated[bool, typer.Option("--short", help="One line, for a shell prompt.")] = False,
    no_tokens: Annotated[bool, typer.Option("--no-tokens", help="Count no tokens, and so read no content.")] = False,
    no_assembly: Annotated[
        bool, typer.Option("--no-assembly", help="The log's messages alone: no system prompt, docs or thread status.")
    ] = False,
    limit: Annotated[
        str | None, typer.Option(metavar="N", help="The context limit in tokens (128000, 128k); else the config's.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Count this agent's messages, and no one's.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="NAME", help="Count what is of this thread, or of none.")
    ] = None,
    looking: Looking,
    reading: Reading,
) -> None:
    """Say how full the context is, which messages are in it and out of it and why, and how the log is.

    Tokens (with the name of their counter) and their share of the limit, window and now, live marks, ops, agents,
    threads, damage and warnings. Damage is told, not judged: `ctxkit check` asserts. --json prints one object.
    """
    target = opened(log, reading, looking, command="status", report=False, thread=thread)
    target.lens_agent, target.lens_thread = agent, thread
    found = target.status(tokens=not no_tokens, limit=tokens_of("--limit", limit), assembly=not no_assembly)
    if reading.json:
        io.out_json(as_json(found))
    elif short:
        io.out(gauge.short(found, io.width()))
    else:
        for line in gauge.lines(found, render.breadth()):
            io.out(*line)
