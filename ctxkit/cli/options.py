"""Parameters that several commands share, each declared once.

A command takes them as bundles: `@takes(Reading, Selecting)` adds their options to its own and hands it one object a
bundle, under the bundle's name in lower case, `request_options` for RequestOptions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import streams


def named_session(ctx: typer.Context, value: str | None) -> str | None:
    """The path of the session that `@…` names; any other word as it is."""
    if value is None or not value.startswith("@"):
        return value
    from ctxkit.cli.session_names import path_of

    return path_of(value, writes=COMMANDS[ctx.command.name or ""].writes)


def named_or_picked(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str | None:
    """The same; where no log is named, on a terminal, the session that is picked there."""
    source = ctx.get_parameter_source(str(param.name))
    if value != "-" or source is None or source.name != "DEFAULT" or not streams.on_terminal():
        return named_session(ctx, value)
    from ctxkit.cli.session_names import picked

    return picked()


LOG_HELP = "A log: a path, @ (the newest session of this project), or - for standard input."
LogArgument = Annotated[
    str,
    typer.Argument(metavar="[LOG]", help=LOG_HELP, show_default=False, callback=named_or_picked),
]
UnpickedLog = Annotated[str, typer.Argument(metavar="[LOG]", help=LOG_HELP, show_default=False, callback=named_session)]
"""The same for a command that does without one, or that takes a log of one's own."""

Numbers = Annotated[list[str] | None, typer.Argument(metavar="[N]...", help="Messages: 45, 45-67, 7.1.")]

MaxTokens = Annotated[
    str | None, typer.Option("--max-tokens", metavar="N|P%", help="The budget in tokens (128000, 128k, 30%).")
]
"""`cli/amounts.py` reads it."""
Fitting = Annotated[
    str | None,
    typer.Option("--max-tokens", metavar="N|P%", help="The budget in tokens (128000, 128k, 30%); off: no budget."),
]
"""The same for a look; `cli/log_access.py` reads it."""

SidecarOption = Annotated[str | None, typer.Option(metavar="DIR", help="The sidecar folder, if not beside the log.")]
UtcOption = Annotated[bool, typer.Option("--utc", help="Print times in UTC, and read typed times as UTC.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 78 if config of the log's folder would be ignored.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No reports on standard error.")]


class Looking:
    """State to read."""

    at: Annotated[
        str | None,
        typer.Option(metavar="OP", help="The state right after this op (number or id; 3^: before op 3), or now."),
    ] = None


class Assembling:
    """Text around the context."""

    no_assembly: Annotated[
        bool, typer.Option("--no-assembly", help="Only the log's messages: no system prompt, docs or thread status.")
    ] = False
    status: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text after the status of the threads; - for standard input.")
    ] = None


class RequestOptions:
    """Sent besides messages."""

    tools: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="JSON of the tool definitions that are sent too; - for standard input."),
    ] = None
    overhead: Annotated[
        str | None, typer.Option(metavar="N", help="Tokens of a request besides messages and tools (12k).")
    ] = None


class Reading:
    """Reading the log."""

    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What windows count from: last (newest message), wall, or a time."),
    ] = None
    sidecar: SidecarOption = None
    conversation: Annotated[
        int | None, typer.Option(metavar="N", help="Which conversation of a file that holds many.")
    ] = None
    from_: Annotated[str | None, typer.Option("--from", metavar="FORMAT", help="Read the log as this format.")] = None
    force_replay: Annotated[bool, typer.Option("--force-replay", help="Also apply ops that do not fit the log.")] = (
        False
    )
    strict: StrictOption = False
    utc: UtcOption = False
    json: JsonOption = False
    quiet: QuietOption = False


class Writing:
    """Writing the op."""

    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Print the op, append nothing.")] = False
    op_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the op; an id that is in the log is not appended again.")
    ] = None


class Selecting:
    """Choosing messages."""

    last: Annotated[
        str | None, typer.Option(metavar="N[x|s]", help="The newest N messages, exchanges (Nx) or steps (Ns).")
    ] = None
    role: Annotated[str | None, typer.Option(metavar="ROLE", help="With this role; human: what a person typed.")] = None
    tool: Annotated[str | None, typer.Option(metavar="GLOB", help="Calls of these tools, and their results.")] = None
    grep: Annotated[str | None, typer.Option(metavar="REGEX", help="Messages whose text matches.")] = None
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not older than a time, or than a duration before now (2h).")
    ] = None
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not newer than a time, or than a duration before now.")
    ] = None
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Messages of this agent, or of no agent.")] = None
    thread: Annotated[str | None, typer.Option(metavar="NAME", help="Messages of this thread, or of no thread.")] = None
    after_mark: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Messages after the newest mark with this label.")
    ] = None
    before_mark: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Messages before the newest mark with this label.")
    ] = None
    about: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Messages about this topic, ranked by their words.")
    ] = None
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most N messages for --about (default 20).")
    ] = None
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Ask this model for --about (openai/gpt-...).")] = (
        None
    )
    invert: Annotated[bool, typer.Option("--invert", help="All messages except the chosen ones.")] = False


def _parameter(bundle: type) -> str:
    """What a command calls the object of a bundle."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", bundle.__name__).lower()


def takes(*bundles: type) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Adds the options of `bundles` to a command. The command has a keyword parameter for each, named after it.

    An option that the command declares itself is its own: the bundle has its value too, and names it in `own`.
    """

    def wrap(function: Callable[..., int | None]) -> Callable[..., int | None]:
        names = {_parameter(bundle): bundle for bundle in bundles}
        signature = inspect.signature(function, eval_str=True)
        own = [p for p in signature.parameters.values() if p.name not in names]
        declared = frozenset(p.name for p in own)
        shared = [
            inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=getattr(bundle, field), annotation=hint)
            for bundle in bundles
            for field, hint in get_type_hints(bundle, include_extras=True).items()
            if field not in declared
        ]

        def command(**given: Any) -> int | None:
            for name, bundle in names.items():
                packed = bundle()
                packed.own = declared & bundle.__annotations__.keys()
                for field in bundle.__annotations__:
                    setattr(packed, field, given[field] if field in declared else given.pop(field))
                given[name] = packed
            return function(**given)

        command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
        parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *shared]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions may carry one, typeshed says not
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.declared = declared  # type: ignore[attr-defined]  # likewise
        command.bundles = bundles  # type: ignore[attr-defined]  # for help, which lists the options of each together
        return command

    return wrap
