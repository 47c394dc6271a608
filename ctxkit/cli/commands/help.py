"""ctxkit help: what a command does, examples first; the same as `--help`."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.help.page_view import as_json, show, show_exit_codes
from ctxkit.cli.help.pages import exits, overview, page
from ctxkit.cli.registry import COMMANDS, unknown
from ctxkit.cli.terminal import streams

EXIT_CODES = "exit-codes"
"""The page that is no command's."""


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[COMMAND]", help="A command, or exit-codes (default: list all commands).")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No reports on standard error.")] = False,
) -> None:
    """Show help: examples, what the command does, its options.

    The same as `ctxkit COMMAND --help`; `ctxkit COMMAND -h` is one screen of it. `ctxkit help exit-codes` lists what
    each exit code means. --json prints a JSON object.
    """
    streams.Streams.quiet = quiet
    if name == EXIT_CODES:
        if json:
            streams.out_json({"exits": [{"code": code, "meaning": text} for code, text in exits()]})
        else:
            show_exit_codes()
        return
    if name is not None and name not in COMMANDS:
        raise unknown(name)
    if json:
        streams.out_json(as_json(page(name) if name else overview()))
    else:
        show(name)
