"""`ctxkit` alone on a terminal: what it shows, at every width, and where it does not."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from ctxkit.cli.first_screen import Fullness, lines
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.session_list import ago
from ctxkit.core.times import iso
from ctxkit.search.preview import SessionPreview
from ctxkit.search.resumed import note
from ctxkit.search.sessions import Session
from tests.cli.runner import ctxkit, good
from tests.cli.screens import on_pty
from tests.homes import repository, rows, session
from tests.watch.running import Watching


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
    os.utime(path, (time.time() - 300,) * 2)
    session(tmp_path, "codex", tmp_path / "shop", "019ed99c-d00d-7613-b2e7-d2f512f78afd", "Where is the port set?")
    return tmp_path


def spans(line: list[object]) -> str:
    """A line without its styles."""
    return "".join(span if isinstance(span, str) else span.text for span in line)  # type: ignore[attr-defined]


def test_logs_of_this_folder(home: Path) -> None:
    """They are shown too, beside the agents' sessions and without any; what is no log is not."""
    Path("chat.jsonl").write_bytes(b'{"role":"user","content":"hi"}\n')
    Path("rows.jsonl").write_bytes(b'{"a":1}\n')
    text = re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text)
    assert "Logs in this folder\nchat.jsonl  1 message\n" in text and "rows.jsonl" not in text
    assert "ctxkit show @" in text
    shutil.rmtree(home / ".claude")
    shutil.rmtree(home / ".codex")
    text = re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text)
    assert "No agent's session; logs in this folder\nchat.jsonl  1 message\n" in text
    assert "ctxkit show chat.jsonl" in text and "@" not in text


def test_what_is_shown(home: Path) -> None:
    """The newest sessions, how full they are, without counting, and three commands; the figure is that of `status`."""
    ran = ctxkit(terminal=True, screen=True)
    assert ran.code == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", ran.text)
    assert text.startswith("~/shop\n@   5 min ago  claude  ██████░░░░ 62 % of 200k  The login fails\n")
    assert re.search(r"\n@2 +\d+ d ago  codex +~ *\d+ tokens .*Where is the port set\?\n", text)
    named = re.findall(r"ctxkit (\w+) @", text)
    assert len(named) == 4 and set(named) <= COMMANDS.keys() and "ctxkit --help" in text
    assert "62 %" in good("status", "@", "--short").text
    assert re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text) == text


def test_each_session_has_a_bar(home: Path) -> None:
    """Where nobody counted it is an estimate, and marked; a limit of the config comes before the model's."""
    [path] = home.rglob("rollout-*.jsonl")
    path.write_bytes(path.read_bytes() + rows({"type": "turn_context", "payload": {"model": "gpt-5"}}))
    text = re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text)
    assert re.search(r"[█░]{10} 62 % of 200k", text) and re.search(r"[█░]{10}~<1 % of +272k", text), text
    good("config", path, "set", "limit", "300")
    text = re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text)
    assert re.search(r"~\d+ % of +300 ", text), text


def test_one_order_and_one_age(home: Path) -> None:
    """`ctxkit` alone and `sessions --here` have the order of `@`, and the age that it goes by; what differs is said."""
    newer = session(home, "claude-code", home / "shop", "5e550000-0000-4000-8000-000000000001", "The login fails")
    note(newer, next(one for one in (home / ".claude").rglob("*.jsonl") if one != newer), os.environ)
    os.utime(newer, (time.time() - 60,) * 2)
    text = re.sub(r"\x1b\[[0-9;]*m", "", ctxkit(terminal=True, screen=True).text)
    days = r"last message 2\d\d d ago\n"
    assert re.search(r"\n@ +1 min ago .*The login fails\n    5e550000, made from @2, " + days, text), text
    assert re.search(r"\n@2 +5 min ago .*The login fails\n    3f2a\w{4}\n@3 +2\d\d d ago ", text), text
    listed = good("sessions", "--here").text
    assert [block.split()[0] for block in listed.split("\n\n")] == ["@", "@2", "@3"]
    assert (
        listed.startswith(f"@   {iso(newer.stat().st_mtime)[:16]}")
        and "    last message 2026-03-02T09:01:00Z  cl" in listed
    )
    assert "    resumed from @2 (/" in listed
    with_times = {one["name"]: one["path"] for one in good("sessions", "--here", "--json").values}
    assert with_times["@"] == str(newer)


def test_a_watcher_that_was_killed_is_told_of(home: Path) -> None:
    """With the command to type, below the sessions."""
    path = next((home / ".claude").rglob("*.jsonl"))
    os.utime(path, (time.time() - 3600,) * 2)
    with Watching(path) as watching:
        watching.event("status.changed")
        watching.end(signal.SIGKILL)
    ran = ctxkit(terminal=True, screen=True)
    assert f"{path} ended abnormally at " in " ".join(re.sub(r"\x1b\[[0-9;]*m", "", ran.err).split())


def test_colours_are_those_of_the_config(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `status` is coloured by."""
    for variable, colour in ((None, "32"), ("CTXKIT_STATUS_YELLOW", "33"), ("CTXKIT_STATUS_RED", "31")):
        if variable:
            monkeypatch.setenv(variable, "61%")
        assert f"\x1b[{colour}m██████" in ctxkit(terminal=True, screen=True).text, variable


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
    drawn = [
        spans(line)
        for line in lines(some, full, "~/" + "deep/" * 30, width, ["", *["0123abcd, made from @2"] * 3], more=True)
    ]
    assert all(cells(line) <= width for line in drawn), [line for line in drawn if cells(line) > width]
    assert "123 %" in " ".join(" ".join(drawn).split()) and "\x1b" not in "".join(drawn)


@pytest.mark.parametrize(("seconds", "words"), [(-5, "now"), (59, "now"), (60, "1 min ago"), (7200, "2 h ago"),
                                                (200_000, "2 d ago")])  # fmt: skip
def test_ages(seconds: float, words: str) -> None:
    """Whole units."""
    assert ago(seconds) == words


def test_a_damaged_session(home: Path) -> None:
    """Is shown, and takes nothing else with it."""
    [path] = home.rglob("rollout-*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"response_item","payload":{"type":{}}}\n{"torn')
    os.utime(path, (1, 1))
    assert "Where is the port set?" in ctxkit(terminal=True, screen=True).text
