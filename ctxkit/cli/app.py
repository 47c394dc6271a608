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
from ctxkit.cli.registry import COMMANDS, COMPLETE, names_log, unknown
from ctxkit.errors import ExitCode, Usage


def run(words: Sequence[str]) -> int:
    """Run one command line and return the exit status. All expected failures are rendered here."""
    from ctxkit.cli.terminal import streams

    words, form = log_format(words)
    args, paged = command_first(words)
    streams.begin(args, paged=paged)
    if form == "json":
        _report_as_json(args)
    elif form != "text":
        from ctxkit.cli.terminal import error_report

        hint = "--log-format text, the default, or json; or CTXKIT_LOG_FORMAT"
        return error_report.fail(Usage(f"no log format is called {form!r}: nothing was done", hint))
    path = os.environ.get("CTXKIT_LOG")
    if path and path != os.devnull and args and args[0] in COMMANDS:
        from ctxkit.cli.token_meter import metered

        return metered(args[0], path, lambda: _run(args))
    return _run(args)


def _report_as_json(args: Sequence[str]) -> None:
    """Write reports as lines of JSON."""
    from ctxkit.cli.terminal import streams
    from ctxkit.cli.terminal.event_log import EventLog

    streams.Streams.events = EventLog(args[0] if args and args[0] in COMMANDS else None)


def log_format(words: Sequence[str]) -> tuple[list[str], str]:
    """The words without `--log-format`, which may be anywhere before `--`; and the format (else CTXKIT_LOG_FORMAT)."""
    args, found = list(words), os.environ.get("CTXKIT_LOG_FORMAT") or "text"
    end = args.index("--") if "--" in args else len(args)
    for i, word in reversed(list(enumerate(args[:end]))):
        if word == "--log-format":
            found = args[i + 1] if i + 1 < end else ""
            del args[i : i + 2]
        elif word.startswith("--log-format="):
            found = word.partition("=")[2]
            del args[i]
    return args, found


def command_first(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words from the command on, and whether a pager may be used: `--no-pager` stands before the command.

    If a log is in the command's place, `show` is put before it. The name of a command is never a log.
    """
    args = list(words)
    paged = args[:1] != ["--no-pager"]
    if not paged:
        del args[0]
    if args and args[0] not in COMMANDS and names_log(args[0]):
        args.insert(0, "show")
    return args, paged


def _run(args: list[str]) -> int:
    from ctxkit.cli.terminal import streams

    try:
        try:
            if args and args[0] in COMMANDS:  # no other command is imported
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
    gc.disable()  # reading makes no cycles, and a search for them among a million messages is slow
    if 1 in fill():
        from ctxkit.cli.terminal import error_report

        words, form = log_format(sys.argv[1:])
        if form == "json":
            _report_as_json(command_first(words)[0])
        status = error_report.no_output()
    else:
        status = run(sys.argv[1:])
    os._exit(status)  # both streams are flushed, nothing else is open; freeing a million messages is slow


def fill() -> frozenset[int]:
    """Open /dev/null on those of 0, 1 and 2 that are closed; return them. The first call of every program."""
    closed = set()
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            closed.add(fd)
            opened = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is fd
            os.set_inheritable(opened, True)  # as standard streams are
    return frozenset(closed)
