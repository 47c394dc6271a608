"""ctxkit help: what a command does, examples first; the same as `--help`."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.help.page_view import as_json, show, show_exit_codes, show_flags
from ctxkit.cli.help.pages import every_flag, exits, overview, page
from ctxkit.cli.options import takes
from ctxkit.cli.registry import COMMANDS, unknown
from ctxkit.cli.terminal import streams

EXIT_CODES, FLAGS = "exit-codes", "flags"
"""Pages that belong to no command."""


@takes()
def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[COMMAND]", help="A command, exit-codes, or flags (default: all commands)."),
    ] = None,
    *,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Show help: examples, what the command does, its options.

    The same as `ctxkit COMMAND --help`; `ctxkit COMMAND -h` is one screen of it. `ctxkit help exit-codes` lists what
    each exit code means, `ctxkit help flags` all options of all commands. --json prints a JSON object.
    """
    if name == EXIT_CODES:
        if json:
            streams.out_json({"exits": [{"code": code, "meaning": text} for code, text in exits()]})
        else:
            show_exit_codes()
        return
    if name == FLAGS:
        if json:
            streams.out_json({"flags": [one._asdict() for one in every_flag()]})
        else:
            show_flags()
        return
    if name is not None and name not in COMMANDS:
        raise unknown(name)
    if json:
        streams.out_json(as_json(page(name) if name else overview()))
    else:
        show(name)
