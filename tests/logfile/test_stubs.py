"""Stubs: what a shortened message says, whoever's words it was made of; ids, keys and signatures stay."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Content, Part, Result, Text, Thinking
from ctxkit.logfile.stubs import of_call, of_result, stubbed

THOUGHT = Thinking("hm", {"type": "thinking", "thinking": "hm", "signature": "abc"})


@pytest.mark.parametrize(
    ("parts", "stub", "expected"),
    [
        ([Result("c1", "long")], "[cut]", [Result("c1", "[cut]")]),
        ([Text("long"), Call("c1", "Read", {})], "[cut]", [Text("[cut]"), Call("c1", "Read", {})]),
        ([Result("c1", "a"), Result("c2", "b")], "[cut]", [Result("c1", "[cut]"), Result("c2", "[cut]")]),
        ([Text("long")], [{"type": "text", "text": "[cut]"}], [Text("[cut]")]),
        ([Text("long")], [], []),
    ],
)
def test_words(parts: list[Part], stub: Any, expected: list[Part]) -> None:
    """A text stands for the words of a message, or of its results; calls stay."""
    assert stubbed(Content("user", parts), stub).parts == expected


def test_by_id() -> None:
    """Calls and results alone stand for those of the same id; thinking, words and the others stay."""
    content = Content("assistant", [THOUGHT, Text("so"), Call("c1", "Write", {"a": "long"}), Call("c2", "Read", {})])
    cut = stubbed(content, [of_call(Call("c1", "Write", {}), {"a": "[cut]"})])
    assert cut.parts == [THOUGHT, Text("so"), Call("c1", "Write", {"a": "[cut]"}), Call("c2", "Read", {})]
    results = Content("user", [Result("c1", "long", True), Result("c2", "short"), Text("and go on")])
    cut = stubbed(results, [of_result(Result("c1", ""), "[cut]")])
    assert cut.parts == [Result("c1", "[cut]", True), Result("c2", "short"), Text("and go on")]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, None),
        ({"type": "tool_use", "id": "c1", "name": "W", "input": {"a": "long"}, "caller": {}},
         {"type": "tool_use", "id": "c1", "name": "W", "input": {"a": "x"}, "caller": {}}),
        ({"id": "c1", "type": "function", "function": {"name": "W", "arguments": '{"a": "long"}'}},
         {"id": "c1", "type": "function", "function": {"name": "W", "arguments": '{"a":"x"}'}}),
        ({"type": "function_call", "call_id": "c1", "name": "W", "arguments": '{"a": "long"}', "id": "fc"},
         {"type": "function_call", "call_id": "c1", "name": "W", "arguments": '{"a":"x"}', "id": "fc"}),
        ({"type": "tool_call", "value": '{"name":"W","arguments":{"a":"long"}}'},
         {"type": "tool_call", "value": '{"name":"W","arguments":{"a":"x"}}'}),
        ({"type": "tool_call", "value": {"name": "W", "arguments": {"a": "long"}}},
         {"type": "tool_call", "value": {"name": "W", "arguments": {"a": "x"}}}),
        ({"type": "tool_call", "name": "W", "value": "long words"},
         {"type": "tool_call", "name": "W", "value": '{"a":"x"}'}),
        ({"functionCall": {"name": "W", "args": {"a": "long"}}, "thoughtSignature": "s"},
         {"functionCall": {"name": "W", "args": {"a": "x"}}, "thoughtSignature": "s"}),
    ],
)  # fmt: skip
def test_a_call_as_its_provider_wrote_it(raw: dict[str, Any] | None, expected: dict[str, Any] | None) -> None:
    """Its arguments are others there too, as text where it had text; all else of it stays."""
    call = Call("c1", "W", {"a": "long"}, raw)
    [found] = stubbed(Content("assistant", [call]), [of_call(call, {"a": "x"})]).parts
    assert found == Call("c1", "W", {"a": "x"}, expected)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"role": "tool", "content": "long", "ts": 5, "agent": "a", "meta": {}},
         [{"role": "tool", "content": "long", "ts": 5, "agent": "a", "meta": {}}]),
        ({"type": "user", "timestamp": "2026-01-01T00:00:00Z", "isMeta": True, "message": {"content": "long"}},
         [{"timestamp": "2026-01-01T00:00:00Z", "isMeta": True, "message": {}}]),
        ({"type": "assistant", "message": {"id": "m", "model": "x", "stopReason": "aborted", "content": "long"}},
         [{"message": {"id": "m", "model": "x", "stopReason": "aborted"}}]),
        ({"type": "attachment", "isMeta": True, "timestamp": "2026-01-01T00:00:00Z", "attachment": {"content": "long"}},
         [{"timestamp": "2026-01-01T00:00:00Z"}]),
        ({"type": "attachment", "attachment": {"content": "long"}}, []),
    ],
)  # fmt: skip
def test_what_is_beside_the_words_stays(row: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    """The keys of a chat's record; of a program's row, which would be read for its words, when it was and whose."""
    assert stubbed(Content("user", [Text("long")], None, [row]), "[cut]").rows == expected
