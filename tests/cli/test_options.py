"""Bundles of options: declared once, handed over as one object."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from ctxkit.cli.options import Reading, Selecting, Writing, takes
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS


def test_takes() -> None:
    """The command gets one object a bundle, with what was typed or the defaults."""
    seen: list[Any] = []

    @takes(Selecting, Reading)
    def command(
        name: Annotated[str, typer.Argument()] = "x",
        *,
        full: bool = False,
        reading: Reading,
        selecting: Selecting,
    ) -> None:
        """Words."""
        seen.append((name, full, reading, selecting))

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, ["y", "--full", "--role", "user", "--now", "wall", "-q"])
    assert result.exit_code == 0, result.output
    [(name, full, reading, selecting)] = seen
    assert (name, full, reading.now, reading.quiet, reading.json) == ("y", True, "wall", True, False)
    assert (selecting.role, selecting.tool, selecting.invert) == ("user", None, False)


def test_a_flag_of_a_bundle_is_not_declared_twice() -> None:
    """A command that names one of its bundles' flags itself is a mistake of ours."""

    def command(*, role: str | None = None, selecting: Selecting) -> None:
        """Words."""

    with pytest.raises(ValueError, match="duplicate parameter name"):
        takes(Selecting)(command)


def test_name_and_words_stay() -> None:
    """A wrapped command keeps its name and docstring, from which its help is made."""

    @takes(Writing)
    def command(*, writing: Writing) -> None:
        """Words."""

    assert (command.__name__, command.__doc__) == ("command", "Words.")
    assert set(inspect.signature(command).parameters) == {"dry_run", "op_id", "yes"}


WRITERS = [name for name, one in COMMANDS.items() if one.group == "change" and name not in ("init", "add")]


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_has_the_options_of_writers(name: str) -> None:
    """--dry-run, --op-id, --json, -q."""
    options = {word for option in command_parser(name).params for word in option.opts}
    assert {"--dry-run", "--op-id", "--json", "-q", "--sidecar", "--conversation", "--force-replay"} <= options


@pytest.mark.parametrize("name", ["show", "log", "why", "export", "window"])
def test_every_looker_looks_back(name: str) -> None:
    """--at, --now, --json, -q."""
    options = {word for option in command_parser(name).params for word in option.opts}
    assert {"--at", "--now", "--json", "-q"} <= options


NO_STREAM = (
    "init", "fleet", "help", "memory", "metrics", "recall", "sessions", "snapshots", "sql", "tool",
    "watch",
)  # fmt: skip
"""They take no log from standard input (of many logs, of folders, of a sidecar alone), or behind another word."""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NO_STREAM])
def test_log_comes_first(name: str) -> None:
    """LOG is the first argument everywhere (of recall, the first of many), and standard input where it is left out."""
    first = next(option for option in command_parser(name).params if option.param_type_name == "argument")
    many = any(option.name == "files_from" for option in command_parser(name).params)
    assert (first.name, first.default) == ("log", None if many else "-")
