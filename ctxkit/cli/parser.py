"""Parsers of the command line, made by typer from the functions of commands. A call for help raises HelpAsked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ctxkit.cli.flags import with_bare
from ctxkit.cli.registry import COMMANDS

SETTINGS = {"help_option_names": ["-h", "--help"]}


class HelpAsked(Exception):
    """`--help` of a command, or of the program (None). `brief`: only `-h` was typed: one screen."""

    def __init__(self, name: str | None, *, brief: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.brief = brief


class CommandParser(TyperCommand):
    """The parser of one command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words, and keeps whether `--help` is one of them."""
        ctx.obj = "--help" in args
        return super().parse_args(ctx, with_bare(args))

    def get_help(self, ctx: Any) -> str:
        """Raises HelpAsked for the command's page."""
        raise HelpAsked(self.name if self.name in COMMANDS else None, brief=not ctx.obj)


class ProgramParser(TyperGroup):
    """The parser of the program without a command: its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words, and keeps whether `--help` is one of them."""
        ctx.obj = "--help" in args
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The parser of a command, made now; None for a name that is not in the table."""
        return command_parser(cmd_name) if cmd_name in COMMANDS else None

    def get_help(self, ctx: Any) -> str:
        """Raises HelpAsked for the program's page."""
        raise HelpAsked(None, brief=not ctx.obj)


def command_parser(name: str) -> Any:
    """The parser of the command with that name; imports its module."""
    return _parser_of(name, COMMANDS[name].load())


@cache
def _parser_of(name: str, command: Callable[..., Any]) -> Any:
    """The parser of a command's function: making it takes a third of a short command's time, and pages need all."""
    one = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    one.command(name, help=command.__doc__, cls=CommandParser, context_settings=SETTINGS)(command)
    return typer.main.get_command(one)


def program_parser() -> Any:
    """The parser of a call that names no command."""
    app = typer.Typer(
        cls=ProgramParser,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings=SETTINGS,
    )

    @app.callback()
    def root(version: bool = typer.Option(False, "-V", "--version", callback=_version)) -> None:
        """Takes the options of the program; `pages.overview` has its help."""

    return typer.main.get_command(app)


def _version(value: bool) -> None:
    if value:
        from ctxkit.version import VERSION

        typer.echo(f"ctxkit {VERSION}")
        raise typer.Exit
