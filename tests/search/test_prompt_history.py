"""Sessions of which only the prompts are left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxkit.errors import ExitCode
from ctxkit.search.prompt_history import lost_sessions
from ctxkit.search.sessions import find_sessions
from ctxkit.store.source import Source
from tests import homes
from tests.cli.runner import ctxkit, good, lines

KEY = "3f2a91c0-1111-4222-8333-444455556666"


def prompt(words: str, session: str = KEY, folder: str = "/shop", minute: int = 0) -> dict[str, object]:
    """A row."""
    stamp = (homes.NOW + 60 * minute) * 1000
    return {"display": words, "pastedContents": {}, "timestamp": stamp, "project": folder, "sessionId": session}


ROWS = lines(prompt("/clear"), prompt("Where is the port set?", minute=1), prompt("And the host?", "other", "/blog", 2))


@pytest.fixture
def home() -> Path:
    """The home of this test, with a history."""
    found = Path(os.environ["HOME"])
    (found / ".claude").mkdir()
    (found / ".claude/history.jsonl").write_bytes(ROWS)
    (found / ".claude/projects").mkdir()
    return found


def test_what_is_left() -> None:
    """Prompts by session, whatever other rows are damaged."""
    raw = ROWS + b'{"display":"torn\n[]\n\xff\n' + json.dumps({"display": "x", "timestamp": 1, "project": "/"}).encode()
    found = lost_sessions(Source("history", raw), {"other"})
    assert [(one.id, one.folder, one.prompts) for one in found] == [
        (KEY, "/shop", ["/clear", "Where is the port set?"])
    ]
    told = found[0].preview()
    assert (told.title, told.last and told.last.text, told.messages) == ("Where is the port set?",) * 2 + (2,)
    assert told.time == homes.NOW + 60


def test_listed_as_prompts_only(home: Path) -> None:
    """Until the session is there."""
    said = good("sessions").text
    assert "claude-history  2 messages  prompts only  /shop" in said
    assert f"~/.claude/history.jsonl --thread {KEY}\n" in said
    assert [value["thread"] for value in good("sessions", "--json").values] == ["other", KEY]
    homes.session(home, "claude-code", "/shop", KEY)
    assert [value["thread"] for value in good("sessions", "--json").values] == ["other", None]
    assert ctxkit("sessions", "-0").out.count(b"\0") == 1


def test_what_the_thread_shows(home: Path) -> None:
    """The prompts of that session alone."""
    ran = good("show", home / ".claude/history.jsonl", "--thread", KEY, "--no-assembly", "--json")
    assert [value["parts"][0]["text"] for value in ran.values] == ["/clear", "Where is the port set?"]


@pytest.mark.parametrize(
    ("words", "threads"), [("host", ["other"]), ("^/clear$", [KEY]), ("zebra", []), ("the", ["other", KEY])]
)
def test_grep(home: Path, words: str, threads: list[str]) -> None:
    """In any prompt of the session."""
    ran = ctxkit("sessions", "--grep", words, "--json")
    assert [value["thread"] for value in ran.values] == threads
    assert ran.code == (0 if threads else 1)


def test_recall(home: Path) -> None:
    """Finds prompts of sessions that are gone."""
    assert "And the host?" in good("recall", home / ".claude", "host").text


def test_of_a_project(home: Path, tmp_path: Path) -> None:
    """By the folder that each prompt names."""
    shop = homes.repository(tmp_path / "shop")
    (home / ".claude/history.jsonl").write_bytes(ROWS + lines(prompt("Mine", "own", str(shop / "sub"))))
    found = find_sessions(here=shop)
    assert [one.thread for one in found.sessions] == ["own"]


def test_a_history_that_cannot_be_read(home: Path) -> None:
    """Is reported, and the sessions are listed; the exit code says that not everything was looked at."""
    homes.session(home, "claude-code", "/shop", KEY)
    (home / ".claude/history.jsonl").chmod(0)
    if os.geteuid():
        ran = ctxkit("sessions")
        assert ran.code == ExitCode.PERMISSION and "permission denied" in ran.err and "1 session" in ran.err
