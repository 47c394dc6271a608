"""How a run fails: every expected error in words, `ctxkit: <message>` and `hint: <what to do>`, and its exit status.

Used by `cli/app.py` alone, and only where something failed.
"""

from __future__ import annotations

import os
import re
import signal
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.style import ERROR, Styled
from ctxkit.errors import CtxkitError, ExitCode

PIPE_STATUS = 128 + signal.SIGPIPE
_NO_NUMBER = re.compile(r"is not a valid int(eger)?( range)?\b")
_TOO_SMALL = re.compile(r"(-?\d+) is not in the range x>=(\d+)")
"""What the option parser says of numbers, in its own words."""
_OTHER_COMMANDS = {"--target": "--max-tokens", "--budget": "--max-tokens", "--max-tokens": "--budget"}
"""An option of `compact` or `trim` -> what the other one calls how much stays."""


def rendered(error: BaseException) -> int:
    """What ended a run, said on stderr; its exit status."""
    if isinstance(error, CtxkitError):
        return fail(error)
    if isinstance(error, KeyboardInterrupt):
        return interrupted()
    if isinstance(error, BrokenPipeError):
        return broken_pipe()
    if isinstance(error, OSError):
        return system(error)
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        return usage(error)
    return bug(error)


def fail(error: CtxkitError) -> int:
    """Render an expected failure; its exit status."""
    code = int(error.code)
    try:
        streams.flush()
    except BrokenPipeError:
        code = broken_pipe()
    except OSError as failed:
        code = system(failed)
    first, *rest = error.message.split("\n") if error.listed else [error.message]
    _told(first, error.hint, *rest)
    return code


def _told(text: str, hint: str = "", *more: str) -> None:
    """An error in words, what belongs to it, and what to do about it."""
    streams.tell(Styled("ctxkit:", ERROR), f" {text}")
    for line in more:
        streams.tell(line)
    if hint:
        streams.tell(Styled("hint:", "dim"), f" {hint}")


def usage(error: Any) -> int:
    """Render what the option parser found wrong."""
    near = _near(error)
    guessed = getattr(error, "possibilities", None)  # the parser's own words name them, alike or not
    text = " ".join(str(error.message if guessed else error.format_message()).split())
    text = _NO_NUMBER.sub(
        "is not a whole number", _TOO_SMALL.sub(r"\1: it is at least \2", text[:1].lower() + text[1:])
    )
    path = getattr(getattr(error, "ctx", None), "command_path", "") or "ctxkit"
    meant = _usage_hint(error, text) or (f"{near[0]}? " if near else "")
    _told(text.rstrip("."), f"{meant}{path} --help")
    return int(ExitCode.USAGE)


def _near(error: Any) -> list[str]:
    """What was typed almost; the dashes that all options begin with make none of them alike."""
    from difflib import get_close_matches

    known = {name.lstrip("-"): name for name in getattr(error, "possibilities", None) or ()}
    typed = str(getattr(error, "option_name", ""))
    return [known[name] for name in get_close_matches(typed.lstrip("-"), known, 1)] if typed else list(known.values())


def _usage_hint(error: Any, text: str) -> str:
    """What is likely meant, before the pointer to the help page."""
    if getattr(error, "option_name", "") == "--no-pager":
        return "write it before the command: ctxkit --no-pager COMMAND; "
    if str(getattr(error, "option_name", ""))[1:2].isdigit():
        return "put a word that begins with - after --; "
    other = _OTHER_COMMANDS.get(getattr(error, "option_name", ""), "")
    if other and any(other in option.opts for option in error.ctx.command.params):
        return f"{other}? "
    if "unexpected extra argument" in text:
        one_log = os.path.exists(text.rpartition("(")[2].rstrip(")").split(" ")[0])
        return "give one log at a time; " if one_log else "put words with blanks in quotes; "
    return ""


def system(error: OSError) -> int:
    """Render an I/O failure of standard output (the log's own are CtxkitErrors)."""
    _silence()
    hint = f"but the log was changed: {streams.Streams.done}" if streams.Streams.done else ""
    _told(f"cannot write output: {(error.strerror or str(error)).lower()}", hint)
    return int(ExitCode.IO)


def no_output() -> int:
    """Standard output was closed from the start."""
    _told(
        "cannot write output: standard output is closed: nothing was done",
        "use >/dev/null if you do not want the output",
    )
    return int(ExitCode.IO)


def broken_pipe() -> int:
    """The reader of our output went away: end quietly, as by SIGPIPE."""
    _silence()
    return PIPE_STATUS


def interrupted() -> int:
    """Ctrl-C."""
    _silence()
    _told("interrupted")
    return 128 + signal.SIGINT


def bug(error: BaseException) -> int:
    """What nobody expected: one line, no locals, no transcript text."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    hint = "CTXKIT_DEBUG=1 shows the traceback; please report it"
    _told(f"a bug: {type(error).__name__} at {where}; the log was not rewritten", hint)
    if os.environ.get("CTXKIT_DEBUG"):
        for line in "".join(traceback.format_exception(error)).split("\n"):  # it quotes what nobody has looked at
            streams.tell(line)
    return int(ExitCode.BUG)


def _silence() -> None:
    """Point stdout at /dev/null, so that what is still buffered cannot fail again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
