"""Roles of logs: known ones, what is never sent, and what nobody else knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Content, Repairs, Result, Text
from ctxkit.core.roles import SIDES, UNSENT, side, with_known_role


@pytest.mark.parametrize(
    ("role", "expected"),
    [("human", "user"), ("Human", "user"), ("ai", "assistant"), ("AI", "assistant"), ("bot", "assistant"),
     ("gpt", "assistant"), ("model", "assistant"), ("developer", "system"), ("function", "tool"),
     ("tool_use", "assistant"), ("Tool_Result", "tool"), ("exit", ""), ("critic", ""), ("", "")],
)  # fmt: skip
def test_side(role: str, expected: str) -> None:
    """What logs call the same side; letters may be large."""
    assert side(role) == expected


def test_voiced() -> None:
    """A role that nobody knows is the user's, by name; what is never sent is None; what calls or answers stays."""
    known = [Content(role, [Text("x")]) for role in SIDES if side(role) != "tool"]
    made = [Content("critic", [Call("c", "read", {})]), Content("env", [Result("c", "x")])]
    odd = [Content("critic", [Text("no")]), Content("critic", [Text("no")], "ann"), Content("exit", [Text("done")])]
    repairs = Repairs()
    found = [with_known_role(one, repairs) for one in (*known, *made, *odd)]
    assert found[: len(known) + 2] == [*known, *made] and not UNSENT & set(SIDES)
    assert [(one.role, one.name) if one else one for one in found[-3:]] == [("user", "critic"), ("user", "ann"), None]
    assert repairs.left_out == {
        "role critic (it is the user's, and the name of the speaker)": 2,
        "message of the role exit, which its program does not send": 1,
    }


@pytest.mark.parametrize("to", ["openai", "responses", "anthropic", "gemini", "claude-code", "codex", "pi", "chat"])
def test_what_goes_out(tmp_path: Path, to: str) -> None:
    """The end of a run of mini-swe-agent goes nowhere but into chat lines; an unknown role is not lost."""
    path = tmp_path / "run.json"
    roles = ["system", "user", "assistant", "critic", "exit"]
    path.write_text(json.dumps({"messages": [{"role": role, "content": f"said by {role}"} for role in roles]}))
    log = Log.open(path)
    if to in ("claude-code", "codex", "pi"):
        session = log.session(to)
        text, repairs = b"".join(session.pieces).decode(), session.repairs
    else:
        made = log.export(to)
        text, repairs = b"".join(made.pieces).decode(), made.repairs
    assert all(f"said by {role}" in text for role in roles[:4])
    assert ("said by exit" in text) == (to == "chat")
    assert any("exit" in kind for kind in repairs.left_out) == (to != "chat")
    assert ('"name":"critic"' in text.replace(" ", "")) == (to == "openai")


SPELLED = [role for name in SIDES for role in (name, name.upper(), name.capitalize())]


@pytest.mark.parametrize("to", ["openai", "responses", "anthropic", "gemini", "claude-code", "codex", "pi"])
def test_only_a_user_speaks_as_the_user(tmp_path: Path, to: str) -> None:
    """However a known role is spelled: what a tool said answers its call, or is not sent, and that is counted."""
    path = tmp_path / "bot.jsonl"
    function = {"name": "read", "arguments": "{}"}
    records: list[dict[str, Any]] = []
    for n, role in enumerate(SPELLED):
        if side(role) == "tool":
            calls = [{"id": f"c{n}", "type": "function", "function": function}]
            records += [{"role": "assistant", "content": None, "tool_calls": calls}]
            records += [{"role": role, "tool_call_id": f"c{n}", "content": f"answered by {role}"}]
        records.append({"role": role, "content": f"said by {role}"})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = Log.open(path)
    made = found.session(to) if to in ("claude-code", "codex", "pi") else found.export(to)
    (tmp_path / "out").write_bytes(b"".join(made.pieces))
    sent = Log.open(tmp_path / "out")
    told = [(one.role, part) for one in map(sent.content, range(1, len(sent.messages) + 1)) for part in one.parts]
    users = {part.text for role, part in told if isinstance(part, Text) and side(role) == "user"}
    results = {_words(part) for _, part in told if isinstance(part, Result)}
    late = {
        f"said by {role}" for role in SPELLED if side(role) == "system"
    }  # not every target takes them behind others
    assert users - late == {f"said by {role}" for role in SPELLED if side(role) == "user"}
    assert results == {f"answered by {role}" for role in SPELLED if side(role) == "tool"}
    assert made.repairs.dropped == sum(side(role) == "tool" for role in SPELLED)


def _words(part: Result) -> str:
    """The text of a result."""
    parts = [Text(part.content)] if isinstance(part.content, str) else part.content
    return "".join(one.text for one in parts if isinstance(one, Text))
