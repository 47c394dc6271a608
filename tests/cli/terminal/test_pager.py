"""The pager: which one, when, what it is given, and what happens when it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pexpect
import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal.pager import PAGED, command
from ctxkit.errors import ExitCode
from tests.cli.hostile import ALL, bad_characters, hostile, plain
from tests.cli.runner import PYTHON, SMALL, lines, message, small


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "less"),
        ({"PAGER": "more"}, "more"),
        ({"PAGER": "more", "CTXKIT_PAGER": "less -S"}, "less -S"),
        ({"PAGER": "more", "CTXKIT_PAGER": ""}, ""),
        ({"PAGER": ""}, ""),
        ({"PAGER": "cat"}, ""),
        ({"PAGER": " "}, ""),
        ({"TERM": "dumb"}, ""),
    ],
)
def test_which(env: dict[str, str], expected: str) -> None:
    """CTXKIT_PAGER, then PAGER, then less; empty or cat is none."""
    assert command(env) == expected


def test_table() -> None:
    """Paged commands end with exit codes that exist."""
    assert set(PAGED.values()) <= set(map(int, ExitCode)) and "show" in PAGED and "help" in COMMANDS


LONG = lines(*(message("user", f"line {n}", 1) for n in range(1, 400)))


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that keeps what it gets, and its environment."""
    path = tmp_path / "bin" / "keep it"
    path.parent.mkdir()
    path.write_text(
        f'#!/bin/sh\nenv >"{tmp_path}/env"\necho "$*" >"{tmp_path}/args"\ncat >"{tmp_path}/kept"\necho paged\n'
    )
    path.chmod(0o755)
    return path


def spawn(args: list[str], rows: int = 24, columns: int = 80, **env: str) -> pexpect.spawn:
    """A command on a terminal."""
    full = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "PAGER")} | env
    return pexpect.spawn(PYTHON[0], [*PYTHON[1:], *args], env=full, dimensions=(rows, columns), timeout=30)  # type: ignore[arg-type]


def seen(run: pexpect.spawn) -> str:
    """All that the terminal shows from here on."""
    text: bytes = run.read()
    run.close()
    return text.decode().replace("\r\n", "\n")


def test_long_text_goes_to_it(tmp_path: Path, pager: Path) -> None:
    """All of it, coloured as on a terminal; reports come after it has gone; no shell sees its command line."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG)
    run = spawn(["show", str(path)], CTXKIT_PAGER=f"'{pager}' a;touch '$(b)'")
    assert seen(run) == "paged\n399 of 399 messages\n"
    assert run.exitstatus == 0
    kept = (tmp_path / "kept").read_text()
    assert plain(kept).count("\n    line ") == 399 and "\x1b[1m1\x1b[0m" in kept
    assert (tmp_path / "args").read_text() == "a;touch $(b)\n"
    env = (tmp_path / "env").read_text()
    assert "\nLESSSECURE=1\n" in env and "\nLESS=FRX\n" in env


def test_what_less_is_told_stays(tmp_path: Path, pager: Path) -> None:
    """A user's own LESS is not changed, but it is always the secure one."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG)
    seen(spawn(["show", str(path)], PAGER=f"'{pager}'", LESS="-iMRS", LESSSECURE="0"))
    assert {"LESS=-iMRS", "LESSSECURE=1"} <= set((tmp_path / "env").read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "rows"), [(["show"], 200), (["--no-pager", "show"], 24), (["show", "--json"], 10), (["check"], 3)]
)
def test_no_pager(tmp_path: Path, pager: Path, words: list[str], rows: int) -> None:
    """Short text, --no-pager, machine forms and other commands go straight to the terminal."""
    *before, name = [word for word in words if word != "--json"]
    path = small(tmp_path)
    args = [*before, name, str(path), *(["--json"] if "--json" in words else [])]
    assert "paged" not in seen(spawn(args, rows, CTXKIT_PAGER=f"'{pager}'"))
    assert not (tmp_path / "kept").exists()


def test_a_pipe_is_not_paged(tmp_path: Path, pager: Path) -> None:
    """Only a terminal has a reader who turns pages."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG)
    script = f'"{PYTHON[0]}" -c "$0" show "{path}" | tail -n 2 | head -n 1'
    full = {**os.environ, "CTXKIT_PAGER": f"'{pager}'"}
    run = pexpect.spawn("bash", ["-c", script, PYTHON[2]], env=full, timeout=30)  # type: ignore[arg-type]
    assert "    line 399" in seen(run) and not (tmp_path / "kept").exists()


@pytest.mark.parametrize("words", ["/no/such/program -x", "'unbalanced"])
def test_one_that_does_not_start(tmp_path: Path, words: str) -> None:
    """The text comes without it, and why is said."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG)
    run = spawn(["show", str(path)], CTXKIT_PAGER=words)
    text = plain(seen(run))
    assert "cannot be started" in text and text.count("\n    line ") == 399 and run.exitstatus == 0


def test_one_that_cannot_start_its_program(tmp_path: Path) -> None:
    """`env no-such-program`: said as well."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG)
    run = spawn(["show", str(path)], CTXKIT_PAGER="env no-such-program")
    assert "ended with 127" in plain(seen(run)) and run.exitstatus == 0


@pytest.mark.needs("less")
def test_leaving_early(tmp_path: Path) -> None:
    """q in less: quiet, the command's own exit status, also where most was not made yet; Ctrl-C is less's own."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LONG * 50)
    run = spawn(["show", str(path), "--from-start"])
    run.expect("line 5")
    run.send("\x03")
    run.send("q")
    text = plain(seen(run))
    assert (run.exitstatus, run.signalstatus) == (0, None)
    assert "ctxkit:" not in text and "Traceback" not in text


@pytest.mark.needs("less")
def test_help_in_less(tmp_path: Path) -> None:
    """Help that is longer than the screen is paged too; to its end, and out."""
    run = spawn(["show", "--help"])
    run.expect("Usage:")
    run.send("G")
    run.expect("exit-codes")
    run.send("q")
    seen(run)
    assert run.exitstatus == 0


def test_interrupt_before_it_runs(tmp_path: Path) -> None:
    """While nothing was printed, Ctrl-C is ours: 130."""
    fifo = tmp_path / "in"
    os.mkfifo(fifo)
    run = pexpect.spawn(
        "bash", ["-c", f'exec "{PYTHON[0]}" -c "$0" show - <>"{fifo}"', PYTHON[2]],
        env={**os.environ, "CTXKIT_PAGER": "less"}, timeout=30,  # type: ignore[arg-type]
    )  # fmt: skip
    from tests.cli.terminal.test_error_report import wait_until_reading

    wait_until_reading(run.pid)
    run.kill(signal.SIGINT)
    assert "interrupted" in seen(run) and run.exitstatus == 130


@pytest.mark.parametrize("name", ["show", "log", "why"])
def test_hostile_text(tmp_path: Path, pager: Path, name: str) -> None:
    """A pager gets nothing that a terminal obeys, but our own colours."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(hostile(ALL))
    run = spawn([name, str(path), *(["1-"] if name == "why" else []), "-q"], 3, 20, CTXKIT_PAGER=f"'{pager}'")
    seen(run)
    kept = plain((tmp_path / "kept").read_bytes().decode())
    assert kept and bad_characters(kept) == []


def test_nothing_in_a_folder_names_it(tmp_path: Path, pager: Path) -> None:
    """A config beside the log cannot: the key does not exist."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    (tmp_path / "ctxkit.toml").write_text(f'pager = "{pager}"\n')
    run = spawn(["show", str(path)], 3)
    assert "unknown key pager" in plain(seen(run)) and run.exitstatus == 78
