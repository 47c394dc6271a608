"""The picker on real terminals: keys in, a path out, and the terminal as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shlex
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
from tests.cli.screens import SESSION, on_pty
from tests.prefork import Started

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


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

    def screen(self) -> list[str]:
        """What stands on the screen: what was drawn last, without styles."""
        drawn = self.raw.rpartition(b"\x1b[H")[2].partition(b"\x1b[?7h")[0]
        return [re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", line).decode().rstrip("\r") for line in drawn.split(b"\n")]

    def until(self, words: str) -> list[str]:
        """Wait until this stands on the screen; the screen."""
        for _ in range(300):
            self.read(0.1)
            if words in "\n".join(self.screen()):
                return self.screen()
            if self.run.poll() is not None:
                break
        raise AssertionError((self.screen(), self.run.poll(), self.raw[-500:]))

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
        assert self.raw.count(ENTER) == self.raw.count(LEAVE)
        assert self.raw.count(b"\x1b[?25l") == self.raw.count(b"\x1b[?25h")
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
    """A picker that has drawn its first screen."""
    with Terminal(*words, **more) as terminal:  # type: ignore[arg-type]
        terminal.until("> _")
        yield terminal


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\r", "third"), ("\x1b[B\r", "second"), ("\x1bOB\x1bOB\x1bOB\r", "first"), ("\x1b[F\x1b[A\r", "second"),
        ("second\r", "second"), ("words FIRST\r", "first"), ("zebra\x15\x0e\r", "second"), ("x\x7f\r", "third"),
    ],
)  # fmt: skip
def test_a_path_is_printed(logs: Path, typed: str, expected: str) -> None:
    """On standard output, and nothing else there: what is drawn is drawn on the terminal."""
    with picking(logs) as terminal:
        terminal.type(typed)
        assert terminal.end() == (0, os.fsencode(logs / f"{expected}.jsonl") + b"\n", "")


def test_filter_and_preview_as_one_types(logs: Path) -> None:
    """The list narrows, the preview follows the cursor."""
    with picking(logs) as terminal:
        assert terminal.until("third words")[1] == "> 2026-02-01 10:03:00 the third title"
        terminal.type("s")
        shown = terminal.until("> s_")
        assert shown[0].endswith(" 3/3")
        terminal.type("ec")
        shown = terminal.until("> sec_")
        assert shown[0].endswith(" 1/3") and "second words" in "\n".join(shown)
        terminal.type("\x1b")
        assert terminal.end() == (1, b"", "")


@pytest.mark.parametrize(("key", "code"), [("\x1b", 1), ("\x04", 1), ("\x03", 130)])
def test_leaving(logs: Path, key: str, code: int) -> None:
    """Escape: exit 1; ctrl-c: 130; no path."""
    with picking(logs) as terminal:
        terminal.type(key)
        status, out, _ = terminal.end()
        assert (status, out) == (code, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals(logs: Path, number: signal.Signals) -> None:
    """End it as they would, once the terminal is as it was; two at once do no harm."""
    for count in (1, 3):
        with picking(logs) as terminal:
            for _ in range(count):
                terminal.run.send_signal(number)
            assert terminal.end()[:2] == (-number, b"")


def test_a_new_size(logs: Path) -> None:
    """Is drawn for at once, down to 20 columns and a single line."""
    with picking(logs) as terminal:
        for columns, rows in ((20, 6), (120, 40), (20, 1), (5, 2), (80, 24)):
            terminal.raw = terminal.raw[:0] + ENTER + b"\x1b[?25l"
            terminal.size(columns, rows)
            for _ in range(100):
                terminal.read(0.1)
                if b"\x1b[H" in terminal.raw:
                    break
            terminal.read(0.2)
            shown = terminal.screen()
            assert len(shown) == rows and all(len(line) <= columns for line in shown), (columns, rows, shown)
        terminal.type("\r")
        assert terminal.end()[0] == 0


def test_keys_in_pieces_and_many_at_once(logs: Path) -> None:
    """An arrow that comes byte by byte is no escape; what was typed before the first screen counts."""
    with picking(logs) as terminal:
        for byte in b"\x1b[B":
            terminal.type(bytes([byte]))
            time.sleep(0.005)
        terminal.until("> 2026-02-01 10:02:00")
        terminal.type("\x1b[200~\xff\x00\x1b[999;999R" + "q" * 500)
        terminal.until("q_")
        terminal.type("\x15sec\r")
        assert terminal.end()[1] == os.fsencode(logs / "second.jsonl") + b"\n"


def test_hostile_sessions(tmp_path: Path) -> None:
    """Names and words act on no terminal, at 80 and 20 columns; the path comes out as it is."""
    name = os.fsdecode(b"new\nline \x1b]0;pwned\x07 \xff \xe2\x80\xae.jsonl")
    (tmp_path / name).write_bytes(lines(message("user", ALL), message("assistant", ALL)))
    for columns in (80, 20):
        with picking(tmp_path, columns=columns) as terminal:
            terminal.type("pwned\x1b[200~")
            terminal.until("pwned_")
            terminal.type("\r")
            code, out, _ = terminal.end()
            assert (code, out) == (0, os.fsencode(tmp_path / name) + b"\n")
            left = re.sub(rb"\x1b\[(\?(1049|25|7)[hl]|H|K|J|[0-9;]*m)", b"", terminal.raw)
            assert not re.search(rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]", left), left
            assert "\u202e" not in left.decode() and "\x9b" not in left.decode()


def test_in_a_shell(logs: Path) -> None:
    """`ctxkit show "$(ctxkit sessions --pick)"`; NO_COLOR draws without colours."""
    program = f'{PYTHON[0]} -c "{PYTHON[2]}"'.replace("!r", "")
    script = f'cd {ROOT}; {program} show "$({program} sessions {logs} --pick)" --oneline'
    with Terminal(script=script, NO_COLOR="1") as terminal:
        terminal.until("> _")
        terminal.type("first\r")
        code, out, _ = terminal.end()
        assert code == 0 and b"the first title" in out
        assert not re.search(rb"\x1b\[[0-9;]*m", terminal.raw)


def test_closed_streams(logs: Path) -> None:
    """Neither standard input nor error is needed; where nothing is taken, nothing is printed, and the status tells."""
    program = f'{PYTHON[0]} -c "{PYTHON[2]}"'.replace("!r", "")
    for key, told in (("\x1b[B\r", f"0 {logs}/second.jsonl"), ("\x1b", "1 "), ("\x03", "130 ")):
        script = f'cd {ROOT}; path=$({program} sessions {logs} --pick <&- 2>&-); echo $? "$path"'
        with Terminal(script=script) as terminal:
            terminal.until("> _")
            terminal.type(key)
            code, out, _ = terminal.end()
            assert (code, out.decode().rstrip("\n")) == (0, told)


def test_forms_and_filters(logs: Path) -> None:
    """--json prints the object, -0 a NUL; what is offered is what is asked for."""
    with picking(logs, "--json", "--grep", "first") as terminal:
        assert terminal.screen()[0].endswith(" 1/1")
        terminal.type("\r")
        assert b'"title":"the first title"' in terminal.end()[1]
    with picking(logs, "-0") as terminal:
        terminal.type("\r")
        assert terminal.end()[1] == os.fsencode(logs / "third.jsonl") + b"\0"


def test_no_terminal(logs: Path) -> None:
    """Exit 2, and nothing is drawn; a dumb one is none, either; without a session nothing is offered."""
    done = subprocess.run(
        [*PYTHON, "sessions", str(logs), "--pick"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
        start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"") and b"--pick needs a terminal" in done.stderr
    seen = on_pty(["sessions", str(logs), "--pick"], 80, TERM="dumb")
    assert seen.code == 2 and ENTER not in seen.raw
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
        terminal.type("\r")
        assert terminal.end()[1].endswith(b"/chat.jsonl\n")


@pytest.mark.needs("tmux")
@pytest.mark.parametrize("columns", [40, 80])
def test_the_last_column(logs: Path, tmp_path: Path, columns: int) -> None:
    """A line as wide as the terminal keeps its last cell, where the terminal is a real one."""
    tmux = ["tmux", "-L", f"ctxkit-{os.getpid()}-{columns}", "-f", "/dev/null"]
    words = shlex.join([*PYTHON, "sessions", "--pick", str(logs)])
    env = {**os.environ, "TMUX_TMPDIR": str(tmp_path)}
    started = [*tmux, "new-session", "-d", "-x", str(columns), "-y", "12", f"env PAGER=cat {words}"]
    try:
        subprocess.run(started, env=env, check=True, timeout=30)
        for _ in range(200):
            seen = subprocess.run([*tmux, "capture-pane", "-p"], env=env, capture_output=True, text=True, timeout=30)
            first = seen.stdout.split("\n")[0]
            if first.startswith("> _"):
                break
            time.sleep(0.1)
        assert len(first) == columns and first.endswith(" 3/3"), seen.stdout
    finally:
        subprocess.run([*tmux, "kill-server"], env=env, check=False, capture_output=True, timeout=30)
