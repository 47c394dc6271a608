"""ctxkit export: the context in the shape of a provider's request."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ctxkit.cli import io, render
from ctxkit.cli.params import Assembling, LogArgument, Looking, Reading, takes
from ctxkit.cli.run import assembly_of, finish_reading, opened
from ctxkit.core.messages import Repairs


class To(StrEnum):
    """What can be written."""

    chat = "chat"
    openai = "openai"
    anthropic = "anthropic"
    gemini = "gemini"


@takes(Assembling, Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    to: Annotated[To, typer.Option("--to", help="The format.")],
    model: Annotated[
        str, typer.Option(metavar="NAME", help="The model of the request; the log's own if left out.")
    ] = "",
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Messages of this agent, or of none.")] = None,
    thread: Annotated[str | None, typer.Option(metavar="NAME", help="Messages of this thread, or of none.")] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Go on without ops that this ctxkit does not know.")
    ] = False,
    assembling: Assembling,
    looking: Looking,
    reading: Reading,
) -> None:
    """Print the context as a provider takes it: always valid for it.

    chat: JSON lines, a message each. openai, anthropic, gemini: one JSON object in the shape of the request body. A
    call without its result gets one that says so, a result without its call is left out; whatever is left out or
    added is counted on stderr.
    """
    target = opened(log, reading, looking, command="export")
    target.lens_agent, target.lens_thread = agent, thread
    if not skip_unknown:
        target.known_ops()
    assembly, status = assembly_of(target, assembling)
    with io.progress(f"exporting {target.opening.name}", "messages") as step:
        exported = target.export(to.value, model=model, assembly=assembly, status=status, progress=step)
    for value in exported.values:
        io.out_json(value)
    _report(exported.repairs)
    finish_reading(target, render.count(exported.count, "message"))


def _report(repairs: Repairs) -> None:
    if repairs.made:
        io.say(f"{repairs.made} call{'s' * (repairs.made != 1)} without a result: answered by one that says so")
    if repairs.dropped:
        io.say(f"{repairs.dropped} result{'s' * (repairs.dropped != 1)} without a call: left out")
    for kind, count in sorted(repairs.left_out.items()):
        io.say(f"not sent: {count} × {kind}")
    for kind, count in sorted(repairs.added.items()):
        io.say(f"added: {count} × {kind}")
