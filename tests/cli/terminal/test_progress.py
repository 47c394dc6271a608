"""Progress: when it shows, how wide it is, and that nothing of it stays."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
import time
from pathlib import Path

import pyte
import pytest

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.progress import Progress
from ctxkit.cli.terminal.safe_text import cells
from tests.cli.runner import PYTHON, ROOT, SMALL, ctxkit, lines, message, small
from tests.cli.screens import pieces


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def made(what: str = "reading chat.jsonl", unit: str = "MB", columns: int = 80) -> tuple[Progress, Clock, list[str]]:
    """A progress, its clock, and what it wrote."""
    clock, put = Clock(), list[str]()
    return Progress(what, unit, put=put.append, columns=columns, clock=clock), clock, put


def test_the_first_half_second_is_silent() -> None:
    """Nothing is written before, then at most ten times a second."""
    step, clock, put = made()
    for clock.now in (0.0, 0.1, 0.49):
        step(1, 2)
    step.erase()
    assert put == []
    for clock.now in (0.5, 0.52, 0.59, 0.61):
        step(412_345_678, 995_000_000)
    assert put == ["\rreading chat.jsonl… 412 / 995 MB\r"] * 2


def test_erased() -> None:
    """It leaves blanks; once."""
    step, clock, put = made("exporting", "messages")
    clock.now = 1
    step(1234)
    step.erase()
    step.erase()
    assert put == ["\rexporting… 1,234 messages\r", "\r" + " " * 25 + "\r"]


@pytest.mark.parametrize("columns", [20, 21, 40, 80])
@pytest.mark.parametrize("name", ["a" * 99, "深" * 50, "x\x1b]0;pwned\x07\n\x9b", "é\u0301\u0301" * 50])
def test_one_line(name: str, columns: int) -> None:
    """Narrower than the terminal, the figures whole, and nothing that a terminal obeys."""
    step, clock, put = made(f"reading {name}", columns=columns)
    clock.now = 1
    step(412_000_000, 995_000_000)
    line = put[0].strip("\r")
    assert cells(line) < columns and line.endswith("… 412 / 995 MB") and line.isprintable()


def test_a_shorter_one_leaves_nothing() -> None:
    """What a longer figure left is covered, on a real screen."""
    screen = pyte.Screen(40, 2)
    step, clock, put = made("reading", "messages", 40)
    for clock.now, done, total in ((1.0, 1_000_000, 2_000_000), (2.0, 7, 9)):
        step(done, total)
    pyte.Stream(screen).feed("".join(put))
    assert screen.display[0].rstrip() == "reading… 7 / 9 messages"
    step.erase()
    pyte.Stream(screen).feed(put[-1])
    assert screen.display[0].strip() == "" and screen.cursor.x == 0


def test_who_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a terminal, without --quiet; everything else gets no callback at all."""

    def seen() -> bool:
        with streams.progress("reading") as step:
            assert (streams.Streams.progress is step) and (step is None or callable(step))
            return step is not None

    streams.begin(())
    assert not seen()
    monkeypatch.setattr(streams.Streams, "err_columns", 80)
    assert seen() and streams.Streams.progress is None
    monkeypatch.setenv("TERM", "dumb")
    assert not seen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(streams.Streams, "quiet", True)
    assert not seen()


def test_work_inside_work(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The inner one has the line while it lasts, and waits no half second of its own; an error takes both away."""
    streams.begin(())
    monkeypatch.setattr(streams.Streams, "err_columns", 80)
    clock = Clock()
    monkeypatch.setitem(Progress.__init__.__kwdefaults__, "clock", clock)
    with pytest.raises(ValueError), streams.progress("searching", "files") as outer:  # the order counts
        assert outer is not None
        clock.now = 0.4
        outer(1, 0)
        with streams.progress("reading a") as inner:
            assert inner is not None
            clock.now = 0.5
            inner(5_000_000, 6_000_000)
        outer(2, 0)  # not due yet
        clock.now = 0.6
        outer(3, 0)
        raise ValueError
    assert streams.Streams.progress is None
    told = [piece for piece in capfdbinary.readouterr().err.decode().split("\r") if piece]
    assert told == ["reading a… 5 / 6 MB", " " * 19, "searching… 3 files", " " * 18]


@pytest.mark.parametrize("quiet", [False, True])
def test_reading_shows_it(tmp_path: object, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """A log that takes long says so, and the line is gone before anything else is said."""
    monkeypatch.setattr("ctxkit.cli.terminal.progress.AFTER", 0)
    path = small(tmp_path)  # type: ignore[arg-type]
    ran = ctxkit("show", path, *(["-q"] if quiet else []), terminal=True)
    told = ran.err.split("\r")
    if quiet:
        assert told == [""]
    else:
        assert told[1].startswith("reading ") and told[1].endswith("… 0 / 0 MB") and told[-1] == "11 of 11 messages\n"
        assert told[-2].strip() == ""


def test_exporting_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message after the other; nothing of it stands between the lines of the result, nor in it."""
    monkeypatch.setattr("ctxkit.cli.terminal.progress.AFTER", 0)
    monkeypatch.setattr("ctxkit.cli.terminal.progress.EVERY", 0)
    path = small(tmp_path)
    ran = ctxkit("export", path, "--to", "chat", terminal=True)
    told = [piece for piece in ran.err.split("\r") if piece.strip()]
    steps = [piece.rpartition("… ")[2] for piece in told if piece.startswith("exporting ")]
    assert steps == [f"{n} / 11 messages" for n in range(1, 12)]
    assert told[-1] == "11 messages\n" and len(ran.values) == 11


def test_searching_many_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many files of a folder are done, and how many of the logs that were named."""
    monkeypatch.setattr("ctxkit.cli.terminal.progress.AFTER", 0)
    monkeypatch.setattr("ctxkit.cli.terminal.progress.EVERY", 0)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    paths = [small(folder, name=f"{n}.jsonl") for n in range(3)]
    for screen in (True, False):
        pieces = ctxkit("recall", "logs", "question", terminal=True, screen=screen).err.split("\r")
        assert [piece for piece in pieces if "files" in piece] == [f"searching logs… {n} files" for n in range(3)]
    pieces = ctxkit("recall", *paths, "question", terminal=True).err.split("\r")
    assert [piece for piece in pieces if "logs" in piece] == [f"searching… {n} / 3 logs" for n in (1, 2)]
    assert any(piece.startswith("9 hits") for piece in pieces)
    assert "files" not in ctxkit("recall", "logs", "question", "-q", terminal=True).err


CLOCKED = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from ctxkit.cli.terminal import progress
progress.Progress.__init__.__kwdefaults__["clock"] = lambda: float(open(os.environ["CLOCK"]).read())
from ctxkit.cli.app import main
main()
"""
"""The command with the clock in a file."""

MEGABYTE = lines(*(message("user", "x" * 1000) for _ in range(970)))


@pytest.mark.parametrize(("words", "on_screen"), [([], True), (["-q"], True), ([], False)])
def test_a_slow_source(tmp_path: Path, words: list[str], on_screen: bool) -> None:
    """A writer that takes its time, a real terminal: silent for half a second, then figures; gone before the result."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    main, side = pty.openpty()
    with subprocess.Popen(
        [PYTHON[0], "-c", CLOCKED, "check", "-", *words], stdin=subprocess.PIPE, stdout=side,
        stderr=side if on_screen else subprocess.PIPE, env={**os.environ, "CLOCK": str(clock)},
    ) as run:  # fmt: skip
        os.close(side)
        assert run.stdin is not None
        for now, piece in ((0, b"\n"), (0.4, MEGABYTE), (0.6, MEGABYTE), (0.8, MEGABYTE)):
            (tmp_path / "next").write_text(str(now))
            (tmp_path / "next").rename(clock)
            run.stdin.write(piece)
            run.stdin.flush()
            while fcntl.ioctl(run.stdin, termios.FIONREAD, b"\0" * 4) != b"\0" * 4:
                assert run.poll() is None, "it ended before it had read all"
                time.sleep(0.001)  # until the reader has it
        run.stdin.close()
        raw = b"".join(pieces(main)).decode()
        told = run.stderr.read().decode() if run.stderr is not None else ""
    os.close(main)
    result = "2,910 messages, 0 ops: nothing found"
    if words or not on_screen:
        assert (raw, told) == ("", "" if words else f"{result}\n")
        return
    found = [piece for piece in raw.split("\r") if piece]
    assert found[:2] == ["reading standard input… 1 MB", "reading standard input… 2 MB"]
    assert found[-3:] == [" " * len(found[0]), result, "\n"]


@pytest.mark.parametrize("columns", [80, 20])
@pytest.mark.parametrize("words", [["recall", "logs", "question"], ["export", "logs/0.jsonl", "--to", "chat"]])
def test_never_between(tmp_path: Path, words: list[str], columns: int) -> None:
    """With a figure at every step, a screen shows in the end what it shows without any."""
    (tmp_path / "logs").mkdir()
    for n in range(5):
        small(tmp_path / "logs", name=f"{n}.jsonl").write_bytes(SMALL + b"broken\n")
    shown = []
    for every in (0, 1000):
        code = CLOCKED.replace("from ctxkit.cli.app", f"progress.AFTER = progress.EVERY = {every}\nfrom ctxkit.cli.app")
        (tmp_path / "clock").write_text("1")
        main, side = pty.openpty()
        env = {**os.environ, "CLOCK": str(tmp_path / "clock"), "COLUMNS": str(columns)}
        with subprocess.Popen(
            [PYTHON[0], "-c", code, *words], stdin=side, stdout=side, stderr=side, env=env, cwd=tmp_path
        ):
            os.close(side)
            raw = b"".join(pieces(main)).decode()
        os.close(main)
        screen = pyte.Screen(columns, 400)
        pyte.Stream(screen).feed(raw)
        shown.append([line.rstrip() for line in screen.display])
        assert ("… 3" in raw) == (every == 0)
    assert shown[0] == shown[1]
