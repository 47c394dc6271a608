"""`ctxkit` alone on a terminal: what it shows, at every width, and where it does not."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from ctxkit.cli import first_screen
from ctxkit.cli.first_screen import Fullness, _ago, lines
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.core.times import iso
from ctxkit.search.preview import SessionPreview
from ctxkit.search.sessions import Session
from tests.cli.runner import ctxkit, good
from tests.cli.screens import on_pty
from tests.homes import repository, rows, session


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a session of Claude Code that a provider counted, and one of Codex."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    path = session(tmp_path, "claude-code", tmp_path / "shop", words="The login fails")
    usage = {"input_tokens": 100_000, "output_tokens": 40, "cache_read_input_tokens": 25_000}
    said = {"id": "m1", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
            "content": [{"type": "text", "text": "It does."}]}  # fmt: skip
    row = {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "timestamp": iso(time.time() - 300)}
    path.write_bytes(path.read_bytes() + rows(row | {"cwd": str(tmp_path / "shop"), "message": said}))
    session(tmp_path, "codex", tmp_path / "shop", "019ed99c-d00d-7613-b2e7-d2f512f78afd", "Where is the port set?")
    return tmp_path


def spans(line: list[object]) -> str:
    """A line without its styles."""
    return "".join(span if isinstance(span, str) else span.text for span in line)  # type: ignore[attr-defined]


def test_what_is_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest sessions, how full they are, and three commands; the figure is that of `status`."""
    monkeypatch.setattr(first_screen, "PATIENCE", 60)
    ran = ctxkit(terminal=True, screen=True)
    assert ran.code == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", ran.text)
    assert text.startswith("~/shop\n@   5 min ago  claude  ██████░░░░ 62 % of 200k  The login fails\n")
    assert re.search(r"\n@2 +\d+ d ago  codex .*Where is the port set\?\n", text)
    named = re.findall(r"ctxkit (\w+) @", text)
    assert len(named) == 3 and set(named) <= COMMANDS.keys() and "ctxkit --help" in text
    assert "62 %" in good("status", "@", "--short").text
    assert re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text) == text


def test_where_it_is_not_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe, and where the project has no session: help, as ever."""
    helped = good("--help").out
    assert ctxkit(terminal=True).out == ctxkit().out == helped
    assert b"ctxkit COMMAND" in ctxkit(screen=True).out
    monkeypatch.chdir(repository(home / "empty"))
    assert b"ctxkit COMMAND" in ctxkit(terminal=True, screen=True).out


def test_on_a_real_terminal(home: Path) -> None:
    """Words and colours."""
    seen = on_pty([], 80, cwd=home / "shop", PAGER="cat")
    assert seen.code == 0 and b"The login fails" in seen.raw and b"\x1b[1m" in seen.raw


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 200])
def test_widths(width: int) -> None:
    """No line is wider than the terminal, whatever a title holds."""
    titles = ("x" * 300, "\x1b]0;pwned\x07\u202e", "短い題名" * 20, "")
    glances = [SessionPreview("copilot-cli", title, None, 0.0, 3, "clean") for title in titles]
    some = [Session(Path(f"/{i}"), one, 0.0, 10) for i, one in enumerate(glances)]
    full = [Fullness(), Fullness(12_345), Fullness(1_234_567, 1_000_000, "red"), Fullness(0, 200_000, "green")]
    drawn = [spans(line) for line in lines(some, full, "~/" + "deep/" * 30, width, more=True)]
    assert all(cells(line) <= width for line in drawn), [line for line in drawn if cells(line) > width]
    assert "123 %" in " ".join(" ".join(drawn).split()) and "\x1b" not in "".join(drawn)


@pytest.mark.parametrize(("seconds", "words"), [(-5, "now"), (59, "now"), (60, "1 min ago"), (7200, "2 h ago"),
                                                (200_000, "2 d ago")])  # fmt: skip
def test_ages(seconds: float, words: str) -> None:
    """Whole units."""
    assert _ago(seconds) == words


def test_a_damaged_session(home: Path) -> None:
    """Is shown, and takes nothing else with it."""
    [path] = home.rglob("rollout-*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"response_item","payload":{"type":{}}}\n{"torn')
    os.utime(path, (1, 1))
    assert "Where is the port set?" in ctxkit(terminal=True, screen=True).text
