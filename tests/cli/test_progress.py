"""Progress: when it shows, how wide it is, and that nothing of it stays."""

from __future__ import annotations

import pyte
import pytest

from ctxkit.cli import io
from ctxkit.cli.progress import Progress
from ctxkit.cli.safe import cells
from tests.cli.runner import ctxkit, small


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
    io.Streams.begin(())
    assert io.progress("reading") is None
    monkeypatch.setattr(io.Streams, "err_columns", 80)
    assert io.progress("reading") is not None
    io.no_progress()
    monkeypatch.setenv("TERM", "dumb")
    assert io.progress("reading") is None
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(io.Streams, "quiet", True)
    assert io.progress("reading") is None


@pytest.mark.parametrize("quiet", [False, True])
def test_reading_shows_it(tmp_path: object, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """A log that takes long says so, and the line is gone before anything else is said."""
    monkeypatch.setattr("ctxkit.cli.progress.AFTER", 0)
    path = small(tmp_path)  # type: ignore[arg-type]
    ran = ctxkit("show", path, *(["-q"] if quiet else []), terminal=True)
    told = ran.err.split("\r")
    if quiet:
        assert told == [""]
    else:
        assert told[1].startswith("reading ") and told[1].endswith("… 0 / 0 MB") and told[-1] == "11 of 11 messages\n"
        assert told[-2].strip() == ""
