"""The command line: which commands there are, and the one place where errors become exit codes.

A command is one file in `cli/` with a function `command` (its docstring is the help), and one line in COMMANDS. Only
the module of the command that was asked for is imported.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from ctxkit.cli import fds
from ctxkit.errors import CtxkitError, ExitCode, Usage

COMMANDS: dict[str, tuple[str, str]] = {
    "show": ("look", "the context, for people"),
    "log": ("look", "the ops, newest last, with what each did"),
    "why": ("look", "why a message is in the context or out of it"),
    "cat": ("look", "the log with its sidecar's ops merged in: the start of a pipe"),
    "init": ("change", "create a log and its sidecar"),
    "add": ("change", "append a message"),
    "mark": ("change", "a point to come back to"),
    "rewind": ("change", "drop the messages that came after a mark"),
    "forget": ("change", "take messages out of the context; the bytes stay"),
    "remember": ("change", "keep only these messages"),
    "clear": ("change", "start afresh; nothing leaves the log"),
    "protect": ("change", "never compact, trim or forget these by the way"),
    "unprotect": ("change", "take protection away"),
    "window": ("change", "how far back the context reaches"),
    "undo": ("change", "void an op"),
    "redo": ("change", "void the newest undo"),
    "export": ("keep", "the context in the shape of a provider's request"),
    "check": ("keep", "find damage in the log and its ops"),
}
"""Name -> group and one line for `ctxkit --help`. The module is `ctxkit.cli.<name>`."""

GROUPS = {"look": "Look", "change": "Change", "keep": "Keep"}


def module_of(name: str) -> str:
    """The module that holds the command."""
    return f"ctxkit.cli.{name}"


def single(name: str) -> Any:
    """The command object of one command; imports its module."""
    one = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    module = import_module(module_of(name))
    one.command(name, help=module.command.__doc__, epilog=_epilog(name))(module.command)
    return typer.main.get_command(one)


def _epilog(name: str) -> str:
    from ctxkit.cli.examples import epilog

    return epilog(name)


class Commands(TyperGroup):
    """The group: commands are imported when asked for, help lists them from the table."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None for a name that is not in the table."""
        return single(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list by groups."""
        for group, title in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (of, text) in COMMANDS.items() if of == group])


def _version(value: bool) -> None:
    if value:
        from ctxkit.version import VERSION

        typer.echo(f"ctxkit {VERSION}")
        raise typer.Exit


def _build() -> Any:
    app = typer.Typer(
        cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=False
    )

    @app.callback()
    def root(version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version)) -> None:
        """Unix commands for the context of LLM conversations.

        A log is append-only: every change is an op that is appended and can be undone. LOG is a path or - for
        standard input; with a path a command appends to the log, with - it copies the log to standard output and adds
        its op, so commands make pipes.
        """

    return typer.main.get_command(app)


def run(args: Sequence[str]) -> int:
    """Run one command line; the exit status. Every expected failure is rendered here and nowhere else."""
    from ctxkit.cli import io

    io.Streams.begin(args)
    try:
        try:
            if args and args[0] in COMMANDS:  # the short way: no other command is built
                command, words, name = single(args[0]), list(args[1:]), f"ctxkit {args[0]}"
            elif args and not args[0].startswith("-"):
                raise _unknown(args[0])
            else:
                command, words, name = _build(), list(args) or ["--help"], "ctxkit"
            with command.make_context(name, words) as context:
                status = command.invoke(context)
            io.flush()
            return status if isinstance(status, int) else ExitCode.DONE
        except typer.Exit as stop:
            io.flush()
            return int(stop.exit_code)
    except CtxkitError as error:
        return io.fail(error)
    except KeyboardInterrupt:
        return io.interrupted()
    except BrokenPipeError:
        return io.broken_pipe()
    except OSError as error:
        return io.system(error)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            return io.usage(error)
        return io.bug(error)


def _unknown(name: str) -> Usage:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    return Usage(f"no such command: {name}", f"ctxkit {near[0]}?" if near else "ctxkit --help lists them")


def main() -> None:
    """The entry point of the console script."""
    gc.disable()  # reading leaves no cycles, and looking for some among a growing million of messages takes long
    if 1 in fds.fill():
        from ctxkit.cli import io

        status = io.no_output()
    else:
        status = run(_words())
    os._exit(status)  # both streams were flushed, nothing else is open; taking a million messages apart takes a while


def _words() -> list[str]:
    return sys.argv[1:]


def every() -> Iterator[tuple[str, Any]]:
    """All commands with their modules, for help pages and tests."""
    for name in COMMANDS:
        yield name, import_module(module_of(name))
