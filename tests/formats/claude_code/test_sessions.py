"""New Claude Code rows."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.formats.base import MessageToWrite, NewSession
from ctxkit.formats.claude_code.sessions import blocks_of, line, row_of, write
from tests.formats.claude_code.sessions import opened, problems, rows, told


def session(**given: str) -> NewSession:
    """One with ids 1, 2, 3."""
    numbers = count(1)
    return NewSession(given.get("id", "S"), "2026-01-01T00:00:00Z", "/work", "m", lambda: str(next(numbers)))


def test_a_session() -> None:
    """A chain of rows that reads as what was written."""
    contents = [
        Content("user", [Text("go")]),
        Content("assistant", [Text("yes"), Call("c1", "Bash", {"x": 1}), Call("c2", "Bash", "{broken")]),
        Content("tool", [Result("c2", "two", True)]),
        Content("tool", [Result("c1", [Text("one")])]),
        Content("assistant", [Text("done")]),
    ]
    made = write([MessageToWrite(0, one, f"2026-01-01T00:00:0{i}Z") for i, one in enumerate(contents)], session())
    raw = b"".join(made.pieces)
    assert (made.name, made.count, made.repairs) == ("S.jsonl", 5, Repairs())
    assert problems(raw) == [] and {row["sessionId"] for row in rows(raw)} == {"S"}
    assert [row["parentUuid"] for row in rows(raw)] == [None, *(row["uuid"] for row in rows(raw)[:-1])]
    assert [row["timestamp"][-3:] for row in rows(raw)] == ["00Z", "01Z", "02Z", "03Z", "04Z"]
    log = opened(raw)
    assert log.transcript.format == "claude-code" and [[m.key for m in log.messages]] == made.keys
    said = [(role, [part["type"] for part in parts]) for role, parts in told(log)]
    assert said == [("user", ["text"]), ("assistant", ["text", "call", "call"]), ("user", ["result"]),
                    ("user", ["result"]), ("assistant", ["text"])]  # fmt: skip
    assert told(log)[1][1][2]["arguments"] == {"_raw": "{broken"} and told(log)[2][1][0]["is_error"]


def test_calls_are_such_as_the_provider_takes() -> None:
    """Claude Code sends ids and names as they stand: each id is of letters that Anthropic takes, and of one call."""
    contents = [Content("user", [Text("go")])]
    for identity in ("call_a|fc_b", "call_1", "call_1"):
        contents += [
            Content("assistant", [Call(identity, "shell.run", {})]), Content("tool", [Result(identity, "ok")])
        ]  # fmt: skip
    made = write([MessageToWrite(0, one) for one in contents], session())
    parts = [part for _, said in told(opened(b"".join(made.pieces))) for part in said if part["type"] != "text"]
    calls, results = ([part["id"] for part in parts if part["type"] == kind] for kind in ("call", "result"))
    assert calls == results == ["call_a_fc_b_8ce72531", "call_1", "call_1-2"]
    assert {part["name"] for part in parts if part["type"] == "call"} == {"shell_run"}
    assert made.repairs.left_out == {"character in a tool's name": 3}


@pytest.mark.parametrize(
    ("role", "part", "kind"),
    [
        ("assistant", Thinking("hm", {"type": "thinking"}), "thinking of another program"),
        ("assistant", Image("image/png", "iVBORw0KGgo="), "image"),
        ("user", Image("image/tiff", "AAAA"), "image"),
        ("user", Other("sound", {}), "sound"),
    ],
)
def test_what_it_cannot_hold(role: str, part: Part, kind: str) -> None:
    """It is counted; a message of nothing else is none."""
    repairs = Repairs()
    assert row_of(Content(role, [part]), session(), repairs, parent=None) is None
    assert repairs.left_out == {kind: 1, "empty message": 1}


def test_pictures_and_documents() -> None:
    """The user's are blocks, inside of results too."""
    repairs = Repairs()
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
    parts: list[Part] = [
        Image("image/png", "iVBORw0KGgo="), Image(url="https://x/y.png"), Other("document", document),
        Result("c", [Text("see"), Image("image/png", "iVBORw0KGgo=")]),
    ]  # fmt: skip
    blocks = blocks_of(Content("user", parts), repairs)
    assert [block["type"] for block in blocks] == ["image", "image", "document", "tool_result"]
    assert [block["type"] for block in blocks[3]["content"]] == ["text", "image"] and repairs == Repairs()


def test_a_system_message() -> None:
    """There is no such role: the user tells it, as something nobody typed, and it is counted."""
    repairs = Repairs()
    row: dict[str, Any] | None = row_of(Content("system", [Text("be kind")]), session(), repairs, parent="p")
    assert row is not None and (row["type"], row["isMeta"], row["parentUuid"]) == ("user", True, "p")
    assert repairs.left_out == {"role of a system message (it is the user's)": 1}
    assert b"\n" not in line(row)[:-1]


def test_how_much_the_messages_say() -> None:
    """Counted as they are written: about the bytes of the messages of a request."""
    contents = [
        Content("user", [Text("é" * 5000)]),
        Content("assistant", [Text("yes"), Call("c", "Bash", {"x": "1" * 5000})]),
    ]
    made = write([MessageToWrite(0, content) for content in contents], session())
    messages = [row["message"] for row in map(loads, b"".join(made.pieces).splitlines())]
    request = [{"role": one["role"], "content": one["content"]} for one in messages]
    assert made.said == pytest.approx(len(dumps(request)), rel=0.005)
