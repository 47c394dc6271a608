"""ctxkit status: how full the context is, and what is in it and out of it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec
import typer

from ctxkit.api.log import Log
from ctxkit.cli.amounts import tokens as tokens_of
from ctxkit.cli.log_access import opened, send
from ctxkit.cli.options import LogArgument, Looking, Reading, RequestOptions, takes
from ctxkit.cli.terminal import layout, status_view, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.errors import BadConfig, OverBudget, Usage
from ctxkit.measure.status import Budget, Status, as_json

SAID = 200
"""Characters of a message's text that --largest shows at most."""


class ShareKind(StrEnum):
    """What tokens are shared out by."""

    role = "role"
    tool = "tool"
    exchange = "exchange"
    file = "file"


@takes(RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    short: Annotated[
        bool, typer.Option("--short", help="One line, for a shell prompt or Claude Code's statusLine.")
    ] = False,
    no_tokens: Annotated[bool, typer.Option("--no-tokens", help="Count no tokens, and so read no content.")] = False,
    no_assembly: Annotated[
        bool, typer.Option("--no-assembly", help="Only the log's messages: no system prompt, docs or thread status.")
    ] = False,
    by: Annotated[
        ShareKind | None, typer.Option(metavar="KIND", help="Token shares by role, tool, exchange or file.")
    ] = None,
    largest: Annotated[int | None, typer.Option(metavar="N", min=1, help="The N largest messages.")] = None,
    files: Annotated[
        bool, typer.Option("--files", help="The files that tools read and wrote, with their tokens.")
    ] = False,
    only_context: Annotated[
        bool, typer.Option("--only-context", help="With --files: only calls that are in the context.")
    ] = False,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the tokens over the session, with marks and compactions.")
    ] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Print the plot as an SVG picture.")] = False,
    fail_at: Annotated[
        str | None,
        typer.Option("--fail-at", metavar="PERCENT", help="Exit 1 if this share of the limit is used (85%)."),
    ] = None,
    fail_over: Annotated[
        str | None, typer.Option("--fail-over", metavar="N", help="Exit 1 if more than N tokens are used.")
    ] = None,
    limit: Annotated[str | None, typer.Option(metavar="N", help="The context limit in tokens (128000, 128k).")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only messages of this agent, or of no agent.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only messages of this thread, or of no thread.")
    ] = None,
    request_options: RequestOptions,
    looking: Looking,
    reading: Reading,
) -> None:
    """Show how full the context is, which messages are in it and out of it and why, and whether the log is sound.

    It prints tokens (with the name of their counter) and their share of the limit, window and now, live marks, ops,
    agents, threads, damage and warnings. Damage does not change the exit code; use `ctxkit check` for that. --by,
    --largest and --files print what uses the tokens instead; --plot draws them over the session. --fail-at and
    --fail-over set the exit code, for CI. --json prints one object.
    """
    bounds = _bounds(fail_at, fail_over)
    tables = by is not None or largest is not None or files
    if no_tokens and (bounds != (None, None) or tables or plot or svg):
        raise Usage("--no-tokens counts nothing, so there is nothing to show or compare", "leave it out")
    if only_context and not files:
        raise Usage("--only-context is for --files; everything else shows only the context anyway", "add --files")
    if (plot or svg) and (tables or short):
        raise Usage(
            "--plot and --svg cannot be combined with other output", "leave --short, --by, --largest and --files out"
        )
    target, claude = _target(log, reading, looking, thread, short=short)
    target.lens_agent, target.lens_thread = agent, thread
    send(target, request_options)
    found = target.status(tokens=not no_tokens, limit=tokens_of("--limit", limit), assembly=not no_assembly)
    if found.tokens.used is not None and not (no_assembly or agent or thread or looking.at or reading.now or limit):
        from ctxkit.search.size_cache import note  # brings sqlite3: only where tokens are counted

        note(target, found.tokens)
    if plot or svg:
        _plot(target, found.tokens, svg=svg, json=reading.json)
    elif tables:
        held = TablesAsked(by, largest, files, only_context)
        _tables(target, found.tokens, held, json=reading.json)
    elif reading.json:
        streams.out_json(as_json(found))
    elif short:
        text = status_view.short(found, layout.width())
        streams.out(status_view.line(found, layout.width()) if claude else Styled(text, found.tokens.level or ""))
    else:
        for line in status_view.lines(found, layout.breadth()):
            streams.out(*line)
    _assert(found, *bounds)


def _target(log: str, reading: Reading, looking: Looking, thread: str | None, *, short: bool) -> tuple[Log, bool]:
    """The log that is meant, and whether Claude Code asks for its status line."""
    if short and log == "-":
        from ctxkit.cli import statusline

        return statusline.target(log, reading, looking, thread)
    return opened(log, reading, looking, command="status", report=False, thread=thread), False


class TablesAsked(NamedTuple):
    """What is asked of what holds the tokens."""

    by: ShareKind | None
    largest: int | None
    files: bool
    only_context: bool


def _tables(target: Log, tokens: Budget, asked: TablesAsked, *, json: bool) -> None:
    """What holds the tokens, the counter's name last."""
    from ctxkit.cli.terminal import share_tables
    from ctxkit.cli.terminal.message_view import one_line
    from ctxkit.core.context import entry
    from ctxkit.measure.shares import Shares

    shares = Shares(target)
    kinds = shares.by(asked.by.value) if asked.by is not None else None
    most = shares.largest(asked.largest) if asked.largest is not None else None
    held = shares.files(only_context=asked.only_context) if asked.files else None
    beyond = (tokens.used or 0) - sum(shares.tokens.values())
    if json:
        streams.out_json(
            msgspec.to_builtins(
                {"by": kinds, "largest": most, "files": held, "beyond": beyond, "counter": shares.counter}
            )
        )
        return
    if most:
        said = (one_line(target.full(entry(shares.state, name)), SAID) for name in shares.largest_names(len(most)))
        most = [msgspec.structs.replace(one, what=f"{one.what}: {text}") for one, text in zip(most, said, strict=True)]
    width, total = layout.width(), sum(shares.tokens.values())
    whole = layout.breadth()  # where a program reads it, a path is never cut, and a file has two lines
    paths = asked.by is ShareKind.file
    for lines in (
        share_tables.shares(kinds or (), whole if paths else width, total, paths=paths),
        share_tables.shares(most or (), width, total, numbered=True),
        share_tables.files(held or (), whole),
    ):  # fmt: skip
        for line in lines:
            streams.out(*line)
    streams.flush()
    rest = f"; beyond messages {beyond:,}" if beyond > 0 else ""
    if asked.files and not held:
        streams.say(f"no call in the {'context' if asked.only_context else 'log'} reads or writes a file")
    streams.say(f"tokens: {shares.counter}{rest}")


def _plot(target: Log, tokens: Budget, *, svg: bool, json: bool) -> None:
    """The course of the context, in the form that was asked for."""
    from ctxkit.measure.timeline import plotted

    around = (tokens.used or 0) - (tokens.measured.tokens if tokens.measured is not None else 0)
    course = plotted(target, around=around, limit=tokens.limit.value)
    if json:
        streams.out_json(msgspec.to_builtins(course))
    elif svg:
        from ctxkit.cli.terminal.timeline_svg import drawn

        path = target.opening.path
        streams.out_bytes([drawn(course, path.name if path is not None else target.opening.name).encode()])
    else:
        from ctxkit.cli.terminal import timeline_chart

        config = target.config
        levels = {"yellow": config["status.yellow"], "red": config["status.red"]}
        for line in timeline_chart.lines(course, layout.width(), **levels):
            streams.out(*line)


def _bounds(fail_at: str | None, fail_over: str | None) -> tuple[float | None, int | None]:
    """The asserted percent and tokens. Raises Usage."""
    percent = None
    if fail_at is not None:
        found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?) ?%?", fail_at, re.ASCII)
        if found is None:
            raise Usage(f"--fail-at {fail_at!r} is not a percentage", "85%, or 85")
        percent = float(found[1])
    return percent, tokens_of("--fail-over", fail_over)


def _assert(found: Status, percent: float | None, over: int | None) -> None:
    """Raises OverBudget where more is used than was asserted, BadConfig where no limit is known."""
    tokens = found.tokens
    if percent is not None:
        if tokens.percent is None:
            text = "no limit is known: neither the config nor the log's model names one, so --fail-at cannot be checked"
            raise BadConfig(text, "--limit N, or --fail-over N")
        if tokens.percent >= percent:
            share = f"{tokens.percent:g} % of {tokens.limit.value:,} tokens are used, {percent:g} % or more"
            raise OverBudget(f"{found.log}: {share}")
    if over is not None and tokens.used is not None and tokens.used > over:
        raise OverBudget(f"{found.log}: {tokens.used:,} tokens are used, more than {over:,}")
