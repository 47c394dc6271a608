"""Reports errors as `ctxkit: <message>` and `hint: <what to do>`, and returns the exit status.

Used by `cli/app.py` alone, and imported only after an error.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.style import ERROR, Styled
from ctxkit.errors import CtxkitError, ExitCode, reason_of, short_name

LIST = 60
"""Characters of a list of arguments in a message."""
PIPE_STATUS = 128 + signal.SIGPIPE
_NO_NUMBER = re.compile(r"is not a valid int(eger)?( range)?\b")
_TOO_SMALL = re.compile(r"(-?\d+) is not in the range x>=(\d+)")
"""The messages of the option parser about numbers."""
_EXTRA = re.compile(r"got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_OTHER_COMMANDS = {"--target": "--max-tokens", "--budget": "--max-tokens", "--max-tokens": "--target"}
"""The option for the size that stays, of `compact` or `trim` -> the name of it in the other command."""


def rendered(error: BaseException) -> int:
    """Report the error that ended a run; return the exit status."""
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
    """Report an expected error; return its exit status."""
    code = int(error.code)
    try:
        streams.flush()
    except BrokenPipeError:
        code = broken_pipe()
    except OSError as failed:
        code = system(failed)
    first, *rest = error.message.split("\n") if error.listed else [error.message]
    _report(first, error.hint, *rest, reason=short_name(type(error)), code=int(error.code))
    return code


def _report(text: str, hint: str = "", *more: str, reason: str, code: int) -> None:
    """Print an error, further lines of it, and a hint; with --log-format json only its short name."""

    def words() -> None:
        streams.say_always(Styled("ctxkit:", ERROR), f" {text}")
        for line in more:
            streams.say_always(line)
        if hint:
            streams.hint(hint, always=True)

    streams.fail(words, reason, code)


def usage(error: Any) -> int:
    """Report an error of the option parser."""
    similar = _similar_names(error)
    guessed = getattr(error, "possibilities", None)  # the parser's message names them, similar or not
    text = " ".join(str(error.message if guessed else error.format_message()).split())
    text = _NO_NUMBER.sub(
        "is not a whole number", _TOO_SMALL.sub(r"\1: it is at least \2", text[:1].lower() + text[1:])
    )
    path = getattr(getattr(error, "ctx", None), "command_path", "") or "ctxkit"
    text = _EXTRA.sub(lambda found: f"unexpected extra argument: {_cut(found[1])}", text)
    meant = _usage_hint(error, text) or (f"{', '.join(similar)}? " if similar else "")
    meant = meant or "options stand behind the command; " * (path == "ctxkit" and hasattr(error, "option_name"))
    _report(text.rstrip("."), f"{meant}{path} --help", reason="usage", code=int(ExitCode.USAGE))
    return int(ExitCode.USAGE)


def _cut(words: str) -> str:
    return words if len(words) <= LIST else f"{words[:LIST].rpartition(' ')[0]} …"


def _similar_names(error: Any) -> list[str]:
    """The names that are similar to what was typed; the dashes before an option are not compared."""
    from difflib import get_close_matches

    known = {name.lstrip("-"): name for name in getattr(error, "possibilities", None) or ()}
    typed = str(getattr(error, "option_name", "")).lstrip("-")
    if not typed:
        return list(known.values())[:1]
    longer = [name for name in known if name.startswith(f"{typed}-")]
    return [known[name] for name in longer or get_close_matches(typed, known, 1)]


def _usage_hint(error: Any, text: str) -> str:
    """The part of the hint before the pointer to the help page: what was probably meant."""
    if getattr(error, "option_name", "") == "--no-pager":
        return "write it before the command: ctxkit --no-pager COMMAND; "
    if str(getattr(error, "option_name", ""))[1:2].isdigit():
        return "put a word that begins with - after --; "
    other = _OTHER_COMMANDS.get(getattr(error, "option_name", ""), "")
    if other and any(other in option.opts for option in error.ctx.command.params):
        return f"{other}? "
    if "unexpected extra argument" in text:
        if os.path.exists(text.partition(": ")[2].split(" ")[0]):
            logs = shlex.join([word for word in streams.Streams.words[1:] if os.path.exists(word)])
            some = logs if len(logs) <= LIST else "FILES"
            return f'one log at a time: for log in {some}; do ctxkit {streams.Streams.words[0]} "$log"; done; '
        quoted = [word for word in streams.Streams.words if " " in word]
        if quoted and any("--message" in option.opts for option in error.ctx.command.params):
            return f"a description follows -m: -m {shlex.quote(quoted[0])}; "
        return "" if quoted else "put words with blanks in quotes; "
    return ""


def system(error: OSError) -> int:
    """Report a failure of standard output (failures of a log are CtxkitErrors)."""
    _silence()
    hint = f"but the log was changed: {streams.Streams.done}" if streams.Streams.done else ""
    text = f"cannot write output: {reason_of(error)}"
    _report(text, hint, reason="output-failed", code=int(ExitCode.IO))
    return int(ExitCode.IO)


def no_output() -> int:
    """Report that standard output was closed before the start."""
    _report(
        "cannot write output: standard output is closed: nothing was done",
        "use >/dev/null if you do not want the output",
        reason="output-failed",
        code=int(ExitCode.IO),
    )
    return int(ExitCode.IO)


def broken_pipe() -> int:
    """The reader closed the pipe: end without a message, with the status of SIGPIPE."""
    _silence()
    return PIPE_STATUS


def interrupted() -> int:
    """Report Ctrl-C."""
    _silence()
    _report("interrupted", reason="interrupted", code=128 + signal.SIGINT)
    return 128 + signal.SIGINT


def bug(error: BaseException) -> int:
    """Report a bug in one line, without local variables and text of a transcript."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    hint = "CTXKIT_DEBUG=1 shows the traceback; please report it"
    text = f"a bug: {type(error).__name__} at {where}; the log was not rewritten"
    _report(text, hint, reason="bug", code=int(ExitCode.BUG))
    if streams.Streams.events is None and os.environ.get("CTXKIT_DEBUG"):
        for line in "".join(traceback.format_exception(error)).split(
            "\n"
        ):  # with events no traceback: it may quote a log
            streams.say_always(line)
    return int(ExitCode.BUG)


def _silence() -> None:
    """Point stdout at /dev/null, so that buffered output cannot fail again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
