"""Standard streams: results and reports, and every way in which they fail."""

from __future__ import annotations

import errno
import io as streams
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.cli import io
from ctxkit.core.jsontext import loads
from ctxkit.errors import ManyConversations, NoMark
from tests.cli.runner import PYTHON, SMALL, ctxkit, good, lines, message, shell, small


class Broken(streams.RawIOBase):
    """A stream that cannot be written."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        raise OSError(self.code, os.strerror(self.code))


def test_one_line_stays_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Nothing in a name or label can make up a line of its own, on either stream."""
    io.out("a\nb\x1b\tc")
    io.say("a\nctxkit: b")
    io.flush()
    assert capfdbinary.readouterr() == ("a␊b␛\tc\n".encode(), "a␊ctxkit: b\n".encode())


def test_fail(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Message, hint where there is one, code; the list of conversations is one of lines."""
    assert io.fail(NoMark("no\nmark")) == 1
    assert io.fail(ManyConversations("two:\n  1\n  2", "choose")) == 2
    assert capfdbinary.readouterr().err == "ctxkit: no␊mark\nctxkit: two:\n  1\n  2\nhint: choose\n".encode()


def test_json_is_ascii(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A machine line acts on no terminal."""
    io.out_json({"a": "\x1b\u202eü"})
    io.flush()
    out = capfdbinary.readouterr().out
    assert out.isascii() and loads(out) == {"a": "\x1b\u202eü"}


def test_quiet(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Reports are silenced, errors are not."""
    io.Streams.quiet = True
    io.say("report")
    io.fail(NoMark("no mark"))
    io.Streams.begin(())
    assert capfdbinary.readouterr().err == b"ctxkit: no mark\n"


def test_nobody_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed or broken stderr is no reason to fail."""
    for stream in (None, streams.TextIOWrapper(streams.BufferedWriter(Broken(errno.EIO)))):
        monkeypatch.setattr(sys, "stderr", stream)
        io.say("hello")
        if stream is not None:
            monkeypatch.setattr(stream, "close", lambda: None)


@pytest.mark.parametrize("command", ["show -", "log -", "why - 2", "cat -", "export - --to chat", "mark -", "window -",
                                     "forget - 2", "rewind - none", "add - hi", "show --help"])  # fmt: skip
def test_full_disk(tmp_path: Path, command: str) -> None:
    """/dev/full: exit 74 and why, no traceback."""
    (tmp_path / "log").write_bytes(good("mark", "-", "a", stdin=SMALL).out)
    ran = shell(f"ctxkit {command} <log >/dev/full", tmp_path)
    assert ran.code == 74
    assert "ctxkit: cannot write output: no space left on device\n" in ran.err and "Traceback" not in ran.err


def test_full_disk_after_an_append(tmp_path: Path) -> None:
    """The op is in the log although its JSON could not be printed, and it says so."""
    path = small(tmp_path)
    ran = shell(f"ctxkit mark {path} --json >/dev/full", tmp_path)
    assert ran.code == 74 and "hint: the log has it all the same: Checkpoint created." in ran.err
    assert path.read_bytes().count(b'"ctxkit"') == 1
    assert shell(f"ctxkit add {path} hi --json >/dev/full", tmp_path).err.endswith("same: 1 message added\n")


@pytest.mark.parametrize("command", ["show", "cat", "export --to chat", "show --json", "mark"])
def test_reader_goes_away(tmp_path: Path, command: str) -> None:
    """`| head -1`: quiet, as by SIGPIPE."""
    (tmp_path / "log").write_bytes(lines(*(message("user", "x" * 99) for _ in range(3000))))
    name, _, more = command.partition(" ")
    ran = shell(f"ctxkit {name} - {more} <log -q | head -1 >first; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (ran.code, ran.err) == (141, "")
    assert (tmp_path / "first").read_bytes()


class Slow(streams.RawIOBase):
    """A file that takes three bytes at a time, as a bare descriptor may."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = b""

    def write(self, piece: object) -> int:
        self.taken += bytes(memoryview(piece)[:3])
        return min(3, len(memoryview(piece)))


def test_short_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte is lost where the stream takes a part only (PYTHONUNBUFFERED makes stdout such a stream)."""
    slow = Slow()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=slow))
    io.out_bytes([b"0123456789", b"", b"abc"])
    assert slow.taken == b"0123456789abc"
    monkeypatch.setattr(slow, "write", lambda piece: None)
    with pytest.raises(BlockingIOError):
        io.out("x")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_reader_goes_away_from_a_bare_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str) -> None:
    """The same however Python was told to buffer."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (tmp_path / "log").write_bytes(lines(*(message("user", "x" * 99) for _ in range(3000))))
    assert shell("ctxkit cat log | head -1 >first; exit ${PIPESTATUS[0]}", tmp_path).code == 141
    assert shell("ctxkit mark - <log | sleep 0.1; exit ${PIPESTATUS[0]}", tmp_path).code == 141


@pytest.mark.parametrize("words", [["show", "-"], ["mark", "-"], ["add", "LOG", "-"]])
def test_interrupt_while_reading(tmp_path: Path, words: list[str]) -> None:
    """Ctrl-C while standard input is read: exit 130, nothing on stdout, no traceback, nothing appended."""
    path = small(tmp_path)
    args = [str(path) if word == "LOG" else word for word in words]
    with subprocess.Popen(
        [*PYTHON, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdin and running.stdout and running.stderr
        running.stdin.write(SMALL)
        running.stdin.flush()
        wait_until_reading(running.pid)
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
        assert running.stdout.read() == b""
        assert running.stderr.read() == b"ctxkit: interrupted\n"
    assert path.read_bytes() == SMALL


def wait_until_reading(pid: int) -> None:
    """Until the process waits in a read, as far as the system tells."""
    for _ in range(500):
        try:
            call = Path(f"/proc/{pid}/syscall").read_text()
            wait = Path(f"/proc/{pid}/wchan").read_text()
        except OSError:
            time.sleep(1)
            return
        if call.startswith("0 0x0 ") or "pipe" in wait:
            time.sleep(0.05)
            return
        time.sleep(0.01)


def test_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question needs both stdin and stderr to be terminals."""
    monkeypatch.setattr(sys, "stdin", None)
    assert not io.on_terminal()


@pytest.mark.parametrize(("answer", "yes"), [(b"y\n", True), (b"YES\n", True), (b" yes \n", True), (b"n\n", False),
                                             (b"\n", False), (b"", False), (b"yess\n", False)])  # fmt: skip
def test_ask(tmp_path: Path, answer: bytes, yes: bool) -> None:
    """Only a yes is a yes; no answer is none."""
    path = small(tmp_path)
    ran = ctxkit("forget", path, "--role", "user", stdin=answer, terminal=True)
    assert "[y/N]" in ran.err
    assert (ran.code == 0, path.read_bytes() == SMALL) == (yes, not yes)
