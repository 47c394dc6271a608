"""A conversation in the shape of Inspect's messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxkit.api.log import Log
from ctxkit.fleet.rows import rows
from tests.fleet.test_rows import GUIDE
from tests.lawful import ROOT


def messages(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    """The column `messages` of a chat."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    found: list[dict[str, Any]] = json.loads(rows(data, "/x.jsonl", scout=True)["scout"][0]["messages"])
    return found


def test_roles_and_numbers() -> None:
    """The instructions of a developer are the system's; each message has its number."""
    found = messages({"role": "developer", "content": "be kind"}, {"role": "user", "content": "hi"})
    assert [(one["role"], one["content"], one["metadata"]) for one in found] == [
        ("system", "be kind", {"ctxkit_n": 1}), ("user", "hi", {"ctxkit_n": 2}),
    ]  # fmt: skip


def test_calls_and_results() -> None:
    """A call has its arguments as an object, even if the log has no JSON; its result names call and tool."""
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "ls -l"}}
    found = messages(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "total 0"},
    )
    assert found[0]["tool_calls"] == [
        {"id": "c1", "function": "bash", "arguments": {"input": "ls -l"}, "type": "function"}
    ]
    assert (found[1]["role"], found[1]["tool_call_id"], found[1]["function"]) == ("tool", "c1", "bash")


def test_several_results_are_several_messages() -> None:
    """Inspect has one message for each result, and an error of one."""
    uses = [{"type": "tool_use", "id": f"c{k}", "name": "ls", "input": {}} for k in (1, 2)]
    answers = [{"type": "tool_result", "tool_use_id": f"c{k}", "content": "no", "is_error": k == 2} for k in (1, 2)]
    found = messages({"role": "assistant", "content": uses}, {"role": "user", "content": answers})
    assert [one["role"] for one in found] == ["assistant", "tool", "tool"]
    assert "error" not in found[1] and found[2]["error"] == {"type": "unknown", "message": "no"}
    assert len({one["id"] for one in found}) == 3


def test_compactions_are_events(tmp_path: Path) -> None:
    """Those of ctxkit with their tokens, not what was undone; those of the log's program with its name."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes((GUIDE / "chat.jsonl").read_bytes())
    log = Log.open(path)
    log.compact([2, 3, 4, 5], summary="what was said", force=True)
    [event] = json.loads(rows(path.read_bytes(), str(path), scout=True)["scout"][0]["events"])
    assert (event["event"], event["type"], event["source"]) == ("compaction", "summary", "ctxkit")
    assert event["metadata"] == {"ctxkit_n": 14, "ctxkit_op": 1}
    log.undo()
    assert rows(path.read_bytes(), str(path), scout=True)["scout"][0]["events"] == "[]"
    data = (ROOT / "fixtures/truth-claude-code").rglob("*.jsonl")
    found = [rows(file.read_bytes(), file.name, scout=True) for file in data]
    events = [one for some in found for row in some["scout"] for one in json.loads(row["events"])]
    assert events and {one["source"] for one in events} == {"claude-code"}
    assert all(one["timestamp"].endswith("Z") and one["working_start"] >= 0 for one in events)


def test_a_picture_is_named() -> None:
    """Its data stays in the log."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    [one] = messages({"role": "user", "content": [{"type": "text", "text": "see"}, part]})
    assert one["content"] == "see\n[picture: image/png, 400 characters of base64]"
