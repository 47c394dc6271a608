"""Makes commands from functions: their arguments, and their flags, alone or in bundles.

`@takes(Reading, Selecting)` adds the flags of these bundles to a command's own. The command gets one object per bundle,
in a parameter with the bundle's name: `request_options` for RequestOptions. Flags are declared in `cli/flags.py`.

`@takes(ManyLogs, …)` makes of a command on one log one that takes many: its arguments may name several logs and
folders. It then runs on each, by `cli/many_logs.py`, where a command may say what its line is.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any, get_args, get_type_hints

import typer

from ctxkit.cli.flags import CHOICES, FLAGS
from ctxkit.cli.registry import COMMANDS, names_log
from ctxkit.cli.terminal import streams
from ctxkit.errors import Usage


def session_path(word: str, *, writes: bool = False) -> str:
    """The path of the session that `@…` names; any other word as it is. Raises what `session_names.path_of` raises."""
    if not word.startswith("@"):
        return word
    from ctxkit.cli.session_names import path_of

    return path_of(word, writes=writes)


def refuse_doubtful(path: str) -> None:
    """For an option that writes, of a command that usually reads: raises TwoSessions as `path_of(writes=True)` does."""
    if (error := streams.Streams.doubtful.get(path)) is not None:
        raise error()


def named_session(ctx: typer.Context, value: str | None) -> str | None:
    """The path of the log that an argument names; None without one."""
    return None if value is None else session_path(value, writes=COMMANDS[ctx.command.name or ""].writes)


def named_or_picked(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str | None:
    """The path of the log that an argument names; without one, on a terminal, that of the session picked there."""
    source = ctx.get_parameter_source(str(param.name))
    if value != "-" or source is None or source.name != "DEFAULT" or not streams.on_terminal():
        return named_session(ctx, value)
    from ctxkit.cli.session_names import picked

    return picked()


STORES = {("fleet", "output")}
"""Command and option that names a file of this machine for some actions, and for others a URL: it looks itself."""


def refuse_url(option: str, value: str | None) -> None:
    """Raises Usage for a URL where a path is written, which would be a path of folders with that name here."""
    if value is not None and (scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", value)):
        text = f"{option} writes to this machine, not to {scheme[1]}:// URLs: nothing was done"
        raise Usage(text, f"name a path, and copy what is written there by a program for {scheme[1]}://")


def _written_here(param: typer.CallbackParam, value: str | None) -> str | None:
    """The path of what is written. Raises Usage."""
    refuse_url(str(param.opts[-1]), value)
    return value


LOG_HELP = "A log: a path, @ (the newest session of this project), or - for standard input."
LogArgument = Annotated[
    str,
    typer.Argument(metavar="[LOG]", help=LOG_HELP, show_default=False, callback=named_or_picked),
]
UnpickedLog = Annotated[str, typer.Argument(metavar="[LOG]", help=LOG_HELP, show_default=False, callback=named_session)]
"""A log argument without the picker, for commands that need no log or only a log of one's own."""

Numbers = Annotated[list[str] | None, typer.Argument(metavar="[N]...", help="Messages: 45, 45-67, 7.1.")]


LOGS_HELP = "Logs: paths, @ (the newest session of this project), or - for standard input; of a folder, all logs below."
NUMBER = re.compile(r"([0-9]+(-[0-9]*)?|[0-9A-Za-z_-]+\.[0-9]*)(,([0-9]+(-[0-9]*)?|[0-9A-Za-z_-]+\.[0-9]*))*")
"""A word that names messages, not a log."""


class ManyLogs:
    """Many logs."""

    files_from: str | None = None
    jobs: int | None = None


class Looking:
    """State to read."""

    at: str | None = None


class Assembling:
    """Text around the context."""

    no_assembly: bool = False
    memory: bool = False
    status: str | None = None
    agent_config: str | None = None


class RequestOptions:
    """Sent besides messages."""

    tools_file: str | None = None
    overhead: str | None = None


class Reading:
    """Reading the log."""

    now: str | None = None
    sidecar: str | None = None
    own: bool = False
    conversation: int | None = None
    from_: str | None = None
    force_replay: bool = False
    strict: bool = False
    utc: bool = False
    json: bool = False
    quiet: bool = False


class Writing:
    """Writing the op."""

    dry_run: bool = False
    op_id: str | None = None
    yes: bool = False


class Selecting:
    """Choosing messages."""

    last: str | None = None
    role: str | None = None
    tool: str | None = None
    grep: str | None = None
    since: str | None = None
    until: str | None = None
    agent: str | None = None
    thread: str | None = None
    after_mark: str | None = None
    before_mark: str | None = None
    about: str | None = None
    top: int | None = None
    about_model: str | None = None
    invert: bool = False


class FleetEngine(StrEnum):
    """Where `fleet ingest` and `fleet map` run."""

    LOCAL = "local"
    RAY = "ray"


class ForIngest:
    """For ingest."""

    part: str | None = None
    redact: bool = False
    scout: bool = False
    fold: bool = False
    keep_missing: bool = False
    dry_run: bool = False


class ForSql:
    """For sql."""

    dataset: str | None = None
    query: str | None = None
    views: bool = False
    schema: bool = False
    csv: bool = False
    table: bool = False
    parquet: str | None = None
    timeout: str | None = None


class ForMap:
    """For map."""

    set: list[str] | None = None
    ledger: str | None = None


class ForCluster:
    """For ingest and map."""

    engine: FleetEngine | None = None
    retries: int | None = None
    task_cpus: float | None = None
    task_memory: str | None = None


def _parameter(bundle: type) -> str:
    """The name of the parameter for a bundle."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", bundle.__name__).lower()


def takes(*bundles: type) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Makes a command of a function: its keyword parameters are flags of `cli/flags.py`, by their names.

    The flags of `bundles` are added. The function has a keyword parameter for each bundle, named after it.
    """

    def wrap(function: Callable[..., int | None]) -> Callable[..., int | None]:
        name = function.__module__.rpartition(".")[2]
        packs = {_parameter(bundle): bundle for bundle in bundles}
        signature = inspect.signature(function, eval_str=True)
        own = [p for p in signature.parameters.values() if p.name not in packs]
        many = ManyLogs in bundles and "many_logs" not in signature.parameters
        places = [p.name for p in own if p.kind is not p.KEYWORD_ONLY] if many else []
        own = [*map(_variadic, range(len(places), 0, -1), own), *own[len(places) :]] if many else own
        shared = [
            inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=getattr(bundle, field), annotation=hint)
            for bundle in bundles
            for field, hint in get_type_hints(bundle).items()
        ]
        declared = [_option(p, name) if p.kind is p.KEYWORD_ONLY else p for p in (*own, *shared)]

        def command(**given: Any) -> int | None:
            if given.get("redact") or name == "scan":  # a secret may stand in the name of a file
                streams.redact()
            return for_one(**given) if not many else _for_each(name, places, for_one, given)

        def for_one(**given: Any) -> int | None:
            streams.Streams.quiet = bool(given.get("quiet"))
            for key, bundle in packs.items():
                if many and bundle is ManyLogs:
                    given = {name: value for name, value in given.items() if name not in bundle.__annotations__}
                    continue
                packed = bundle()
                for field in bundle.__annotations__:
                    setattr(packed, field, given.pop(field))
                given[key] = packed
            return function(**given)

        command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in declared]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # any attribute is allowed, but not typed
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.for_one = for_one  # type: ignore[attr-defined]  # for `cli/many_logs.py`, which runs it on each log
        command.bundles = bundles  # type: ignore[attr-defined]  # for help, which lists the options of each together
        return command

    return wrap


def _variadic(left: int, parameter: inspect.Parameter) -> inspect.Parameter:
    """An argument of a command that takes many logs; the last one (`left` is 1) takes what is left, logs too."""
    kind, argument = get_args(parameter.annotation)
    is_log = argument.metavar == "[LOG]"
    words = typer.Argument(
        metavar="[LOG]..." if is_log else argument.metavar, help=LOGS_HELP if is_log else argument.help,
        show_default=False,
    )  # fmt: skip
    kind = list[str] | None if left == 1 else str | None
    return parameter.replace(annotation=Annotated[kind, words], default=None)


def _for_each(
    name: str, places: Sequence[str], for_one: Callable[..., int | None], given: dict[str, Any]
) -> int | None:
    """Run a command on the one log that its arguments name, or on each of many.

    `places`: its arguments: the log, then what else may be named: numbers of messages, or one op.
    """
    words: list[str] = []
    for place in places:
        value = given.pop(place)
        words += [] if value is None else [value] if isinstance(value, str) else value
    files_from, numbers = given["files_from"], places[1:] == ["numbers"]
    first = 0 if files_from is not None and words and not names_log(words[0]) else 1
    is_log = [
        at < first or not places[1:] or (names_log(one) and not NUMBER.fullmatch(one) and one.strip("."))
        for at, one in enumerate(words)
    ]
    logs = [word for word, is_one in zip(words, is_log, strict=True) if is_one]
    rest = [word for word, is_one in zip(words, is_log, strict=True) if not is_one]
    if len(rest) > 1 and not numbers:
        raise Usage(f"unexpected extra argument: {rest[1]}", f"put words with blanks in quotes; ctxkit {name} --help")
    if files_from is not None or len(logs) > 1 or (logs and logs[0] != "-" and os.path.isdir(logs[0])):
        from ctxkit.cli import many_logs

        if many_logs.fits(name, given, logs):
            paths = {one: session_path(one, writes=COMMANDS[name].writes) for one in logs}
            return many_logs.run(name, paths, rest, places[1:], given)
    log = session_path(logs[0], writes=COMMANDS[name].writes) if logs else "-"
    if not logs and not given.get("kinds") and streams.on_terminal():
        from ctxkit.cli.session_names import picked

        log = picked()
    beside = {} if not places[1:] else {places[1]: (rest or None) if numbers else next(iter(rest), None)}
    return for_one(**given, **{places[0]: log}, **beside)


def _option(parameter: inspect.Parameter, command: str) -> inspect.Parameter:
    """The parameter with the flag that it is named after. A flag that is not declared is a KeyError."""
    flag = FLAGS[parameter.name.rstrip("_")]
    metavar = None if flag.metavar == CHOICES else flag.values.get(command, flag.metavar)
    option = typer.Option(
        *flag.names.split(), help=flag.on.get(command, flag.help), metavar=metavar, min=flag.least, parser=flag.read,
        callback=_written_here if flag.writes and (command, flag.key) not in STORES else None,
    )  # fmt: skip
    return parameter.replace(annotation=Annotated[parameter.annotation, option])
