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

    args, paged = settled(words)
    streams.Streams.begin(args, paged=paged)
    path = os.environ.get("CTXKIT_LOG")
    if path and path != os.devnull and args and args[0] in COMMANDS:
        from ctxkit.cli.token_meter import metered

        return metered(args[0], path, lambda: _run(args))
    return _run(args)


MOVED = {"-q": "--quiet", "--quiet": "--quiet", "-n": "--dry-run", "--dry-run": "--dry-run", "--json": "--json"}
"""Options that may stand before the command, too -> as they stand behind it."""


def settled(words: Sequence[str]) -> tuple[list[str], bool]:
    """A call with its command first and the options that stood before it behind it; whether a pager may be used.

    A file, or `@…`, in the command's place is shown; a command of that name counts before it.
    """
    args, before, paged = list(words), [], True
    while args and (args[0] in MOVED or args[0] in ("--no-pager", "-V")):
        word = args.pop(0)
        if word == "-V":
            return ["--version"], paged
        if word == "--no-pager":
            paged = False
        else:
            before.append(MOVED[word])
    if args and args[0] not in COMMANDS and _is_log(args[0]):
        args.insert(0, "show")
    return [*args[:1], *before, *args[1:]], paged


def _is_log(word: str) -> bool:
    """Whether a word in the command's place is a file, or meant to be one."""
    if word.startswith("-") or word == COMPLETE:
        return False
    return word.startswith("@") or os.sep in word or word.endswith((".jsonl", ".json")) or os.path.lexists(word)


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
            elif not args and streams.Streams.columns and streams.on_terminal():
                from ctxkit.cli.first_screen import show as show_first

                if show_first():
                    streams.flush()
                    return ExitCode.DONE
                command, rest, name = program_parser(), ["--help"], "ctxkit"
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
