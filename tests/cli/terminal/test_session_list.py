"""How found sessions look."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ctxkit.cli.terminal import session_list
from ctxkit.cli.terminal.layout import UNBROKEN
from ctxkit.cli.terminal.safe_text import cells, safe
from ctxkit.cli.terminal.style import Styled
from ctxkit.search.preview import LastWords, SessionPreview
from ctxkit.search.sessions import Session

ONE = Session(
    Path("/logs/one.jsonl"),
    SessionPreview(
        "chat", "fix the login test", LastWords("assistant", "done: all tests pass"), 1769940600.0, 42, "clean"
    ),
    1769940601.0,
    100,
    Path("/logs/one.jsonl.ctxkit"),
    2,
)
BARE = Session(Path("/x"), SessionPreview("messages", "", None, None, 1, "damaged", 3, 200), 1769940600.0, 1)
WIDE = msgspec.structs.replace(
    ONE, glance=SessionPreview("chat", "漢字" * 60, LastWords("user", "\x1b[2J🙂" * 60), 0.0, 1, "clean")
)


def texts(one: Session, width: int = 80, wrap_width: int = 80) -> list[str]:
    """The lines without their styles."""
    return [
        "".join(span.text if isinstance(span, Styled) else span for span in line)
        for line in session_list.lines(one, width, wrap_width)
    ]


def test_lines() -> None:
    """When and what, the last words, figures, the path."""
    assert texts(ONE) == [
        "2026-02-01T10:10:00Z  fix the login test",
        "    assistant: done: all tests pass",
        "    chat  42 messages  2 checkpoints",
        "    /logs/one.jsonl",
    ]
    assert texts(BARE) == [
        "2026-02-01T10:10:00Z  (no title)",
        "    messages  1 message  200 conversations  damaged",
        "    /x",
    ]


@pytest.mark.parametrize("modified", [-1e18, 0.5, 1e18])
def test_times_of_files(modified: float) -> None:
    """Whatever a file system says that can be printed, as well as it can."""
    one = msgspec.structs.replace(BARE, glance=msgspec.structs.replace(BARE.glance, time=None), modified=modified)
    assert texts(one)[0].startswith(session_list.as_json(one)["time"][:19])
    assert session_list.as_json(one)["time"].endswith("Z")


@pytest.mark.parametrize("width", [20, 25, 40, 80, 300])
def test_widths(width: int) -> None:
    """No line but the path is wider than the terminal."""
    for one in (ONE, BARE, WIDE):
        *words, path = texts(one, width, width)
        assert path.strip() == str(one.path)
        assert all(cells(safe(line)) <= width for line in words), words


def test_json() -> None:
    """Every key is always there."""
    found = session_list.as_json(ONE)
    assert found["last"] == {"role": "assistant", "text": "done: all tests pass"}
    assert (found["time"], found["checkpoints"], found["state"]) == ("2026-02-01T10:10:00Z", 2, "clean")
    assert session_list.as_json(BARE).keys() == found.keys()
    assert json.loads(json.dumps(session_list.as_json(WIDE)))["title"] == "漢字" * 60


def test_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person reads the home folder as `~`; a program gets the whole path."""
    monkeypatch.setenv("HOME", "/logs")
    assert texts(ONE)[-1].strip() == "~/one.jsonl"
    assert texts(ONE, wrap_width=UNBROKEN)[-1].strip() == "/logs/one.jsonl"


def test_archived() -> None:
    """A thread that Codex's user archived is told from the others."""
    glance, claude = (msgspec.structs.replace(ONE.glance, format=name) for name in ("codex", "claude-code"))
    for folder, told in (("archived_sessions", True), ("sessions/2026/03/02", False)):
        one = msgspec.structs.replace(ONE, path=Path("/h/.codex", folder, "rollout-x.jsonl"), glance=glance)
        assert ("archived" in "".join(texts(one)[:-1])) == told
    assert "archived" not in "".join(texts(msgspec.structs.replace(ONE, path=Path("one.jsonl"), glance=claude)))
