"""The picker on real terminals: keys in, a path out, and the terminal as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from tests.cli.hostile import ALL
from tests.cli.runner import PYTHON, ROOT, SMALL, ctxkit, lines, message
from tests.cli.screens import SESSION
from tests.prefork import Started

ASKED = "Number, or words of it"


class Terminal:
    """A command whose terminal is ours, and whose output is a pipe."""

    def __init__(self, *words: str | Path, columns: int = 80, rows: int = 24, script: str = "", **env: str) -> None:
        self.main, self.side = os.openpty()
        self.size(columns, rows)
        self.before = termios.tcgetattr(self.side)
        self.raw = b""
        self.run: Started | subprocess.Popen[bytes]
        if not script:
            controlling = f"fcntl.ioctl(os.open({os.ttyname(self.side)!r}, os.O_RDWR), termios.TIOCSCTTY, 0)"
            first = f"{SESSION}; import fcntl, termios; {controlling}"
            self.run = Started("sessions", "--pick", *map(str, words), env={**os.environ, **env}, first=first)
            return

        def own_terminal() -> None:
            os.setsid()
            fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)

        self.run = subprocess.Popen(
            ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **env}, preexec_fn=own_terminal, pass_fds=[self.side],
        )  # fmt: skip

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.run.poll() is None:
            self.run.kill()
        self.run.communicate()
        os.close(self.main)
        os.close(self.side)

    def size(self, columns: int, rows: int) -> None:
        """Make the terminal so wide and high."""
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> None:
        """Take what was drawn."""
        while select.select([self.main], [], [], seconds)[0]:
            try:
                self.raw += os.read(self.main, 65536)
            except OSError:
                return
            seconds = 0.02

    def lines(self) -> list[str]:
        """What was drawn and typed, without styles."""
        return re.sub(rb"\x1b\[[0-9;]*m", b"", self.raw).decode("utf-8", "replace").split("\r\n")

    def until(self, words: str) -> list[str]:
        """Wait until this was drawn; the lines."""
        for _ in range(300):
            self.read(0.1)
            if words in "\n".join(self.lines()):
                return self.lines()
            if self.run.poll() is not None:
                break
        raise AssertionError((self.lines(), self.run.poll(), self.raw[-500:]))

    def type(self, data: str | bytes) -> None:
        """Press keys."""
        os.write(self.main, data.encode() if isinstance(data, str) else data)

    def end(self) -> tuple[int, bytes, str]:
        """Exit status, result and reports; the terminal is as it was."""
        deadline = time.monotonic() + 30
        while self.run.poll() is None and time.monotonic() < deadline:
            self.read(0.05)
        out, err = self.run.communicate(timeout=30)
        self.read(0.05)
        assert termios.tcgetattr(self.side) == self.before
        assert b"\x1b[?" not in self.raw
        return self.run.returncode, out, err.decode()


@pytest.fixture
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions: third, second, first; below a folder whose name says nothing of the test."""
    folder = tmp_path_factory.mktemp("logs")
    for minute, name in enumerate(("first", "second", "third"), 1):
        (folder / f"{name}.jsonl").write_bytes(
            lines(message("user", f"the {name} title", minute), message("assistant", f"{name} words", minute))
        )
    return folder


@contextlib.contextmanager
def picking(*words: str | Path, **more: object) -> Iterator[Terminal]:
    """A picker that has asked."""
    with Terminal(*words, **more) as terminal:  # type: ignore[arg-type]
        terminal.until(ASKED)
        yield terminal


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("1\n", "third"), ("2\n", "second"), (" 3 \n", "first"), ("second\n", "second"), ("words FIRST\n", "first"),
        ("zebra\n2\n", "second"), ("title\n2\n", "second"), ("9\n1\n", "third"), ("10:02\n", "second"),
    ],
)  # fmt: skip
def test_a_path_is_printed(logs: Path, typed: str, expected: str) -> None:
    """On standard output, and nothing else there: what is asked is asked on the terminal."""
    with picking(logs) as terminal:
        terminal.type(typed)
        assert terminal.end() == (0, os.fsencode(logs / f"{expected}.jsonl") + b"\n", "")


def test_what_is_seen(logs: Path) -> None:
    """The newest on top, with its time, figures and last words; words narrow the list, numbers stay."""
    with picking(logs) as terminal:
        seen = terminal.lines()
        assert seen[0] == "  1 2026-02-01 10:03:00 the third title"
        assert "2 messages" in seen[1] and seen[2] == "    assistant: third words"
        terminal.type("s t\n")
        terminal.until("none): s t")
        terminal.type("ir\n")
        terminal.until("none): ir")
        terminal.type("zebra\n")
        terminal.until("Nothing fits.")
        terminal.type("\n")
        assert terminal.end() == (1, b"", "")
        assert [line[:24] for line in terminal.lines() if " title" in line][-2:] == [
            "  1 2026-02-01 10:03:00 ", "  3 2026-02-01 10:01:00 ",
        ]  # fmt: skip


def test_pages(logs: Path) -> None:
    """As many as the screen holds, then older ones; all are known by number and words at once."""
    with picking(logs, rows=9) as terminal:
        assert not any("first title" in line for line in terminal.until("(Enter: 1 older)"))
        terminal.type("\n")
        assert any("first title" in line for line in terminal.until("(Enter: none)"))
        terminal.type("1\n")
        assert terminal.end()[1] == os.fsencode(logs / "third.jsonl") + b"\n"
    with picking(logs, rows=1) as terminal:
        terminal.type("3\n")
        assert terminal.end()[1] == os.fsencode(logs / "first.jsonl") + b"\n"


@pytest.mark.parametrize(("key", "code"), [("\n", 1), ("\x04", 1), ("\x03", 130)])
def test_leaving(logs: Path, key: str, code: int) -> None:
    """Enter alone, ctrl-d: exit 1; ctrl-c: 130; no path."""
    with picking(logs) as terminal:
        terminal.type(key)
        status, out, _ = terminal.end()
        assert (status, out) == (code, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals(logs: Path, number: signal.Signals) -> None:
    """End it as they would; the terminal is as it was."""
    with picking(logs) as terminal:
        terminal.run.send_signal(number)
        assert terminal.end()[:2] == (-number, b"")


def test_hostile_sessions(tmp_path: Path) -> None:
    """Names and words act on no terminal, at 80 and 20 columns; the path comes out as it is."""
    name = os.fsdecode(b"new\nline \x1b]0;pwned\x07 \xff \xe2\x80\xae.jsonl")
    (tmp_path / name).write_bytes(lines(message("user", ALL), message("assistant", ALL)))
    for columns in (80, 20):
        with picking(tmp_path, columns=columns) as terminal:
            assert all(len(line) <= max(columns, len(ASKED) + 20) for line in terminal.lines())
            terminal.type("pwned\n")
            code, out, _ = terminal.end()
            assert (code, out) == (0, os.fsencode(tmp_path / name) + b"\n")
            left = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.raw)
            assert not re.search(rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]", left), left
            assert "\u202e" not in left.decode() and "\x9b" not in left.decode()


def test_in_a_shell(logs: Path) -> None:
    """`ctxkit show "$(ctxkit sessions --pick)"`; NO_COLOR draws without colours."""
    program = f'{PYTHON[0]} -c "{PYTHON[2]}"'.replace("!r", "")
    script = f'cd {ROOT}; {program} show "$({program} sessions {logs} --pick)" --oneline'
    with Terminal(script=script, NO_COLOR="1") as terminal:
        terminal.until(ASKED)
        terminal.type("first\n")
        code, out, _ = terminal.end()
        assert code == 0 and b"the first title" in out
        assert not re.search(rb"\x1b\[[0-9;]*m", terminal.raw)


def test_closed_streams(logs: Path) -> None:
    """Neither standard input nor error is needed; where nothing is taken, nothing is printed, and the status tells."""
    program = f'{PYTHON[0]} -c "{PYTHON[2]}"'.replace("!r", "")
    for key, told in (("2\n", f"0 {logs}/second.jsonl"), ("\n", "1 ")):
        script = f'cd {ROOT}; path=$({program} sessions {logs} --pick <&- 2>&-); echo $? "$path"'
        with Terminal(script=script) as terminal:
            terminal.until(ASKED)
            terminal.type(key)
            code, out, _ = terminal.end()
            assert (code, out.decode().rstrip("\n")) == (0, told)


def test_forms_and_filters(logs: Path) -> None:
    """--json prints the object, -0 a NUL; what is offered is what is asked for."""
    with picking(logs, "--json", "--grep", "first") as terminal:
        assert not any("third title" in line for line in terminal.lines())
        terminal.type("1\n")
        assert b'"title":"the first title"' in terminal.end()[1]
    with picking(logs, "-0") as terminal:
        terminal.type("1\n")
        assert terminal.end()[1] == os.fsencode(logs / "third.jsonl") + b"\0"


def test_no_terminal(logs: Path) -> None:
    """Exit 2, and nothing is asked; without a session nothing is offered."""
    done = subprocess.run(
        [*PYTHON, "sessions", str(logs), "--pick"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
        start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"") and b"--pick needs a terminal" in done.stderr
    assert ctxkit("sessions", logs, "--pick", "--grep", "zebra").code == 1


def test_a_terminal_that_goes(logs: Path) -> None:
    """Ends it."""
    with picking(logs) as terminal:
        os.close(terminal.main)
        os.close(terminal.side)
        terminal.run.communicate(timeout=30)
        assert terminal.run.returncode in (1, -signal.SIGHUP)
        terminal.main, terminal.side = os.openpty()


def test_small_logs_are_whole(tmp_path: Path) -> None:
    """A native log is offered as any other."""
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    with picking(tmp_path) as terminal:
        terminal.type("1\n")
        assert terminal.end()[1].endswith(b"/chat.jsonl\n")
