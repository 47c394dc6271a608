"""Whether a session speaks of something."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.needle import Needle
from ctxkit.errors import Misfit
from ctxkit.finding import Session, find_sessions
from ctxkit.mentioning import mentions
from tests.cli.runner import FOREIGN, SMALL, lines, message


def session(path: Path, raw: bytes = SMALL) -> Session:
    """The only session of a folder."""
    path.write_bytes(raw)
    [found] = find_sessions([path]).sessions
    return found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("second question", True), ("^running$", True), ("print.1.", True), ("zebra", False), ("SECOND", False),
        ("needle-in-the-name", True), ("(?i)SECOND", True), ("first question", True), ("tool_call_id", False),
        ("a\\.py", True),
    ],
)  # fmt: skip
def test_where(tmp_path_factory: pytest.TempPathFactory, pattern: str, expected: bool) -> None:
    """In its title, its path, or any message; not in how the log spells it."""
    found = session(tmp_path_factory.mktemp("x") / "needle-in-the-name.jsonl")
    assert mentions(found, Needle(pattern, regex=True)) == expected


def test_also_what_is_out(tmp_path: Path) -> None:
    """Forgotten messages."""
    path = tmp_path / "s.jsonl"
    found = session(path, FOREIGN)
    assert not mentions(found, Needle("zebra"))
    Log.open(path).forget([2])
    assert mentions(found, Needle("hi"))


def test_in_any_of_many_conversations(tmp_path: Path) -> None:
    """The third one, too."""
    raw = lines(*({"messages": [message("user", f"question {i}"), message("assistant", "a")]} for i in range(3)))
    found = session(tmp_path / "many.jsonl", raw)
    assert mentions(found, Needle("question 2")) and not mentions(found, Needle("question 3"))


def test_ops_that_do_not_fit(tmp_path: Path) -> None:
    """Are an error, as of every command."""
    path = tmp_path / "s.jsonl"
    found = session(path, SMALL + b'{"ctxkit":"clear","id":"x","at":{"messages":99}}\n')
    assert found.state == "damaged"
    with pytest.raises(Misfit):
        mentions(found, Needle("second question"))
