"""Sessions of Gemini CLI that are written of other formats: what its reader makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Image, Part, Result, Text
from tests.cli.runner import call, lines, message

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def written(path: Path, *records: dict[str, Any]) -> tuple[list[dict[str, Any]], Log, dict[str, int]]:
    """The rows of a session of these chat messages, it read again, and what it could not hold."""
    (path / "chat.jsonl").write_bytes(lines(*records))
    made = Log.open(path / "chat.jsonl").session("gemini-cli", model="gemini-2.5-pro", cwd="/home/ada/shop")
    raw = b"".join(made.pieces)
    (path / "session.jsonl").write_bytes(raw)
    assert made.name.startswith("session-") and made.name.endswith(f"-{made.id[:8]}.jsonl")
    found = Log.open(path / "session.jsonl")
    assert found.opening.format.name == "gemini-cli"
    return [json.loads(line) for line in raw.splitlines()], found, made.repairs.left_out | made.repairs.added


def parts(log: Log) -> list[list[Part]]:
    """What each message of the context holds."""
    return [log.full(entry).parts for entry in log.entries()]


def test_results_stand_in_their_calls(tmp_path: Path) -> None:
    """Two calls with their results are one record; what failed is an error."""
    rows, log, lost = written(
        tmp_path,
        message("user", "look", 1),
        message("assistant", "so", 2, tool_calls=[call("read", "a", path="x"), call("read", "b", path="y")]),
        message("tool", "one", 3, tool_call_id="a"),
        message("tool", "two", 4, tool_call_id="b"),
        message("assistant", "done", 5),
    )
    assert [row.get("type") for row in rows] == [None, "user", "gemini", "gemini"]
    assert set(rows[0]) == {"sessionId", "projectHash", "startTime", "lastUpdated", "kind"}
    [_, said, _] = parts(log)
    assert [(type(part), getattr(part, "id", "")) for part in said] == [
        (Text, ""), (Call, "a"), (Call, "b"), (Result, "a"), (Result, "b")
    ]  # fmt: skip
    assert [part.content for part in said if isinstance(part, Result)] == ["one", "two"]
    assert rows[2]["model"] == "gemini-2.5-pro" and lost == {}


@pytest.mark.parametrize("words", ["/home/ada is gone", "? what", "  /x"])
def test_words_that_look_like_a_command(words: str, tmp_path: Path) -> None:
    """Gemini CLI sends no message that begins as a command: a mark that nobody sees stands before it."""
    _, log, told = written(tmp_path, message("user", words, 1), message("assistant", "yes", 2))
    assert [len(one) for one in parts(log)] == [2, 1]
    assert told == {"mark before words that Gemini CLI takes for a command": 1}


def test_pictures_and_what_has_no_place(tmp_path: Path) -> None:
    """A picture of the user's stands in its message; the words of a system message become the user's."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    _, log, told = written(
        tmp_path,
        message("system", "be brief", 0),
        message("user", [{"type": "text", "text": "see"}, picture], 1),
        message("assistant", "", 2),
        message("assistant", "a dot", 3),
    )
    [system, asked, _] = parts(log)
    assert [part.text for part in system if isinstance(part, Text)] == ["be brief"]
    assert [part.data for part in asked if isinstance(part, Image)] == [PIXEL]
    assert told["role of a system message (it is the user's)"] == 1
