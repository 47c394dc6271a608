"""ctxkit help: what a command does, examples first; the same as `--help`."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.help.page_view import as_json, show
from ctxkit.cli.help.pages import overview, page
from ctxkit.cli.registry import COMMANDS, unknown
from ctxkit.cli.terminal import streams


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[COMMAND]", help="The command; without it, the list of all.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Machine form on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No reports on standard error.")] = False,
) -> None:
    """Show help: examples, what the command does, its options.

    The same as `ctxkit COMMAND --help`. --json prints it as a JSON object.
    """
    streams.Streams.quiet = quiet
    if name is not None and name not in COMMANDS:
        raise unknown(name)
    if json:
        streams.out_json(as_json(page(name) if name else overview()))
    else:
        show(name)
