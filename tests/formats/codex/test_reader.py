"""Which rows of a Codex session are messages, and which numbers they get."""

from __future__ import annotations

import io
import json

import pytest

from ctxkit import Log
from ctxkit.core.context import names
from ctxkit.core.ledger import build
from ctxkit.core.messages import Text
from ctxkit.core.replay import fold
from ctxkit.formats.codex import FORMAT
from tests.formats import reading
from tests.formats.codex import logs


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("meta | user:hi | say:yes", ["u:hi", "a:yes"]),
        (
            "user:hi | think | say:yes | call:c1 | out:c1 | say:done",
            ["u:hi", "a:thinking+yes+call", "t:result", "a:done"],
        ),
        ("user:hi | call:c1 | call:c2 | out:c2 | out:c1", ["u:hi", "a:call+call", "t:result", "t:result"]),
        ("user:hi | call:c1 | abort | say:new", ["u:hi", "a:call", "a:new"]),
        ("developer:rules | user:hi | ghost_snapshot | say:yes", ["d:rules", "u:hi", "a:yes"]),
        ("user:hi | patch:c1 | out:c1", ["u:hi", "a:call", "t:result"]),
        ("user:hi | legacy:told", ["u:hi", "u:told"]),
        ("user:a | say:b | compact user:a,user:short", ["u:a", "a:b", "u:short"]),
    ],
)
def test_messages(spec: str, expected: list[str]) -> None:
    """A run of items of the model is one message; the others are one each; events and unknown items are none."""
    assert logs.words(spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("user:a | say:b | user:c", [1, 2, 3]),
        # a compaction: what it lists, by the numbers it had before
        ("user:a | say:b | user:c | compact user:a,user:c", [1, 3]),
        ("user:a | say:b | user:c | compact user:c,user:a", [3, 1]),
        ("user:a | say:b | compact user:short | user:c", [3, 4]),
        ("user:a | say:b | user:c | compact user:a,memory:m,user:c | say:d", [1, 4, 3, 5]),
        ("user:a | user:a | compact user:a", [2]),
        ("user:a | compact user:a,user:a", [1, 2]),
        # an old one keeps what the user said
        ("user:a | say:b | user:<skill></skill> | legacy:told | say:c", [1, 4, 5]),
        # rollbacks
        ("user:a | say:b | user:c | say:d | rollback:1", [1, 2]),
        ("user:a | say:b | user:c | say:d | rollback:9", []),
        ("user:a | say:b | user:c | rollback:1 | user:d", [1, 2, 4]),
        ("user:a | say:b | user:c | rollback:0", [1, 2, 3]),
        ("user:a | say:b | user:c | compact user:short | user:d | rollback:2", [1, 2]),
        ("user:a | say:b | user:c | compact user:short | start | user:d | rollback:1", [4]),
        ("user:a | say:b | user:c | say:d | rollback:1 | user:e | say:f | rollback:1", [1, 2]),
        (
            "user:a | compact user:x | start | user:b | start | user:c | compact user:y | rollback:2 | start | say:d",
            [2, 6],
        ),
    ],
)
def test_context(spec: str, expected: list[int]) -> None:
    """Compactions and rollbacks count before any op of ours (agents, Codex 3 and 4)."""
    transcript = logs.read(spec)
    assert list(names(fold(transcript, build(transcript), None))) == expected


def test_numbers_do_not_depend_on_later_rows() -> None:
    """Whatever is appended, the messages before it keep their numbers, and so every op fits."""
    spec = "user:a | think | say:b | call:c1 | out:c1 | compact user:a,user:s | user:d | rollback:1 | user:e"
    parts = spec.split("|")
    full = [(m.role, m.offset) for m in logs.read(spec).messages]
    for k in range(1, len(parts)):
        here = [(m.role, m.offset) for m in logs.read("|".join(parts[:k])).messages]
        assert full[: len(here)] == here


def test_model_calls_and_names() -> None:
    """The newest model; calls and results with their ids; a prompt opens an exchange, scaffolding does not."""
    found = logs.read(
        "model:gpt-a | user:# AGENTS.md instructions | user:go | call:c1 | patch:c2 | out:c1 | model:gpt-b"
    )
    assert found.model == "gpt-b"
    assert [m.opens for m in found.messages] == [False, True, False, False]
    assert [(m.calls, m.tools, m.results) for m in found.messages][2:] == [
        (("c1", "c2"), ("run", "apply_patch"), ()),
        ((), (), ("c1",)),
    ]


ODD: list[object] = [
    1, None, "x", [], {}, {"type": 3}, {"type": "message"}, {"type": "message", "role": 1, "content": 2},
    {"type": "function_call", "call_id": 7}, {"type": "function_call_output", "output": {"content": [1]}},
    {"type": "reasoning", "summary": 3}, {"type": "message", "role": "user", "content": [1, {"type": "input_image"}]},
]  # fmt: skip


@pytest.mark.parametrize("payload", ODD)
@pytest.mark.parametrize("kind", ["response_item", "compacted", "event_msg", "turn_context", "session_meta", "new"])
def test_unexpected_shapes(kind: str, payload: object) -> None:
    """Whatever stands there is read, or opens no message; nothing ends the reading."""
    lines = [{"type": kind, "payload": payload}, {"type": kind}, logs.row("user:hi")]
    if kind == "compacted":
        lines.append({"type": kind, "payload": {"replacement_history": [payload]}})
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert any(part.parts for part in reading.contents(FORMAT, data))


@pytest.mark.parametrize("other", ['"\\ud800"', "NaN", '"x"', "1" * 5000])
def test_a_compaction_that_strict_decoding_refuses(other: str) -> None:
    """What it lists is read from where it stands."""
    listed = '[ {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "short"}]} ]'
    row = f'{{"type": "compacted", "payload": {{"message": {other}, "replacement_history": {listed}}}}}\n'
    log = Log.open(io.BytesIO(logs.raw("user:hi") + row.encode()))
    assert [log.content(n).parts for n in range(2, len(log.messages) + 1)] == [[Text("short")]]
