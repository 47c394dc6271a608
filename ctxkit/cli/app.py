"""The entry point of the command line: runs the command that was asked for, and turns errors into exit codes.

Only the module of that command is imported.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

import typer

from ctxkit.cli.parser import HelpAsked, command_parser, program_parser
from ctxkit.cli.registry import COMMANDS, COMPLETE, unknown
from ctxkit.cli.terminal import descriptors
from ctxkit.errors import ExitCode


def run(words: Sequence[str]) -> int:
    """Run one command line; the exit status. Every expected failure is rendered here and nowhere else."""
    from ctxkit.cli.terminal import streams

    args = list(words)  # the parser takes them off one by one
    paged = args[:1] != ["--no-pager"]
    args = args if paged else args[1:]
    streams.Streams.begin(args, paged=paged)
    path = os.environ.get("CTXKIT_LOG")
    if path and path != os.devnull and args and args[0] in COMMANDS:
        from ctxkit.cli.token_meter import metered

        return metered(args[0], path, lambda: _run(args))
    return _run(args)


def _run(args: list[str]) -> int:
    from ctxkit.cli.terminal import streams

    try:
        try:
            if args and args[0] in COMMANDS:  # the short way: no other command is built
                command, rest, name = command_parser(args[0]), args[1:], f"ctxkit {args[0]}"
            elif args and args[0] == COMPLETE:
                from ctxkit.cli.help.completion import answer

                return answer(args[1:])
            elif args and not args[0].startswith("-"):
                raise unknown(args[0])
            else:
                command, rest, name = program_parser(), args or ["--help"], "ctxkit"
            with command.make_context(name, rest) as context:
                status = command.invoke(context)
            streams.flush()
            return status if isinstance(status, int) else ExitCode.DONE
        except HelpAsked as asked:
            from ctxkit.cli.help.page_view import show

            show(asked.name, brief=asked.brief)
            streams.flush()
            return ExitCode.DONE
        except typer.Exit as stop:
            streams.flush()
            return int(stop.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        from ctxkit.cli.terminal import error_report

        return error_report.rendered(error)
    finally:
        streams.end()


def main() -> None:
    """The entry point of the console script."""
    gc.disable()  # reading leaves no cycles, and looking for some among a growing million of messages takes long
    if 1 in descriptors.fill():
        from ctxkit.cli.terminal import error_report

        status = error_report.no_output()
    else:
        status = run(_words())
    os._exit(status)  # both streams were flushed, nothing else is open; taking a million messages apart takes a while


def _words() -> list[str]:
    return sys.argv[1:]
