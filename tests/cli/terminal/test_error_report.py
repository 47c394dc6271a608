"""How a run fails: errors in words, a full disk, a reader who goes away, Ctrl-C; and its exit status."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from ctxkit.cli.terminal import error_report, streams
from ctxkit.errors import ManyConversations, NoMark
from tests.cli.runner import PYTHON, SMALL, ctxkit, good, lines, message, shell, small


def test_fail(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Message, hint where there is one, code; the list of conversations is one of lines."""
    streams.begin(())
    assert error_report.fail(NoMark("no\nmark")) == 1
    assert error_report.fail(ManyConversations("two:\n  1\n  2", "choose")) == 2
    assert capfdbinary.readouterr().err == "ctxkit: no␊mark\nctxkit: two:\n  1\n  2\nhint: choose\n".encode()


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("trim --target 25%", "--max-tokens? ctxkit trim --help"),
        ("trim --budget 9k", "--max-tokens? ctxkit trim --help"),
        ("compact --max-tokens 9k", "--target? ctxkit compact --help"),
    ],
)
def test_an_option_of_another_command(command: str, hint: str) -> None:
    """What `compact` and `trim` call differently is told by its name here, where it has one."""
    ran = ctxkit(*command.split())
    assert ran.code == 2 and ran.err.endswith(f"\nhint: {hint}\n")


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
    assert ran.code == 74 and "hint: but the log was changed: Checkpoint created." in ran.err
    assert path.read_bytes().count(b'"ctxkit"') == 1
    assert shell(f"ctxkit add {path} hi --json >/dev/full", tmp_path).err.endswith("changed: 1 message added\n")


@pytest.mark.parametrize("command", ["show", "cat", "export --to chat", "show --json", "mark"])
def test_reader_goes_away(tmp_path: Path, command: str) -> None:
    """`| head -1`: quiet, as by SIGPIPE."""
    (tmp_path / "log").write_bytes(lines(*(message("user", "x" * 99) for _ in range(3000))))
    name, _, more = command.partition(" ")
    ran = shell(f"ctxkit {name} - {more} <log -q | head -1 >first; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (ran.code, ran.err) == (141, "")
    assert (tmp_path / "first").read_bytes()


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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["mark", "--target"], "hint: ctxkit mark --help\n"),
        (["mark", "--strikt"], "hint: --strict? ctxkit mark --help\n"),
        (["trim", "--max-token", "5"], "hint: --max-tokens? ctxkit trim --help\n"),
        (["show", "--jsn"], "hint: --json? ctxkit show --help\n"),
        (["status", "x", "--fail"], "hint: --fail-at, --fail-over? ctxkit status --help\n"),
    ],
)  # fmt: skip
def test_an_option_that_is_meant(words: list[str], hint: str) -> None:
    """Named where its words are alike: the dashes of all options are not."""
    assert ctxkit(*words).err.endswith(hint)


def test_old_names_are_not_proposed() -> None:
    """What was mistyped is never near a name that goes."""
    assert ctxkit("status", "--limitt", "9k").err.endswith("\nhint: ctxkit status --help\n")
    assert "--context-limit?" in ctxkit("status", "--context-limi", "9k").err
