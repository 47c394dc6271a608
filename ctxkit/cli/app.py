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
from typer.core import TyperCommand, TyperGroup

from ctxkit.cli import fds
from ctxkit.errors import ExitCode, Usage

COMMANDS: dict[str, tuple[str, str]] = {
    "show": ("look", "the context, for people"),
    "status": ("look", "how full the context is, and what is in it and out of it"),
    "log": ("look", "the ops, newest last, with what each did"),
    "diff": ("look", "what differs between two states of a log, or two logs"),
    "why": ("look", "why a message is in the context or out of it"),
    "recall": ("look", "search everything, also what is out; bring it back"),
    "sessions": ("look", "the sessions below folders, newest first"),
    "cat": ("look", "the log with its sidecar's ops merged in: the start of a pipe"),
    "init": ("change", "create a log and its sidecar"),
    "add": ("change", "append a message"),
    "mark": ("change", "a point to come back to"),
    "rewind": ("change", "drop the messages that came after a mark"),
    "forget": ("change", "take messages out of the context; the bytes stay"),
    "remember": ("change", "keep only these messages"),
    "clear": ("change", "start afresh; nothing leaves the log"),
    "compact": ("change", "replace old messages by a summary of them"),
    "trim": ("change", "make the context fit a budget, by rules"),
    "edit": ("change", "the whole history as a text: delete, reorder, change, add"),
    "restore": ("change", "bring a snapshot back into the context"),
    "protect": ("change", "never compact, trim or forget these by the way"),
    "unprotect": ("change", "take protection away"),
    "window": ("change", "how far back the context reaches"),
    "undo": ("change", "void an op"),
    "redo": ("change", "void the newest undo"),
    "export": ("keep", "the context in the shape of a provider's request"),
    "snapshot": ("keep", "keep the context as a file, to come back to"),
    "checkpoint": ("keep", "a small reference to the context as it is, to come back to"),
    "snapshots": ("keep", "what was kept, newest first; remove some of it"),
    "check": ("keep", "find damage in the log and its ops"),
    "recover": ("keep", "after a crash: what is damaged or unfinished, and back to where all is whole"),
    "salvage": ("keep", "a clean copy of a damaged log, and what it does not have"),
    "tool": ("live", "let a model forget: the definition of the tool, and its calls"),
    "completion": ("about", "the script that makes a shell complete all of this"),
    "config": ("set", "show, get, set and unset the settings of a log, or your own"),
    "help": ("about", "examples, options and exit codes of a command"),
}
"""Name -> group and one line for `ctxkit --help`. The module is `ctxkit.cli.<name>`."""

COMPLETE = "__complete"
"""What the scripts of shells call: `cli/completing.py`."""

GROUPS = {"look": "Look", "change": "Change", "keep": "Keep", "live": "Live", "set": "Set", "about": "About ctxkit"}


def module_of(name: str) -> str:
    """The module that holds the command."""
    return f"ctxkit.cli.{name}"


class Command(TyperCommand):
    """A command whose help is its page (`help.py`)."""

    def get_help(self, ctx: Any) -> str:
        """Prints the page itself, and ends."""
        raise _helped(self.name)


def single(name: str) -> Any:
    """The command object of one command; imports its module."""
    one = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    command = import_module(module_of(name)).command
    one.command(name, help=command.__doc__, cls=Command, context_settings=HELP)(command)
    return typer.main.get_command(one)


HELP = {"help_option_names": ["-h", "--help"]}


def _helped(name: str | None) -> typer.Exit:
    from ctxkit.cli import help as pages

    pages.show(name if name in COMMANDS else None)
    return typer.Exit()


class Commands(TyperGroup):
    """The program without a command: its options, and the list of commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None for a name that is not in the table."""
        return single(cmd_name) if cmd_name in COMMANDS else None

    def get_help(self, ctx: Any) -> str:
        """Prints the list itself, and ends."""
        raise _helped(None)


def _version(value: bool) -> None:
    if value:
        from ctxkit.version import VERSION

        typer.echo(f"ctxkit {VERSION}")
        raise typer.Exit


def _build() -> Any:
    app = typer.Typer(
        cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, context_settings=HELP
    )

    @app.callback()
    def root(version: bool = typer.Option(False, "--version", callback=_version)) -> None:
        """What `pages.overview` tells."""

    return typer.main.get_command(app)


def run(words: Sequence[str]) -> int:
    """Run one command line; the exit status. Every expected failure is rendered here and nowhere else."""
    from ctxkit.cli import io

    args = list(words)  # the parser takes them off one by one
    paged = args[:1] != ["--no-pager"]
    args = args if paged else args[1:]
    io.Streams.begin(args, paged=paged)
    path = os.environ.get("CTXKIT_LOG")
    if path and path != os.devnull and args and args[0] in COMMANDS:
        from ctxkit.cli.metering import metered

        return metered(args[0], path, lambda: _run(args))
    return _run(args)


def _run(args: list[str]) -> int:
    from ctxkit.cli import io

    try:
        try:
            if args and args[0] in COMMANDS:  # the short way: no other command is built
                command, rest, name = single(args[0]), args[1:], f"ctxkit {args[0]}"
            elif args and args[0] == COMPLETE:
                from ctxkit.cli.completing import answer

                return answer(args[1:])
            elif args and not args[0].startswith("-"):
                raise unknown(args[0])
            else:
                command, rest, name = _build(), args or ["--help"], "ctxkit"
            with command.make_context(name, rest) as context:
                status = command.invoke(context)
            io.flush()
            return status if isinstance(status, int) else ExitCode.DONE
        except typer.Exit as stop:
            io.flush()
            return int(stop.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        from ctxkit.cli import failing

        return failing.rendered(error)
    finally:
        io.end()


def unknown(name: str) -> Usage:
    """The error for a name that is no command's; it names the nearest."""
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    return Usage(f"no such command: {name}", f"ctxkit {near[0]}?" if near else "ctxkit --help lists them")


def main() -> None:
    """The entry point of the console script."""
    gc.disable()  # reading leaves no cycles, and looking for some among a growing million of messages takes long
    if 1 in fds.fill():
        from ctxkit.cli import failing

        status = failing.no_output()
    else:
        status = run(_words())
    os._exit(status)  # both streams were flushed, nothing else is open; taking a million messages apart takes a while


def _words() -> list[str]:
    return sys.argv[1:]


def every() -> Iterator[tuple[str, Any]]:
    """All commands with their modules, for help pages and tests."""
    for name in COMMANDS:
        yield name, import_module(module_of(name))
