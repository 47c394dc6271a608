"""The command that tells of processes: what it prints, how it ends, and where it does not run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.logfile import status_command
from ctxkit.logfile.status_command import CommandOutput, output
from tests.cli.runner import SMALL, ctxkit, good


@pytest.fixture(autouse=True)
def _no_output_is_kept() -> None:
    status_command._run.cache_clear()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo 'two  words'", CommandOutput("two  words")),
        ("true", CommandOutput("none")),
        (r"printf '\377a\0b\r\n'", CommandOutput("\ufffdab")),
        ("false", CommandOutput("", "false ended with 1")),
        ("no-such-program -x", CommandOutput("", "no-such-program cannot be started: no such file or directory")),
        ("sh -c 'kill -9 $$'", CommandOutput("", "sh ended with -9")),
        ("head -c 70000 /dev/zero", CommandOutput("", "head printed more than 65,536 bytes")),
        ("echo $HOME; ls", CommandOutput("$HOME; ls")),
    ],
)
def test_output(command: str, expected: CommandOutput) -> None:
    """What it printed; "none" if that is nothing; else why there is no output. No shell reads it."""
    assert output(command) == expected


def test_a_slow_command_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With all that it started."""
    monkeypatch.setattr(status_command, "SECONDS", 0.2)
    mark = tmp_path / "mark"
    found = output(f"sh -c '(sleep 0.4; touch {mark}) & sleep 20'")
    assert found.fault == "sh took longer than 0.2 s"
    time.sleep(0.5)
    assert not mark.exists()


@pytest.mark.parametrize("end", ["exec >&-; exit 0", "exit 1", "exit 0"])
def test_children_of_a_command_that_ended_are_ended(end: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whether they hold its output or not: none outlives the look."""
    monkeypatch.setattr(status_command, "SECONDS", 0.2)
    mark = tmp_path / "mark"
    output(f"sh -c '(sleep 0.4; touch {mark}) & {end}'")
    output(f"sh -c '(sleep 0.4; touch {mark}) >/dev/null & {end}'")
    time.sleep(0.6)
    assert not mark.exists()


def test_a_signal_ends_it_too(tmp_path: Path) -> None:
    """What ends ctxkit meanwhile ends the command first."""
    child = tmp_path / "child"
    command = f"sh -c 'echo $$ >{tmp_path}/new; mv {tmp_path}/new {child}; sleep 4'"
    code = "import sys; from ctxkit.logfile.status_command import output; output(sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", code, command]) as asking:
        while not child.exists():
            time.sleep(0.02)
        asking.terminate()
        assert asking.wait() == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text()), 0)


def test_it_runs_once_for_several_looks(tmp_path: Path) -> None:
    """A command of ctxkit may assemble a context more than once."""
    runs = tmp_path / "runs"
    for _ in range(3):
        output(f"sh -c 'echo run >>{runs}'")
    assert runs.read_text().count("run") in (1, 2)  # two where a new period has begun


def test_it_runs_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the folder of a log, where `./program` would be a stranger's."""
    monkeypatch.chdir(tmp_path)
    assert os.path.realpath(output("pwd").text) == os.path.realpath(os.path.expanduser("~"))


def test_in_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the caller's own words, in what is shown and sent; a command that fails is said to the model and here."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    monkeypatch.setenv("CTXKIT_STATUS_PROCESSES", "command: echo build runs")
    [body] = good("export", path, "--to", "openai", "--model", "m", "--status", "-", stdin=b"disk full").values
    assert body["messages"][1]["content"] == "Processes:\nbuild runs\n\ndisk full"
    assert list(Log.open(path, env={}).assembled()) == []
    monkeypatch.setenv("CTXKIT_STATUS_PROCESSES", "command: false")
    ran = good("export", path, "--to", "openai", "--model", "m")
    assert ran.values[0]["messages"][1]["content"] == "Processes: not known (false ended with 1)"
    assert "CTXKIT_STATUS_PROCESSES: status.processes: false ended with 1" in ran.err
    assert "Processes" not in good("export", path, "--to", "openai", "--model", "m", "--no-assembly").text


def test_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text, each time anew; a missing file is an error, as for the other texts."""
    path, listed = tmp_path / "chat.jsonl", tmp_path / "processes.txt"
    path.write_bytes(SMALL)
    listed.write_text("pump: on\n")
    monkeypatch.setenv("CTXKIT_STATUS_PROCESSES", str(listed))
    assert "    Processes:\n    pump: on\n" in good("show", path).text
    listed.unlink()
    ran = ctxkit("export", path, "--to", "openai", "--model", "m")
    assert ran.code == 78 and f"status.processes: {listed}: no such file: nothing was printed" in ran.err


@pytest.mark.parametrize("where", ["chat.jsonl.ctxkit/config.toml", "ctxkit.toml"])
def test_a_cloned_folder_runs_nothing(where: str, tmp_path: Path) -> None:
    """Named once, and neither run nor read."""
    path, file = tmp_path / "chat.jsonl", tmp_path / where
    path.write_bytes(SMALL)
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'status.processes = "command: touch {tmp_path}/ran"\n')
    for words in (
        ["show", path],
        ["export", path, "--to", "openai", "--model", "m"],
        ["status", path],
        ["status", path, "--by", "agent"],
    ):
        ran = good(*words)
        assert ran.err.count("status.processes counts only from flags, environment and user config: ignored") == 1
        assert "Processes" not in ran.text
    assert not (tmp_path / "ran").exists()
