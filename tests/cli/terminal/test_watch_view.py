"""How watched sessions look."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from pathlib import Path

import msgspec
import pyte
import pytest

from ctxkit.cli.terminal import watch_view
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.watch.events import (
    AnyEvent,
    CheckpointMade,
    CompactionDone,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    LastCheckpoint,
    LastOp,
    LogReplaced,
    OpFromElsewhere,
    StatusChanged,
)
from tests.cli.screens import SESSION
from tests.prefork import Started
from tests.watch.running import Claude, answer, append, log_of, user

TIME = "2026-03-02T09:20:00Z"
EVENT = StatusChanged(
    log="/logs/shop.jsonl", time=TIME, format="claude-code", model="claude-sonnet-4-5", used=122_000, limit=200_000,
    percent=61.0, level="green", counted=True, messages=45, per_minute=1200, full_in=3900, window=28800,
    marks=["before", "refactor"], last_op=LastOp(12, "compact", "2026-03-02T09:10:00Z"),
    checkpoint=LastCheckpoint("0a1b", "2026-03-01T09:15:00Z", "a.py written", ["code"]), waits_for="tool",
    tools=["Bash"],
)  # fmt: skip


def text(line: Line) -> str:
    """The words of a line."""
    return "".join(span if isinstance(span, str) else span.text for span in line)


def test_a_panel() -> None:
    """All that is known of a session, in a few lines."""
    assert [text(line) for line in watch_view.panel(EVENT, "Condensing context…", 80)] == [
        "/logs/shop.jsonl  claude-code  claude-sonnet-4-5",
        "  ██████████████████░░░░░░░░░░░░ 61 % 122,000 of 200,000 tokens",
        "  +1.2k/min · full in 1h 5m · 45 messages · waits for Bash",
        "  window 8h · 2 marks, newest refactor · op 12 compact 09:10 · checkpoint",
        "  2026-03-01 09:15 a.py written",
        "  Condensing context…",
    ]


@pytest.mark.parametrize("width", [20, 27, 40, 59, 60, 80, 200])
def test_every_width(width: int) -> None:
    """No line is wider than the terminal, whatever stands in names, and nothing in them is obeyed."""

    hostile = msgspec.structs.replace(
        EVENT,
        log="/l\x1b[31m/" + "x" * 300 + "\n.jsonl",
        model="m\x07" * 50,
        tools=["t\x1b]0;x\x07"],
        marks=["宽" * 90],
    )
    for event in (EVENT, hostile):
        for line in watch_view.panel(event, "watched by \x1b[2J", width):
            shown = watch_view.streams._safe(line)
            assert cells(text(shown)) <= width
            assert not any(ord(c) < 32 for c in text(shown))


def test_colours() -> None:
    """The colour of `status`; bold from 95 % on."""

    for percent, level, style in ((61, "green", "green"), (71, "yellow", "yellow"), (86, "red", "red"),
                                  (95, "red", "bold red")):  # fmt: skip
        event = msgspec.structs.replace(EVENT, percent=float(percent), level=level)
        bar = list(watch_view.panel(event, "", 80))[1][1]
        assert isinstance(bar, Styled) and bar.style == style


def test_more_than_fits() -> None:
    """The first panels that fit, and how many are left out."""
    panels = [[[f"{i}a"], [f"{i}b"]] for i in range(5)]
    assert [text(line) for line in watch_view.screen(panels, 5)] == ["0a", "0b", "1a", "1b", "… 3 more"]
    assert len(watch_view.screen(panels, 10)) == 10


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (EVENT, "2026-03-02 09:20:00+00:00 /logs/shop.jsonl: 61 % 122,000 of 200,000 tokens, waits for Bash"),
        (CompactionStarted(log="a", time=TIME, percent=81.0), "a: Condensing context…"),
        (
            CompactionDone(log="a", time=TIME, op="x", before=45230, after=18450, strategy="extract", seconds=1.0),
            "a: Context condensed (45,230 → 18,450 tokens)",
        ),
        (
            CompactionDone(
                log="a", time=TIME, op="x", before=9, after=3, strategy="extract", seconds=1.0, fallback="no answer",
                resume="claude --resume 1", note="the running agent does not see this",
            ),
            "a: Context condensed (9 → 3 tokens), by rules: no answer. To go on with it: claude --resume 1"
            " (the running agent does not see this)",
        ),
        (
            CompactionFailed(log="a", time=TIME, code=75, error="locked", reason="a is locked", seconds=1.0),
            "a: nothing was condensed: a is locked",
        ),
        (CompactionSkipped(log="a", time=TIME, reason="cooldown"), "a: not condensed now: cooldown"),
        (
            CompactionSkipped(log="a", time=TIME, reason="nothing to condense", detail="nothing to condense: only 1"),
            "a: not condensed now: nothing to condense: only 1",
        ),
        (CompactionSkipped(log="a", time=TIME, reason="not full", detail="5 %"), "a: not condensed now: not full: 5 %"),
        (
            CheckpointMade(log="a", time=TIME, id="0a1b", label="a.py written", tags=["code"], seconds=0.8),
            "a: checkpoint 0a1b (code): a.py written",
        ),
        (LogReplaced(log="a", time=TIME, how="removed"), "a: it was removed"),
        (OpFromElsewhere(log="a", time=TIME, op="abc", name="forget"), "a: updated elsewhere: forget (abc)"),
    ],
)  # fmt: skip
def test_events_in_words(event: AnyEvent, words: str) -> None:
    """A line for each."""
    from ctxkit.cli.terminal import streams
    from ctxkit.when import Clock

    streams.Streams.clock = Clock(exact=False)
    try:
        assert text(watch_view.words(event)) == words
    finally:
        streams.Streams.clock = None


class Terminal:
    """A real terminal of so many columns, with the watcher on it."""

    def __init__(self, columns: int, *args: str) -> None:
        self.screen = pyte.Screen(columns, 24)
        self._stream = pyte.ByteStream(self.screen)
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.run = Started("watch", *args, streams=(side, side, side), env=kept, first=SESSION)
        os.close(side)

    def until(self, words: str) -> list[str]:
        """The screen, once these words stand on it."""
        end = time.monotonic() + 60
        while not any(words in line for line in self.screen.display):
            assert time.monotonic() < end, "\n".join(self.screen.display)
            if select.select([self._main], [], [], 0.2)[0]:
                self._stream.feed(os.read(self._main, 1 << 16))
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def close(self) -> int:
        """End it as Ctrl-C does."""
        self.run.send_signal(signal.SIGINT)
        code = self.run.wait(60)
        os.close(self._main)
        return code


def test_after_a_pause(tmp_path: Path) -> None:
    """After Ctrl-Z and `fg` the panel stands below what the shell wrote, and nothing of that is overwritten."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    terminal = Terminal(60, str(path))
    try:
        terminal.until("1 message")
        terminal.run.send_signal(signal.SIGSTOP)
        terminal._stream.feed(b"\r\n[1]+  Stopped\r\n$ fg\r\n")
        append(path, answer("hi"))
        terminal.run.send_signal(signal.SIGCONT)
        shown = terminal.until("2 messages")
        append(path, user("more"))
        later = terminal.until("3 messages")
    finally:
        assert terminal.close() == 128 + signal.SIGINT
    assert [one for one in shown if "Stopped" in one or "$ fg" in one or "message" in one] == [
        "  1 message · waits for the model", "[1]+  Stopped", "$ fg", "  2 messages · waits for the user",
    ]  # fmt: skip
    assert len(later) == len(shown) and not any("2 messages" in one for one in later)


def test_the_name_of_a_long_path() -> None:
    """What tells two sessions of a folder apart is its end."""
    for name in ("5e55e551", "77777777"):
        event = msgspec.structs.replace(EVENT, log=f"/home/x/.claude/projects/-home-x-shop/{name}.jsonl")
        assert text(next(iter(watch_view.panel(event, "", 20)))) == f"…shop/{name}.jsonl"


@pytest.mark.parametrize("columns", [80, 40])
def test_on_a_terminal(tmp_path: Path, columns: int) -> None:
    """A panel each, painted in place: after an append it says the new figures, and the old ones are gone."""
    claude = Claude()
    path = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=50_000))
    terminal = Terminal(columns, str(path))
    try:
        first = terminal.until("25 %")
        append(path, claude.user("more"), claude.calls("c1", "Bash", used=190_000, command="make"))
        second = terminal.until("waits for Bash")
    finally:
        assert terminal.close() == 128 + signal.SIGINT
    assert any("waits for the user" in line for line in first)
    assert any("95 % 190," in line for line in second)
    assert not any("25 %" in line for line in second)
    assert len(second) == len(first)
