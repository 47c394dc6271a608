"""`@…` in a log's place: every command takes it, a report says which session it was, and a script never guesses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pexpect
import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import picker
from ctxkit.search.sessions import Session
from tests.cli.runner import PYTHON, ctxkit, good, lines, message, numbers
from tests.homes import repository, session

LOGIN = "3f2a91c0-0000-4000-8000-000000000001"
PORT = "019ed99c-d00d-7613-b2e7-d2f512f78afd"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions of a project, an hour apart, the newer one of Claude Code."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    session(tmp_path, "claude-code", tmp_path / "shop", LOGIN, "The login fails", at=3600)
    session(tmp_path, "codex", tmp_path / "shop", PORT, "Where is the port set?")
    return tmp_path


def path_of(home: Path, key: str) -> str:
    """The file of a session."""
    [path] = home.rglob(f"*{key}.jsonl")
    return str(path)


def test_recall_names_the_other_sessions(home: Path) -> None:
    """What is not in the session that @ names may be in another of the project; of a path nothing is said."""
    ran = ctxkit("recall", "@", "zebra")
    assert ran.code == 1 and "hint: 1 other session of this project: ctxkit recall @2 zebra; -i ignores case" in ran.err
    assert "other session" not in ctxkit("recall", path_of(home, LOGIN), "zebra").err


def test_recall_in_the_whole_project(home: Path) -> None:
    """--here searches every session of this project, by its name; what cannot go along is refused."""
    session(home, "claude-code", home / "elsewhere", "5e550000-0000-4000-8000-00000000000c", "Where is the port set?")
    ran = good("recall", "--here", "port")
    assert ran.text.startswith("@2 ") and "  @2:1  user" in ran.text
    assert ran.err.endswith("1 hit in 1 exchange, 1 day\n")
    good("forget", "@2", "1")
    assert "to read: ctxkit show @2 1\n" in good("recall", "--here", "-e", "port").err
    none = ctxkit("recall", "--here", "12345")
    assert none.code == 1 and none.err == "ctxkit: nothing found: '12345' is nowhere in @, @2\n"
    for words in (["@", "port"], ["port", "--apply"], []):
        assert ctxkit("recall", "--here", *words).code == 2
    (home / "empty").mkdir()
    os.chdir(home / "empty")
    assert "no session was begun in" in ctxkit("recall", "--here", "port").err


WITHOUT = {"init", "help", "sessions", "tool", "recall", "config", "snapshots", "add", "restore", "edit",
           "memory", "metrics", "watch", "fleet", "sql"}  # fmt: skip
"""Commands that take no log, or not as their first word alone."""
MORE = {
    "forget": ["1"], "protect": ["1"], "compact": ["--target", "30%"], "remember": ["1", "--yes"],
    "why": ["1"], "export": ["--to", "openai"], "trim": ["--max-tokens", "100k"],
    "resume": ["--dry-run"],
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - WITHOUT))
def test_every_command_takes_it(home: Path, command: str) -> None:
    """As it takes the path: nothing says that there is no such log, and the report names the session."""
    ran = ctxkit(command, "@", *MORE.get(command, []))
    assert ran.code in (0, 1), ran.err
    assert f"@: The login fails (claude-code, @{LOGIN[:13]})\n" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ["recall", "@", "login"], ["recall", "@", "1", "--apply"], ["config", "@", "get", "now"], ["snapshots", "@"],
        ["diff", "@", "@codex"], ["sql", "@", "messages"], ["sessions", "@"], ["tool", "cleanup", "@"],
        ["memory", "extract", "@"], ["edit", "@", "--print"],
        ["show", "--", "@", "1"], ["@"], ["@", "1"], ["--no-pager", "@codex", "1"], ["add", "@", "hello"],
    ],
)  # fmt: skip
def test_other_places(home: Path, words: list[str]) -> None:
    """Wherever a log stands."""
    ran = ctxkit(*words)
    assert ran.code in (0, 1) or "owned by claude-code" in ran.err or "add" in words, ran.err
    assert "no such log" not in ran.err and "no such command" not in ran.err


def test_which_one(home: Path) -> None:
    """The session is read and written, and nothing else."""
    good("forget", "@codex", "1")
    assert Path(path_of(home, PORT) + ".ctxkit/ops.jsonl").exists()
    assert not Path(path_of(home, LOGIN) + ".ctxkit").exists()
    assert numbers(good("show", "@", "--json")) == [1] and numbers(good("show", "@2", "--json")) == []
    assert good("show", "@", "-q").err == ""


def test_a_path_is_a_path(home: Path) -> None:
    """Without the sign nothing is a name; with a folder before it the sign is a file's."""
    Path("@").write_bytes(lines(message("user", "of the file", 1)))
    assert "of the file" in good("show", "./@").text
    assert "of the file" in good("./@").text
    assert "login" in good("show", "@").text
    assert ctxkit("show", "codex").code == 66


OPTIONS = (["check", "@", "--accept"], ["snapshots", "@", "--prune"], ["snapshots", "@", "--rm", "3f2a"])
"""Options that write, of commands that read otherwise."""


def test_a_script_never_guesses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that were written within a minute of each other: a writer ends with 75, an id, a look and a person go on."""
    session(home, "codex", home / "shop", PORT, "Where is the port set?", at=3570)
    before = sorted(home.rglob("*"))
    for words in (["mark", "@"], ["forget", "@2", "1"], ["recall", "@", "1", "--apply"], ["clear", "@"], *OPTIONS):
        ran = ctxkit(*words)
        assert ran.code == 75 and "@3f2a91c0" in ran.err and "@019ed99c" in ran.err and not ran.out
    assert {path for path in home.rglob("*.ctxkit")} == set() and set(before) <= set(home.rglob("*"))
    assert (
        good("show", "@").code
        == good("check", "@").code
        == good("snapshots", "@").code
        == good("mark", "@codex").code
        == good("mark", "@3f2a91c0").code
        == 0
    )
    assert ctxkit("mark", "@", terminal=True).code == 0


def test_a_session_by_its_id_from_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is enough, wherever one is."""
    monkeypatch.chdir(home)
    os.mkdir("empty")
    monkeypatch.chdir(home / "empty")
    assert ctxkit("show", "@").code == 66
    assert "login" in good("show", "@3f2a91c0").text


def test_the_op_says_what_was_typed(home: Path) -> None:
    """Its provenance has the call; the report has the session."""
    good("mark", "-q", "@", "here")
    op = json.loads(Path(path_of(home, LOGIN) + ".ctxkit/ops.jsonl").read_bytes())
    assert op["by"]["args"] == ["mark", "-q", "@", "here"]


def test_nothing_to_pick(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a log on a terminal, where this project has no session, or nothing can be drawn: the error as before."""
    monkeypatch.setenv("TERM", "dumb")
    assert "no log was named" in ctxkit("show", terminal=True).err
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("HOME", str(home / "nobody"))
    ran = ctxkit("show", terminal=True)
    assert ran.code == 2 and "no log was named" in ran.err


def test_picked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a log on a terminal one of this project's sessions is picked; the report says which; none ends with 1."""
    offered: list[str] = []

    def pick(sessions: Sequence[Session], remarks: Sequence[str]) -> Session | None:
        offered.extend(one.glance.title for one in sessions)
        return sessions[1] if len(offered) == 2 else None

    monkeypatch.setattr(picker, "pick", pick)
    ran = ctxkit("mark", terminal=True)
    assert ran.code == 0 and "picked: Where is the port set? (codex," in ran.err
    assert Path(path_of(home, PORT) + ".ctxkit/ops.jsonl").exists()
    ran = ctxkit("show", terminal=True)
    assert (ran.code, ran.out, ran.err) == (1, b"", "")
    assert offered == ["The login fails", "Where is the port set?"] * 2
    assert "no text was given" in ctxkit("add", "hello", terminal=True).err and len(offered) == 4


def test_picked_on_a_real_terminal(home: Path) -> None:
    """It is asked for, a word takes it, and the command goes on."""
    child = pexpect.spawn(PYTHON[0], [*PYTHON[1:], "log"], env=dict(os.environ), dimensions=(24, 80), timeout=30)
    child.expect_exact("Number, or words of it")
    child.send("port\r")
    child.expect_exact("picked: Where is the port set?")
    child.expect_exact("0 ops, 1 message")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_pipe_is_read(home: Path) -> None:
    """Without a log, and with - for it, standard input is the log as ever."""
    for words in (["show"], ["show", "-"]):
        assert "of the pipe" in ctxkit(*words, stdin=lines(message("user", "of the pipe", 1))).text
    assert "is a terminal" in ctxkit("show", "-", terminal=True).err
