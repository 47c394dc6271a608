"""Export: what leaves is valid for whom it goes to."""

from __future__ import annotations

import io
import json

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Content, Image, Other, Result, Text, Thinking
from ctxkit.errors import NothingToSend
from ctxkit.export.request import export, parts_json, untouched
from ctxkit.formats.claude_code.blocks import NO_TOOLS
from ctxkit.formats.targets import REQUESTS, SESSIONS, TARGETS
from tests.cli.runner import SMALL, call, lines, message
from tests.lawful import ROOT


def log(raw: bytes) -> Log:
    """A log from bytes."""
    return Log.open(io.BytesIO(raw))


@pytest.mark.parametrize(
    ("to", "count", "values"), [("chat", 11, 11), ("openai", 11, 1), ("anthropic", 10, 1), ("gemini", 10, 1)]
)
def test_targets(to: str, count: int, values: int) -> None:
    """Values to print, and how many messages are sent."""
    found = export(log(SMALL), to, model="m")
    assert (len(list(found.values)), found.count) == (values, count)
    assert (found.repairs.made, found.repairs.dropped) == (0, 0)


def test_context_not_log() -> None:
    """What was forgotten is not sent."""
    one = log(SMALL)
    one.forget("2-9")
    assert "question" not in json.dumps(list(export(one, "chat").values)).replace("third question", "")


def test_repairs_are_counted() -> None:
    """Calls without results, results without calls, parts that the target has no place for."""
    raw = lines(message("assistant", "x", 1, tool_calls=[call("A", "c1")]), message("tool", "y", 2, tool_call_id="c9"))
    found = export(log(lines(message("user", "go", 0)) + raw), "openai")
    assert (found.repairs.made, found.repairs.dropped) == (1, 1)


@pytest.mark.parametrize("to", ["chat", *REQUESTS])
def test_nothing_to_send(to: str) -> None:
    """It says whether there are no messages, or none in the context."""
    with pytest.raises(NothingToSend, match=r"has no messages$"):
        export(log(b""), to)
    cleared = log(lines(message("user", "x")))
    cleared.clear()
    with pytest.raises(NothingToSend, match="all 1 are out"):
        export(cleared, to)


def test_untouched() -> None:
    """Marks and protection leave a context as its program would send it; so does an op that was undone."""
    one = log((ROOT / "fixtures/guide/session.jsonl").read_bytes())
    assert untouched(one)
    one.mark("a")
    one.protect("3")
    assert untouched(one)
    one.forget("5")
    assert not untouched(one)
    one.undo()
    assert untouched(one)
    one.set_window(3600)
    assert not untouched(one)


def test_parts_json() -> None:
    """Each part says its type; what is raw stays out, but of odd parts, which are nothing else."""
    parts = [Text("a"), Thinking("b", {"signature": "s"}), Call("c", "n", {"x": 1}, {"raw": 1}),
             Image("image/png", "AA"), Result("c", [Text("in")]), Other("odd", {"y": 2})]  # fmt: skip
    found = parts_json(Content("user", parts))
    assert [part["type"] for part in found] == ["text", "thinking", "call", "image", "result", "other"]
    assert [part for part in found if "raw" in part] == [{"type": "other", "kind": "odd", "raw": {"y": 2}}]
    assert found[4]["content"] == [{"type": "text", "text": "in"}]


@pytest.mark.parametrize("to", TARGETS)
def test_tools_that_a_search_found_are_named_alike(to: str) -> None:
    """Of all that is written for another program, requests and sessions have one wording, which names the tool."""
    found = Log.open(ROOT / "fixtures/truth-claude-code/q06-tool-references.jsonl")
    made = found.session(to).pieces if to in SESSIONS else [json.dumps(one).encode() for one in found.export(to).values]
    written = b"".join(made)
    own = {"anthropic": NO_TOOLS, "claude-code": "tool_reference", "chat": "tool_reference"}  # kept, or as Claude Code
    assert own.get(to, "[tool found: Nope]").encode() in written
    assert (NO_TOOLS.encode() in written) == (to == "anthropic")
