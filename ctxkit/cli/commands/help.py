"""ctxkit help: what a command does, examples first; the same as `--help`. --completion: the script of a shell."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.cli.help.page_view import as_json, show, show_exit_codes, show_flags
from ctxkit.cli.help.pages import every_flag, exits, overview, page
from ctxkit.cli.options import takes
from ctxkit.cli.registry import COMMANDS, unknown
from ctxkit.cli.terminal import streams
from ctxkit.errors import Usage

EXIT_CODES, FLAGS = "exit-codes", "flags"
"""Pages that belong to no command."""
SCRIPTS = Path(__file__).parents[1] / "help" / "shells"
"""The wheel ships the same files where shells look for them."""


class Shell(StrEnum):
    """Shells with a completion script."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


FILES = {Shell.bash: "ctxkit.bash", Shell.zsh: "_ctxkit", Shell.fish: "ctxkit.fish"}


@takes()
def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[COMMAND]", help="A command, exit-codes, or flags (default: all commands)."),
    ] = None,
    *,
    completion: Shell | None = None,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Show help: examples, what the command does, its options.

    The same as `ctxkit COMMAND --help`; `ctxkit COMMAND -h` is one screen of it. `ctxkit help exit-codes` lists what
    each exit code means, `ctxkit help flags` all options of all commands. --json prints a JSON object.

    --completion prints the script with which a shell completes commands, options, values, files and marks. An
    installation into a prefix that shells search, such as /usr/local, includes these files already; else

    bash: `ctxkit help --completion bash >~/.local/share/bash-completion/completions/ctxkit`, for new shells.

    zsh: `ctxkit help --completion zsh >DIR/_ctxkit`, where DIR is in $fpath before compinit runs.

    fish: `ctxkit help --completion fish >~/.config/fish/completions/ctxkit.fish`.
    """
    if completion is not None:
        if name is not None:
            raise Usage("--completion is of all commands, and one was named", "leave one of the two out")
        _print_script(completion, json=json)
        return
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


def _print_script(shell: Shell, *, json: bool) -> None:
    script = (SCRIPTS / FILES[shell]).read_bytes()
    if json:
        streams.out_json({"shell": shell.value, "file": FILES[shell], "script": script.decode("utf-8")})
    else:
        streams.out_bytes([script])
