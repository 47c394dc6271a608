"""Standard streams: results on stdout, everything else on stderr, and every word of a transcript through `safe()`.

The only file that writes to the terminal. Errors end here: `ctxkit: <message>` and `hint: <what to do>`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ctxkit.cli.ink import Ink, allowed, painted
from ctxkit.core.jsontext import dumps
from ctxkit.errors import CtxkitError, ExitCode, ManyConversations

PIPE_STATUS = 128 + signal.SIGPIPE


class Streams:
    """Of one run: `quiet` silences reports (never errors); `done`: what was appended, in words; `words`: the call.

    `colour`: whether the result may be coloured.
    """

    quiet = False
    colour = False
    done = ""
    words: tuple[str, ...] = ()

    @classmethod
    def begin(cls, words: Sequence[str]) -> None:
        """A new run: nothing is left of the one before."""
        cls.quiet, cls.done, cls.words = False, "", tuple(words)
        cls.colour = allowed(os.environ, terminal=sys.stdout is not None and sys.stdout.isatty())


def width() -> int:
    """Columns of the terminal that the result goes to; 80 where there is none; never below 20."""
    from ctxkit.cli.wrap import columns

    return columns(sys.stdout)


def out(*spans: str | Ink) -> None:
    """A human line of the result; control characters made visible, inked spans coloured where colour is allowed."""
    _put(_line(*spans, colour=Streams.colour))


def out_json(value: Any) -> None:
    """A machine line of the result: ASCII JSON."""
    _put(dumps(value).encode("ascii") + b"\n")


def out_bytes(pieces: Iterable[bytes]) -> None:
    """Bytes of the result as they are."""
    for piece in pieces:
        _put(piece)


def _put(data: bytes) -> None:
    """All of `data` to stdout. With PYTHONUNBUFFERED the stream is the bare file, which may write a part only."""
    view = memoryview(data)
    while view:
        count = sys.stdout.buffer.write(view)
        if not count:  # a descriptor that must not block, and would
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        view = view[count:]


def say(text: str) -> None:
    """A report on stderr, unless --quiet."""
    if not Streams.quiet:
        _err(text)


def _line(*spans: str | Ink, colour: bool = False) -> bytes:
    """One line, whatever names and labels in it hold: a line break in them cannot make up a line of its own."""
    from ctxkit.cli.safe import safe

    made = ""
    for span in spans:
        text = safe(span if isinstance(span, str) else span.text).replace("\n", "␊")
        made += painted(text, span.style) if colour and isinstance(span, Ink) else text
    return made.encode("utf-8", "replace") + b"\n"


def _err(text: str, end: str = "\n") -> None:
    try:
        sys.stderr.buffer.write(_line(text).removesuffix(b"\n") + end.encode("ascii"))
        sys.stderr.buffer.flush()
    except (OSError, ValueError, AttributeError):
        return  # nobody can be told


def flush() -> None:
    """Push the result out, so that a full disk or a closed pipe is noticed while it can still be said."""
    sys.stdout.buffer.flush()


def fail(error: CtxkitError) -> int:
    """Render an expected failure; its exit status."""
    code = int(error.code)
    try:
        flush()
    except BrokenPipeError:
        code = broken_pipe()
    except OSError as failed:
        code = system(failed)
    first, *rest = error.message.split("\n") if isinstance(error, ManyConversations) else [error.message]
    _err(f"ctxkit: {first}")
    for line in rest:
        _err(line)
    if error.hint:
        _err(f"hint: {error.hint}")
    return code


def usage(error: Any) -> int:
    """Render what the option parser found wrong."""
    text = " ".join(str(error.format_message()).split())
    text = text[:1].lower() + text[1:]
    _err(f"ctxkit: {text.rstrip('.')}")
    path = getattr(getattr(error, "ctx", None), "command_path", "") or "ctxkit"
    _err(f"hint: {_usage_hint(error, text)}{path} --help")
    return int(ExitCode.USAGE)


def _usage_hint(error: Any, text: str) -> str:
    """What is likely meant, before the pointer to the help page."""
    if str(getattr(error, "option_name", ""))[1:2].isdigit():
        return "a word that begins with - goes behind --; "
    if "unexpected extra argument" in text:
        return "words with blanks between them stand in quotes; "
    return ""


def system(error: OSError) -> int:
    """Render an I/O failure of standard output (the log's own are CtxkitErrors)."""
    _silence()
    _err(f"ctxkit: cannot write output: {(error.strerror or str(error)).lower()}")
    if Streams.done:
        _err(f"hint: the log has it all the same: {Streams.done}")
    return int(ExitCode.IO)


def no_output() -> int:
    """Standard output was closed from the start."""
    _err("ctxkit: cannot write output: standard output is closed: nothing was done")
    _err("hint: >/dev/null, where the output is not wanted")
    return int(ExitCode.IO)


def broken_pipe() -> int:
    """The reader of our output went away: end quietly, as by SIGPIPE."""
    _silence()
    return PIPE_STATUS


def interrupted() -> int:
    """Ctrl-C."""
    _silence()
    _err("ctxkit: interrupted")
    return 128 + signal.SIGINT


def bug(error: BaseException) -> int:
    """What nobody expected: one line, no locals, no transcript text."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    _err(f"ctxkit: a bug: {type(error).__name__} at {where}; the log was not rewritten")
    _err("hint: CTXKIT_DEBUG=1 shows the traceback; please report it")
    if os.environ.get("CTXKIT_DEBUG"):
        traceback.print_exception(error)
    return int(ExitCode.BUG)


def _silence() -> None:
    """Point stdout at /dev/null, so that what is still buffered cannot fail again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def on_terminal() -> bool:
    """Whether a question can be asked: stdin and stderr are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def tell(text: str) -> None:
    """A line on stderr that --quiet does not silence: it belongs to a question."""
    _err(text)


def ask(question: str) -> bool:
    """Ask on the terminal, the answer on the same line; only `y` or `yes` is a yes."""
    _err(f"{question} [y/N]", end=" ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def err_json(value: Any) -> None:
    """A machine line on stderr: where stdout carries the log."""
    _err(dumps(value))
