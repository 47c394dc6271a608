"""ctxkit watch: growing logs followed, and what happens to them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ctxkit.cli.options import session_path, takes
from ctxkit.cli.terminal import layout, streams, watch_view
from ctxkit.cli.terminal.event_log import DONE, OPEN_CALL, Kind, path_digest
from ctxkit.cli.terminal.style import WARNING, Line, Styled
from ctxkit.cli.terminal.watch_view import Screen
from ctxkit.errors import CoolingDown, CtxkitError, ExitCode, NothingChanges, NothingMatched, Usage, short_name
from ctxkit.search.archive import refuse_home
from ctxkit.store.opening import require_file
from ctxkit.watch.archiving import Archiving
from ctxkit.watch.compaction import CompactionEnd
from ctxkit.watch.events import (
    AnyEvent,
    CheckpointMade,
    CompactionDone,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    StatusChanged,
    as_json,
)
from ctxkit.watch.places import Places, Scope
from ctxkit.watch.watcher import Watcher
from ctxkit.when import duration

FILES = 1 << 16
"""Descriptors that are asked for at most: a program that ctxkit starts may try to close each that is allowed."""
_SKIPPED = {
    "cooldown": (short_name(CoolingDown), int(CoolingDown.code)),
    "open call": (OPEN_CALL, int(ExitCode.TRY_AGAIN)),
    "not full": (short_name(NothingChanges), int(NothingChanges.code)),
    "nothing to condense": (short_name(NothingChanges), int(NothingChanges.code)),
}
"""Why a compaction is not made -> its reason and exit code in the structured logs."""


@takes()
def command(
    logs: Annotated[
        list[str] | None, typer.Argument(metavar="[LOG]...", help="Logs to follow (default: as --here).")
    ] = None,
    *,
    here: bool = False,
    all: bool = False,
    compact: bool = False,
    checkpoint: bool = False,
    archive: str | None = None,
    every: str | None = None,
    once: bool = False,
    utc: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Follow logs while they grow: how full they are, how fast they grow, what they wait for.

    A log of any format, in place: another program goes on writing. Without LOG the sessions of this project are
    followed, those of the last 24 hours and new ones as they appear. On a terminal each has a panel; in a pipe each
    event is a line, with --json an object. It runs until it is ended (Ctrl-C). One watcher at a time acts on a log:
    a second one says so and looks on. A watcher that was killed is told of by the next one, by `status`, `sessions`
    and `ctxkit` alone.

    With --compact a log is compacted in the background when compact.threshold is reached, by rules; of a log that
    another program owns, a session to go on with is written too. With --checkpoint a finished exchange that is worth
    one gets a checkpoint. The config keys compact.auto and checkpoint.auto ask for the same.
    With --archive all sessions of the agents are copied into a folder meanwhile, as by `sessions --archive`.
    """
    streams.Streams.utc = utc
    if sum((bool(logs), here, all)) > 1:
        raise Usage("LOG, --here and --all name different logs", "use only one of them")
    scope: Scope = "named" if logs else "all" if all else "here"
    paths = [Path(session_path(log)) for log in logs or ()]
    for path in paths:
        if str(path) == "-":
            raise Usage("standard input cannot be watched: it has no file that grows", "name the log's file")
        require_file(path)
    archiving = _archiving(archive, every)
    gc.enable()  # it runs for days
    _more_files()
    printer = _Printer(json=json, once=once)
    watcher = Watcher(
        Places(scope, paths, os.environ), printer.event, printer.warn, env=os.environ, tick=printer.paint,
        compacts=compact, checkpoints=checkpoint, archiving=archiving,
    )  # fmt: skip
    printer.watcher = watcher
    if once:
        watcher.once()
        if not watcher.followed:
            raise NothingMatched("no session was written in the last 24 hours", "ctxkit sessions lists older ones")
        if len(watcher.failed) == len(watcher.followed):
            raise watcher.failed[0]
        for error in watcher.failed:
            printer.warn(error)
        return ExitCode.DONE
    _until_signal(watcher.stop)
    _after_pause(printer)
    watcher.run()
    return 128 + watcher.stopped if watcher.stopped else ExitCode.DONE


def _archiving(archive: str | None, every: str | None) -> Archiving | None:
    """What --archive and --every ask for. Raises Usage, BadTime."""
    if not archive:
        if archive is not None or every is not None:
            what = "the name of the archive is empty" if archive is not None else "--every belongs to --archive"
            raise Usage(what, "ctxkit watch --archive DIR --every 1d")
        return None
    folder = Path(archive)
    refuse_home(folder, os.environ)
    return Archiving(folder) if every is None else Archiving(folder, duration(every))


def _until_signal(stop: Callable[[int], None]) -> None:
    def ended(number: int, frame: FrameType | None) -> None:
        stop(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)


def _after_pause(printer: _Printer) -> None:
    """After Ctrl-Z and `fg`, the panels are painted below what the shell wrote."""

    def goes_on(number: int, frame: FrameType | None) -> None:
        printer.leave()

    signal.signal(signal.SIGCONT, goes_on)


def _more_files() -> None:
    """Allow more descriptors: the note of each log is one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _event_lines(event: AnyEvent) -> list[tuple[Kind, str, int | None]]:
    """What an event is in the structured logs: kind, reason, exit code."""
    match event:
        case CompactionDone():
            made: list[tuple[Kind, str, int | None]] = [("compaction", DONE, None)]
            return made if event.fallback is None else [("fallback", "fallback", None), *made]
        case CompactionFailed():
            return [("compaction", event.error, event.code)]
        case CompactionSkipped():
            return [("compaction", *_SKIPPED[event.reason])]
        case CheckpointMade():
            return [("checkpoint", DONE, None)]
    return []


class _Printer:
    """Prints events: as panels on a terminal, else as lines."""

    watcher: Watcher | None = None

    def __init__(self, *, json: bool, once: bool) -> None:
        self._json = json
        terminal = bool(streams.Streams.columns) and os.environ.get("TERM") != "dumb"
        self._screen = Screen(self._write) if terminal and not json and not once else None
        self._told: dict[str, StatusChanged] = {}
        self._doing: dict[str, str] = {}

    def event(self, event: AnyEvent) -> None:
        self._log(event)
        if self._json:
            streams.out_json(as_json(event))
            streams.flush()
        elif self._screen is None:
            streams.out(*watch_view.words(event))
            streams.flush()
        elif isinstance(event, StatusChanged):
            self._told[event.log] = event
            self.paint()
        else:
            if isinstance(event, CompactionStarted):
                self._doing[event.log] = "Condensing context…"
            elif isinstance(event, CompactionEnd):
                self._doing.pop(event.log, None)
            self.paint(watch_view.words(event))

    def _log(self, event: AnyEvent) -> None:
        """With --log-format json: a line for what was done, and what was not."""
        for kind, reason, code in _event_lines(event):
            streams.event(kind, reason, code, self._digest(event.log))

    def _digest(self, log: str | Path) -> str | None:
        """What structured logs call a log."""
        one = self.watcher.followed.get(os.path.abspath(log)) if self.watcher is not None else None
        if one is None:
            return None
        return path_digest(log) if one.reading is None else one.reading.digest

    def leave(self) -> None:
        """Other programs wrote on the terminal."""
        if self._screen is not None:
            self._screen.leave()

    def warn(self, what: str | CtxkitError, log: Path | None = None) -> None:
        error = what if isinstance(what, CtxkitError) else None
        text = what.message if isinstance(what, CtxkitError) else what
        if self._screen is None or streams.Streams.events is not None:
            streams.warn(text, error, None if log is None else self._digest(log))
        elif not streams.Streams.quiet:
            self.paint([Styled("ctxkit:", WARNING), f" {text}"])

    def paint(self, *above: Line) -> None:
        """Show all panels as they are now."""
        if self._screen is None:
            return
        width = layout.width()
        followed = self.watcher.followed.values() if self.watcher is not None else ()
        held = {str(one.path): one.holder for one in followed}
        self._told = {log: told for log, told in self._told.items() if log in held}
        panels = [
            list(watch_view.panel(told, self._doing.get(log) or watch_view.holder(held[log]), width))
            for log, told in self._told.items()
        ]
        lines = watch_view.screen(panels, streams.height() - 1)
        if not lines:
            text = "reading" if followed else "no session is written: waiting for one"
            lines = list(watch_view.wrapped_line([Styled(text, "dim")], width))
        self._screen.paint(lines, width, [part for line in above for part in watch_view.wrapped_line(line, width)])

    def _write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
