"""Standard streams: results on stdout, everything else on stderr, and every word of a transcript through `safe()`.

The only file that writes to the terminal, but for `picker.py`; how errors are worded is `error_report.py`.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from ctxkit.cli.terminal.style import WARNING, Styled, allowed, painted
from ctxkit.core.text.json_text import dumps, finite

if TYPE_CHECKING:
    from pathlib import Path

    from ctxkit.cli.terminal.pager import Pager
    from ctxkit.cli.terminal.progress import Progress
    from ctxkit.measure.token_log import Meter
    from ctxkit.when import Clock

SOON = 50
"""Messages that are laid out before anybody waits for them."""
HANG = 2
"""How far a report's further lines are indented, where it does not fit."""


class Streams:
    """Of one run: `quiet` silences reports (never errors); `done`: what was appended, in words; `words`: the call.

    `colour`, `err_colour`: whether the result, and reports, may be coloured; `columns`, `err_columns`: how wide their
    terminals are, 0 where they go elsewhere. `held`: reports that wait until the pager has gone. `taken`: what was
    read from standard input beside the log, "" for nothing. `sessions`: path of a log -> `@…` that named it, "" where
    it was picked. `meter`: told of what is counted, where a token
    log is kept. `utc`, `zone`: --utc, and the config's `time.zone`, for `clock`.
    """

    quiet = False
    colour = err_colour = False
    columns = err_columns = 0
    done = taken = ""
    words: tuple[str, ...] = ()
    pager: Pager | None = None
    progress: Progress | None = None
    meter: Meter | None = None
    held: ClassVar[list[bytes]] = []
    sessions: ClassVar[dict[str, str]] = {}
    utc, zone = False, "local"
    clock: Clock | None = None

    @classmethod
    def begin(cls, words: Sequence[str], *, paged: bool = True) -> None:
        """A new run: nothing is left of the one before."""
        cls.quiet, cls.done, cls.taken, cls.words = False, "", "", tuple(words)
        cls.pager = cls.progress = cls.meter = None
        cls.held, cls.sessions = [], {}
        cls.utc, cls.zone, cls.clock = False, "local", None
        shown, told = (stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
        cls.colour, cls.err_colour = allowed(os.environ, terminal=shown), allowed(os.environ, terminal=told)
        cls.columns, cls.err_columns = _columns(sys.stdout) if shown else 0, _columns(sys.stderr) if told else 0
        if shown and paged:
            cls.pager = _pager(words)


def _columns(stream: TextIO) -> int:
    from ctxkit.cli.terminal.wrap import columns

    return columns(stream)


def _pager(words: Sequence[str]) -> Pager | None:
    from ctxkit.cli.terminal import pager
    from ctxkit.cli.terminal.wrap import rows

    name = "help" if {"-h", "--help"} & set(words) else words[0] if words else "help"
    called = pager.command(os.environ)
    if not called or name not in pager.PAGED:
        return None
    size = Streams.columns, rows(sys.stdout)
    return pager.Pager(called, size, pager.PAGED[name], put=_put, note=warn)


def height() -> int:
    """Lines of the terminal that the result goes to."""
    from ctxkit.cli.terminal.wrap import rows

    return rows(sys.stdout)


def clock() -> Clock:
    """The clock of this run: what is typed is of the user's zone; what is shown only on a terminal, without --utc."""
    if Streams.clock is None:
        from ctxkit.when import Clock, zone_of

        zone = zone_of("utc" if Streams.utc else Streams.zone, os.environ)
        Streams.clock = Clock(zone, exact=Streams.utc or not Streams.columns)
    return Streams.clock


def out(*spans: str | Styled, hang: int | None = None) -> None:
    """A human line of the result; control characters made visible, styled spans coloured where colour is allowed.

    `hang`: on a terminal that is narrower, the line is broken at blanks and goes on indented so far. Without it the
    terminal breaks it (a transcript's own text).
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
    """Whether there is a pager that can open at the end of a text."""
    return Streams.pager is not None and Streams.pager.can_open_at_end


def out_from_end(count: int, block: Callable[[int], Iterable[Sequence[str | Styled]]], *, from_start: bool) -> None:
    """Lines of the result that fit the terminal already, in `count` blocks; where they are more than a screen, a pager
    opens at their end, and the last screen is there before the others are made.
    """
    pager = Streams.pager
    if pager is None or from_start:
        for i in range(count):
            for line in block(i):
                out(*line)
        return
    pager.at_end = True
    last: list[list[Sequence[str | Styled]]] = []
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


def drawn(spans: Sequence[str | Styled]) -> bytes:
    """A line for a terminal that `picker.py` draws on: made visible, coloured where colour is allowed, no line end."""
    return _bytes(_safe(spans), allowed(os.environ, terminal=True), end="")


def out_json(value: Any) -> None:
    """A machine line of the result: ASCII JSON, null where the log has a number that JSON does not have."""
    _put(_json(value))


def out_bytes(pieces: Iterable[bytes]) -> None:
    """Bytes of the result as they are; on a terminal, from which no program reads them, as safe text."""
    for piece in _visible(pieces) if Streams.columns else pieces:
        _put(piece)


def same_as_stdout(path: Path | None) -> bool:
    """Whether standard output goes into this file, or, for None, into the one that standard input comes from."""
    try:
        into = os.fstat(sys.stdout.fileno())
        source = os.fstat(sys.stdin.fileno()) if path is None else os.stat(path)
    except (OSError, ValueError, AttributeError):
        return False  # no file, or one that is told of where it is read or written
    return stat.S_ISREG(into.st_mode) and os.path.samestat(into, source)


def _visible(pieces: Iterable[bytes]) -> Iterator[bytes]:
    from codecs import getincrementaldecoder

    from ctxkit.cli.terminal.safe_text import safe

    decoder = getincrementaldecoder("utf-8")("backslashreplace")
    for piece in pieces:
        yield safe(decoder.decode(piece)).encode("utf-8", "replace")
    yield safe(decoder.decode(b"", final=True)).encode("utf-8", "replace")


def _put(data: bytes) -> None:
    """All of `data` to stdout. With PYTHONUNBUFFERED the stream is the bare file, which may write a part only."""
    if Streams.progress is not None:
        Streams.progress.erase()
    view = memoryview(data)
    while view:
        count = sys.stdout.buffer.write(view)
        if not count:  # a descriptor that must not block, and would
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        view = view[count:]


def say(*spans: str | Styled) -> None:
    """A report on stderr, unless --quiet; on a terminal broken at blanks where it is too long."""
    if not Streams.quiet:
        _err(*spans)


def warn(text: str) -> None:
    """A report of what is not as it should be, though the command goes on: `ctxkit: <text>`, unless --quiet."""
    say(Styled("ctxkit:", WARNING), f" {text}")


def _safe(spans: Iterable[str | Styled]) -> list[str | Styled]:
    """One line, whatever names and labels in it hold: a line break in them cannot make up a line of its own."""
    from ctxkit.cli.terminal.safe_text import safe

    return [
        safe(span).replace("\n", "␊")
        if isinstance(span, str)
        else Styled(safe(span.text).replace("\n", "␊"), span.style)
        for span in spans
    ]


def _fitting(made: list[str | Styled], columns: int, hang: int | None) -> Iterable[list[str | Styled]]:
    if hang is None or not columns or _size(made) <= columns:
        return [made]
    from ctxkit.cli.terminal.wrap import wrapped

    return wrapped(made, columns, hang)


def _size(made: list[str | Styled]) -> int:
    from ctxkit.cli.terminal.safe_text import cells

    return sum(cells(span if isinstance(span, str) else span.text) for span in made)


def _bytes(made: list[str | Styled], colour: bool, end: str = "\n") -> bytes:
    text = "".join(
        span if isinstance(span, str) else painted(span.text, span.style) if colour else span.text for span in made
    )
    return (text + end).encode("utf-8", "replace")


def _err(*spans: str | Styled, end: str = "\n") -> None:
    if Streams.progress is not None:
        Streams.progress.erase()
    *lines, last = _fitting(_safe(spans), Streams.err_columns, HANG)
    data = b"".join(_bytes(line, Streams.err_colour) for line in lines) + _bytes(last, Streams.err_colour, end)
    if Streams.pager is not None and Streams.pager.begun and Streams.err_columns:
        Streams.held.append(data)  # the screen is the pager's, or what it is given stands above
    else:
        _tell(data)


def _tell(data: bytes) -> None:
    try:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except (OSError, ValueError, AttributeError):
        return  # nobody can be told


@contextmanager
def progress(what: str, unit: str = "MB") -> Iterator[Callable[[int, int], None] | None]:
    """Shows how far the work inside is, once it takes long: call what is given with what is done of what.

    None where nobody would see it: no terminal, --quiet. At the end its line goes. Work inside work has the line for
    its time, and waits no half second of its own.
    """
    if Streams.quiet or not Streams.err_columns or os.environ.get("TERM") == "dumb":
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
    _tell(text.encode("utf-8", "replace"))


def settle() -> None:
    """What was printed stands above what is said next. A pager goes on: reports wait until its reader leaves."""
    if Streams.pager is None:
        sys.stdout.buffer.flush()


def flush() -> None:
    """Push the result out, so that a full disk or a closed pipe is noticed while it can still be said.

    Where a pager has it, until its reader leaves: what is said afterwards stands below.
    """
    if Streams.pager is not None:
        Streams.pager.end()
        Streams.pager = None
        for data in Streams.held:
            _tell(data)
        Streams.held = []
    sys.stdout.buffer.flush()


def end() -> None:
    """The run is over, however: the terminal is the shell's again."""
    if Streams.pager is not None:
        flush()


def on_terminal() -> bool:
    """Whether a question can be asked: stdin and stderr are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def tell(*spans: str | Styled) -> None:
    """A line on stderr that --quiet does not silence: it belongs to a question."""
    _err(*spans)


def ask(question: str) -> bool:
    """Ask on the terminal, the answer on the same line; only `y` or `yes` is a yes."""
    _err(f"{question} [y/N]", end=" ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def choose(keys: str) -> str:
    """Ask on the terminal for one of these keys, the answer on the same line; anything else is the last of them."""
    _err(f"[{'/'.join([*keys[:-1], keys[-1].upper()])}]", end=" ")
    answer = sys.stdin.readline().strip().lower()
    return answer if len(answer) == 1 and answer in keys else keys[-1]


def err_json(value: Any) -> None:
    """A machine line on stderr: where stdout carries the log."""
    if Streams.progress is not None:
        Streams.progress.erase()
    _tell(_json(value))


def _json(value: Any) -> bytes:
    try:
        text = dumps(value)
    except ValueError:
        text = dumps(finite(value))
    return text.encode("ascii") + b"\n"
