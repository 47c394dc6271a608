"""export: the context in the shape of a request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.runner import ROOT, SMALL, call, ctxkit, good, lines, message, small


def test_chat(tmp_path: Path) -> None:
    """A message per line, which is a log again; no op and no `ctxkit` key is among them."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "2")
    ran = good("export", path, "--to", "chat")
    assert [value["role"] for value in ran.values][:3] == ["system", "assistant", "tool"]
    assert len(ran.values) == 10 and ran.err == "10 messages\n" and b'"ctxkit"' not in ran.out
    assert len(good("show", "-", "--json", stdin=ran.out).values) == 10


def test_providers() -> None:
    """One JSON object in the shape of the request body."""
    [body] = good("export", "-", "--to", "openai", "--model", "m", stdin=SMALL).values
    assert body["model"] == "m" and [m["role"] for m in body["messages"]][:2] == ["system", "user"]
    [body] = good("export", "-", "--to", "anthropic", "--model", "m", stdin=SMALL).values
    assert body["model"] == "m" and "be brief" in json.dumps(body["system"])
    assert [m["role"] for m in body["messages"]][:3] == ["user", "assistant", "user"]
    [body] = good("export", "-", "--to", "gemini", "--model", "m", stdin=SMALL).values
    assert "be brief" in json.dumps(body["systemInstruction"])
    assert [m["role"] for m in body["contents"]][:3] == ["user", "model", "user"]


def test_what_is_added_is_said() -> None:
    """A body that has more than the log says so on stderr."""
    ran = good("export", "-", "--to", "gemini", stdin=lines(message("assistant", "x", 1)))
    assert "added: 1 × first message of the user\n" in ran.err


@pytest.mark.parametrize("to", ["chat", "openai", "responses", "anthropic", "gemini"])
def test_pairs(to: str) -> None:
    """A call without its result gets one that says so, a result without its call goes; both are counted on stderr."""
    raw = lines(
        message("user", "go", 1),
        message("assistant", "ok", 2, tool_calls=[call("Bash", "c1")]),
        message("user", "and?", 3),
        message("tool", "lost", 4, tool_call_id="c9"),
    )
    ran = good("export", "-", "--to", to, stdin=raw)
    assert "1 call without a result: answered by one that says so" in ran.err
    assert "1 result without a call: left out" in ran.err
    assert "[no result recorded]" in ran.text and "lost" not in ran.text


def test_filters() -> None:
    """One agent's or thread's messages."""
    raw = lines(message("user", "a", 1, agent="sam"), message("user", "b", 2, agent="bo"), message("user", "c", 3))
    assert len(good("export", "-", "--to", "chat", "--agent", "sam", stdin=raw).values) == 2
    assert ctxkit("export", "-", "--to", "chat", "--agent", "x", stdin=raw).code == 1


@pytest.mark.parametrize("to", ["chat", "openai", "responses", "anthropic", "gemini"])
def test_nothing_to_send(tmp_path: Path, to: str) -> None:
    """Exit 1, nothing on stdout; it says whether the log or its context is empty."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(message("user", "a")))
    good("clear", path)
    ran = ctxkit("export", path, "--to", to)
    assert (ran.code, ran.out) == (1, b"") and "all 1 are out of its context" in ran.err
    assert "has no messages\n" in ctxkit("export", "-", "--to", to, stdin=b"").err


def test_unknown_ops() -> None:
    """An op of a later ctxkit: exit 65, nothing on stdout; --skip-unknown goes on."""
    raw = SMALL + lines({"ctxkit": "frobnicate", "v": 1, "id": "x1", "at": {"messages": 11, "rows": 11}})
    ran = ctxkit("export", "-", "--to", "chat", stdin=raw)
    assert (ran.code, ran.out) == (65, b"")
    assert len(good("export", "-", "--to", "chat", "--skip-unknown", stdin=raw).values) == 11
    assert good("show", "-", "--json", stdin=raw).code == 0


def test_a_session(tmp_path: Path) -> None:
    """Lines on standard output, or a new file; in a folder it has the name that its program looks for."""
    source = ROOT / "fixtures/guide/session.jsonl"
    ran = good("export", source, "--to", "claude-code", "--keep-id")
    assert ran.out == source.read_bytes() and "session " in ran.err
    ran = good("export", source, "--to", "claude-code", "-o", tmp_path)
    [made] = tmp_path.iterdir()
    assert ran.out == b"" and f"wrote {made}" in ran.err and f"session {made.stem}" in ran.err
    assert len(made.read_bytes().splitlines()) == len(source.read_bytes().splitlines())
    ran = ctxkit("export", source, "--to", "claude-code", "-o", made)
    assert ran.code == 73 and "nothing was written" in ran.err
    [body] = good("export", "-", "--to", "openai", stdin=SMALL).values
    good("export", "-", "--to", "openai", "-o", tmp_path / "body.json", stdin=SMALL)
    assert json.loads((tmp_path / "body.json").read_bytes()) == body


def test_a_session_of_something_else() -> None:
    """It is written anew; what it cannot hold is counted; there is no id to keep, and a request has none."""
    ran = good("export", "-", "--to", "claude-code", stdin=SMALL)
    assert {value["type"] for value in ran.values} == {"user", "assistant"}
    assert "not sent: 1 × role of a system message (it is the user's)" in ran.err
    assert ctxkit("export", "-", "--to", "claude-code", "--keep-id", stdin=SMALL).code == 2
    assert ctxkit("export", "-", "--to", "openai", "--keep-id", stdin=SMALL).code == 2
