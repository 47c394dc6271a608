"""Standard streams: results go to stdout, everything else to stderr, and every text of a transcript through `safe()`.

Only this file and `picker.py` write to the terminal. `error_report.py` words errors.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

from ctxkit.cli.terminal.style import WARNING, Line, Span, Styled, allowed, painted, text_of, with_text
from ctxkit.core.text.json_text import dumps, finite
from ctxkit.core.text.urls import without_users
from ctxkit.core.text.utf8 import utf8

if TYPE_CHECKING:
    from pathlib import Path

    from ctxkit.cli.terminal.event_log import EventLog, Kind
    from ctxkit.cli.terminal.pager import Pager
    from ctxkit.cli.terminal.progress import Progress
    from ctxkit.core.text.redactor import Redactor
    from ctxkit.errors import CtxkitError
    from ctxkit.measure.token_log import Meter
    from ctxkit.when import Clock

SOON = 50
"""Messages that are laid out without a noticeable delay."""
_COMMAND = re.compile(r"(ctxkit [a-z]+) LOG\b")
"""A command to type, with a word in the log's place."""
HANG = 2
"""Blanks before the further lines of a report that is too long for one."""


@dataclass
class Run:
    """The state of one run: `quiet` silences reports (never errors), `words` is the call.

    `done`: what was appended, in words. `colour`, `err_colour`: whether the result, and reports, may be coloured.
    `columns`, `err_columns`: the widths of their terminals, 0 without a terminal. `held`: reports that wait for the end
    of the pager. `stdin_use`: what was read from standard input beside the log, or "". `sessions`: path of a log -> the
    `@…` that named it, or "picked", and the name or path to show with it. `doubtful`: such
    a path -> makes the error for a writing script, if another session may be meant. `meter`: records token counts, if a
    token log is kept. `events`: makes lines of JSON in place of messages. `utc`, `zone`: --utc, and `time.zone` of the
    config, for `clock`. `log`: the log that was opened, as it was typed, for commands in messages; "" if there are
    several. `among`: the log is one of many (`cli/many_logs.py`), which has one line, its `summary`; `made`: the file
    that was written for it; `hints`: what to do, for all of them together. `redactor`: takes secrets out of all that is
    printed (--redact); `typed`: the secrets in `words`, None before they are looked for.
    """

    words: tuple[str, ...] = ()
    quiet: bool = False
    colour: bool = False
    err_colour: bool = False
    columns: int = 0
    err_columns: int = 0
    done: str = ""
    stdin_use: str = ""
    pager: Pager | None = None
    progress: Progress | None = None
    meter: Meter | None = None
    events: EventLog | None = None
    held: list[bytes] = field(default_factory=list)
    sessions: dict[str, tuple[str, str]] = field(default_factory=dict)
    doubtful: dict[str, Callable[[], CtxkitError]] = field(default_factory=dict)
    utc: bool = False
    zone: str = "local"
    clock: Clock | None = None
    log: str | None = None
    among: bool = False
    summary: Sequence[Span] = ()
    made: str = ""
    hints: Sequence[str] = ()
    redactor: Redactor | None = None
    typed: Sequence[str] | None = None


Streams = Run()
"""The current run. `begin` puts a new one in its place, and `capture.py` one for each of many logs."""


def begin(words: Sequence[str], *, paged: bool = True) -> None:
    """Begin a run; the state of the run before is dropped."""
    global Streams
    Streams = Run(tuple(words))
    out_tty, err_tty = (stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
    Streams.colour, Streams.err_colour = (allowed(os.environ, terminal=one) for one in (out_tty, err_tty))
    Streams.columns = _columns(sys.stdout) if out_tty else 0
    Streams.err_columns = _columns(sys.stderr) if err_tty else 0
    if out_tty and paged:
        Streams.pager = _pager(words)


def _columns(stream: TextIO) -> int:
    from ctxkit.cli.terminal.wrap import columns

    return columns(stream)


def _pager(words: Sequence[str]) -> Pager | None:
    from ctxkit.cli.terminal import pager
    from ctxkit.cli.terminal.wrap import rows

    name = "help" if {"-h", "--help"} & set(words) else words[0] if words else "help"
    command_line = pager.command(os.environ)
    if not command_line or name not in pager.PAGED:
        return None
    size = Streams.columns, rows(sys.stdout)
    return pager.Pager(command_line, size, pager.PAGED[name], put=_put, note=warn)


def height() -> int:
    """Return the lines of the terminal that shows the result."""
    from ctxkit.cli.terminal.wrap import rows

    return rows(sys.stdout)


def clock() -> Clock:
    """Return the run's clock. Typed times are in the user's zone, printed ones only on a terminal without --utc."""
    if Streams.clock is None:
        from ctxkit.when import Clock, zone_of

        zone = zone_of("utc" if Streams.utc else Streams.zone, os.environ)
        Streams.clock = Clock(zone, exact=Streams.utc or not Streams.columns)
    return Streams.clock


def out(*spans: Span, hang: int | None = None) -> None:
    """Print a line of the result for people: control characters made visible, styled spans coloured if allowed.

    `hang`: a line that is too long for the terminal is broken at blanks, and further lines are indented by so many
    blanks. Without it the terminal breaks the line (text of a transcript).
    """
    made = _safe(spans)
    if Streams.columns == 0:
        _put(_bytes(made, Streams.colour))
        return
    for line in _fitting(made, Streams.columns, hang):
        if Streams.pager is None:
            _put(_bytes(line, Streams.colour))
        else:
            Streams.pager.line(_bytes(line, Streams.colour), _size(line))


def opens_at_end() -> bool:
    """Return whether there is a pager that can open at the end of a text."""
    return Streams.pager is not None and Streams.pager.can_open_at_end


def out_from_end(count: int, block: Callable[[int], Iterable[Sequence[Span]]], *, from_start: bool) -> None:
    """Print `count` blocks of lines that fit the terminal. If they exceed a screen, the pager opens at their end, and
    the last screen is shown before the blocks above it are made.
    """
    pager = Streams.pager
    if pager is None or from_start:
        for i in range(count):
            for line in block(i):
                out(*line)
        return
    pager.at_end = True
    last: list[list[Sequence[Span]]] = []
    first, used = count, 0
    try:
        while first and used < pager.height:
            first -= 1
            last.append(list(block(first)))
            used += len(last[-1])
        if first > SOON:
            shown = [_bytes(_safe(line), Streams.colour, end="") for made in reversed(last) for line in made]
            note = Styled(f"{first:,} earlier messages are laid out …", "dim")
            pager.show(shown, _bytes([note], Streams.colour, end=""))
            sys.stdout.buffer.flush()
        for i in range(first):
            for line in block(i):
                out(*line)
        for made in reversed(last):
            for line in made:
                out(*line)
    except BaseException:
        pager.abandon()
        raise


def drawn(spans: Sequence[Span]) -> bytes:
    """Return a line for a terminal that is written to directly: safe, coloured if allowed, without a line end."""
    return _bytes(_safe(spans), allowed(os.environ, terminal=True), end="")


def out_json(value: Any) -> None:
    """Print a value as a line of ASCII JSON, with null for a number that JSON lacks."""
    _put(_json(value))


def out_bytes(pieces: Iterable[bytes]) -> None:
    """Print bytes of the result unchanged; on a terminal as safe text."""
    for piece in _visible(pieces) if Streams.columns else pieces:
        _put(piece)


def out_made(data: bytes) -> None:
    """Print lines that a run of its own made with `out` or `out_json` (`capture.py`)."""
    _put(data)


def err_made(data: bytes) -> None:
    """Print reports that a run of its own made, and that are safe and complete (`capture.py`)."""
    if Streams.progress is not None:
        Streams.progress.erase()
    flush_unless_paged()
    _write_err(data)


def same_as_stdout(path: Path | None) -> bool:
    """Return whether standard output is this file, or, for None, the file of standard input."""
    try:
        into = os.fstat(sys.stdout.fileno())
        source = os.fstat(sys.stdin.fileno()) if path is None else os.stat(path)
    except (OSError, ValueError, AttributeError):
        return False  # no such file: opening it reports that
    return stat.S_ISREG(into.st_mode) and os.path.samestat(into, source)


def _visible(pieces: Iterable[bytes]) -> Iterator[bytes]:
    from codecs import getincrementaldecoder

    from ctxkit.cli.terminal.safe_text import safe

    decoder = getincrementaldecoder("utf-8")("backslashreplace")
    for piece in pieces:
        yield utf8(safe(decoder.decode(piece)))
    yield utf8(safe(decoder.decode(b"", final=True)))


def _put(data: bytes) -> None:
    """Write all of `data` to stdout. With PYTHONUNBUFFERED one write may take only a part of it."""
    if Streams.progress is not None:
        Streams.progress.erase()
    view = memoryview(data)
    while view:
        count = sys.stdout.buffer.write(view)
        if not count:  # a non-blocking descriptor that is full
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        view = view[count:]


def say(*spans: Span) -> None:
    """Print a report on stderr, unless --quiet; on a terminal it is broken at blanks."""
    if not Streams.quiet and Streams.events is None:
        _err(*spans)


def sum_up(*spans: Span) -> None:
    """Print the line that sums a command up, as a report; of one of many logs it becomes the log's own line."""
    if Streams.among:
        Streams.summary = spans
    else:
        say(*spans)


def note(*spans: Span) -> None:
    """Print a report about one log that its own line has no room for: not if it is one of many."""
    if not Streams.among:
        say(*spans)


def warn(text: str, error: CtxkitError | None = None, log: str | None = None) -> None:
    """Print a warning, after which the command goes on: `ctxkit: <text>`, unless --quiet.

    `error`: the cause, if one of several logs failed; `text` words it. `log`: the digest of that log, for --log-format.
    """
    if Streams.events is None:
        say(Styled("ctxkit:", WARNING), f" {text}")
    elif not Streams.quiet:
        _write_err(Streams.events.warning(without_users(text), error, log))


def hint(text: str, *, always: bool = False) -> None:
    """Print what to do; for one of many logs, keep it for the end of all. `always`: also with --quiet."""
    if Streams.among:
        Streams.hints = (*Streams.hints, text)
    else:
        (say_always if always else say)(Styled("hint:", "dim"), f" {text}")


def event(kind: Kind, reason: str, code: int | None = None, log: str | None = None) -> None:
    """Print the JSON line of an event that has no message of its own, with --log-format json and without --quiet.

    `code`: the exit code of what went wrong; `log`: the digest of one of many logs.
    """
    if Streams.events is not None and not Streams.quiet:
        _write_err(Streams.events.line(kind, reason, code, log))


def redact() -> None:
    """Take secrets out of all that is printed from now on, and out of logs that are opened."""
    from ctxkit.core.text.redactor import Redactor, secret_values

    Streams.redactor = Redactor(secret_values(os.environ))


def without_typed(text: str) -> str:
    """Return a report without the secrets of the command line: what is said there is kept by terminals and jobs."""
    if Streams.typed is None:
        from ctxkit.core.text.redactor import located, secret_values

        words = list(Streams.words)
        known = [value for value in secret_values(os.environ) if any(value in word for word in words)]
        Streams.typed = tuple(dict.fromkeys([*known, *(one.value for one in located(words))]))
    if not Streams.typed:
        return text
    from ctxkit.core.text.redaction import redact as without

    return without(text, Streams.typed)[0]


def opened_as(name: str) -> None:
    """Record the name of the log that was opened, as it was typed."""
    Streams.log = name if Streams.log in (None, name) else ""


def with_log(text: str) -> str:
    """Return a message with the log that was opened in place of the LOG of its commands: `ctxkit undo chat.jsonl 3`."""
    if not Streams.log or "LOG" not in text:
        return text
    name = quote(Streams.log)
    return _COMMAND.sub(lambda found: f"{found[1]} {name}", text)


def _safe(spans: Iterable[Span]) -> Line:
    """Make spans safe for one line; a line break in a name or label becomes visible."""
    from ctxkit.cli.terminal.safe_text import safe

    if Streams.redactor is not None:
        spans = [with_text(span, Streams.redactor.text_of(text_of(span))) for span in spans]
    return [with_text(span, safe(text_of(span)).replace("\n", "␊")) for span in spans]


def _fitting(made: Line, columns: int, hang: int | None) -> Iterable[Line]:
    if hang is None or not columns or _size(made) <= columns:
        return [made]
    from ctxkit.cli.terminal.wrap import wrapped

    return wrapped(made, columns, hang)


def _size(made: Line) -> int:
    from ctxkit.cli.terminal.safe_text import cells

    return sum(cells(text_of(span)) for span in made)


def _bytes(made: Line, colour: bool, end: str = "\n") -> bytes:
    text = "".join(
        span if isinstance(span, str) else painted(span.text, span.style) if colour else span.text for span in made
    )
    return utf8(text + end)


def _err(*spans: Span, end: str = "\n") -> None:
    if Streams.progress is not None:
        Streams.progress.erase()
    named = [with_text(span, without_typed(without_users(with_log(text_of(span))))) for span in spans]
    *lines, last = _fitting(_safe(named), Streams.err_columns, HANG)
    data = b"".join(_bytes(line, Streams.err_colour) for line in lines) + _bytes(last, Streams.err_colour, end)
    if Streams.pager is not None and Streams.pager.begun and Streams.err_columns:
        Streams.held.append(data)  # the pager has the screen, or still holds lines that come before
    else:
        _write_err(data)


def _write_err(data: bytes) -> None:
    try:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except (OSError, ValueError, AttributeError):
        return  # nothing else can report it


@contextmanager
def progress(what: str, unit: str = "MB") -> Iterator[Callable[[int, int], None] | None]:
    """Show the progress of the work in the block: call the given function with the amount done and the total.

    None without a terminal and with --quiet. The line is erased at the end. A block inside another one uses the line
    meanwhile, without another half second of delay.
    """
    if Streams.quiet or Streams.events is not None or not Streams.err_columns or os.environ.get("TERM") == "dumb":
        yield None
        return
    from ctxkit.cli.terminal.progress import Progress

    outer = Streams.progress
    step = Streams.progress = Progress(what, unit, put=_show_progress, columns=Streams.err_columns, outer=outer)
    try:
        yield step
    finally:
        step.erase()
        Streams.progress = outer


def _show_progress(text: str) -> None:
    if Streams.pager is not None and Streams.pager.running:
        return
    if Streams.columns:
        sys.stdout.buffer.flush()  # lines of the result that wait in the buffer belong above it
    _write_err(utf8(text))


def flush_unless_paged() -> None:
    """Flush the result, so that it comes before the next report; not with a pager, whose end reports wait for."""
    if Streams.pager is None:
        sys.stdout.buffer.flush()


def fail(words: Callable[[], None], reason: str, code: int) -> None:
    """Report the error that ends a command, by `words` or as a line of JSON; also with --quiet."""
    if Streams.events is None:
        words()
    else:
        _write_err(Streams.events.error(reason, code))


def flush() -> None:
    """Write out the result, so that a full disk or a closed pipe can still be reported.

    With a pager, wait until its reader leaves; later reports come below.
    """
    if Streams.pager is not None:
        Streams.pager.end()
        Streams.pager = None
        for data in Streams.held:
            _write_err(data)
        Streams.held = []
    sys.stdout.buffer.flush()


def end() -> None:
    """End the run, also after an error: write the last event and end the pager."""
    if Streams.events is not None and not Streams.quiet:
        _write_err(Streams.events.end())
    if Streams.pager is not None:
        flush()


def on_terminal() -> bool:
    """Return whether a question can be asked: stdin and stderr are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def say_always(*spans: Span) -> None:
    """Print a line on stderr even with --quiet: a part of a question or an error."""
    _err(*spans)


def ask(question: str) -> bool:
    """Ask on the terminal; only `y` or `yes` is a yes."""
    _err(f"{question} [y/N]", end=" ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def choose(keys: str) -> str:
    """Ask on the terminal for one of `keys`; any other answer is the last of them."""
    _err(f"[{'/'.join([*keys[:-1], keys[-1].upper()])}]", end=" ")
    answer = sys.stdin.readline().strip().lower()
    return answer if len(answer) == 1 and answer in keys else keys[-1]


def err_json(value: Any) -> None:
    """Print a value as a line of JSON on stderr, while stdout carries the log."""
    if Streams.progress is not None:
        Streams.progress.erase()
    _write_err(_json(value))


def _json(value: Any) -> bytes:
    value = value if Streams.redactor is None else Streams.redactor.value(value)
    try:
        text = dumps(value)
    except ValueError:
        text = dumps(finite(value))
    return text.encode("ascii") + b"\n"
