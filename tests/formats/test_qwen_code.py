"""Rows of Qwen Code's sessions: their tree, compressions, parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.core.context import Projection, listed
from ctxkit.core.ledger import build
from ctxkit.core.messages import Call, Result, Text, Thinking
from ctxkit.core.replay import fold
from ctxkit.formats.qwen_code import FORMAT
from tests.cli.runner import lines
from tests.formats.reading import contents, read
from tests.resume.__main__ import EXPLAINED, MODELS
from tests.resume.blocks import qwen
from tests.resume.compare import compared
from tests.resume.contexts import context as resumed

PROBES = Path(__file__).resolve().parents[2] / "fixtures/truth-qwen-code"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))


def row(key: str, kind: str, parts: Any = None, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """A row; `parts` may be words."""
    listed = [{"text": parts}] if isinstance(parts, str) else parts
    role = "model" if kind == "assistant" else "user"
    message = {} if listed is None else {"message": {"role": role, "parts": listed}}
    return {"uuid": key, "parentUuid": parent, "sessionId": "s", "type": kind, **message, **more}


def compression(key: str, parent: str, *words: str) -> dict[str, Any]:
    """A row that holds the history that goes on."""
    history = [{"role": "model" if k % 2 else "user", "parts": [{"text": word}]} for k, word in enumerate(words)]
    payload = {"info": {"originalTokenCount": 9}, "compressedHistory": history}
    return row(key, "system", parent=parent, subtype="chat_compression", systemPayload=payload)


def context(log: bytes) -> list[int]:
    """The numbers in the context."""
    found = read(FORMAT, log)
    return [int(n) for n in listed(fold(found, build(found)), Projection()) if isinstance(n, int)]


CALL = {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}
ANSWER = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "o"}}}
LOG = lines(
    row("a", "user", "one"),
    row("b", "assistant", [{"text": "hm", "thought": True}, {"text": "two"}, CALL], "a", model="qwen3"),
    row("t", "system", parent="b", subtype="ui_telemetry", systemPayload={}),
    row("c", "tool_result", [ANSWER], "t"),
    row("d", "assistant", "four", "c"),
)


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small session gives the blocks that Qwen Code sent when it resumed it; three differ, as explained."""
    ours = resumed("qwen-code", PROBES / f"{probe}.jsonl", MODELS.get(probe, ""))
    assert bool(compared(qwen(REQUESTS[probe]), ours).first) == (("qwen-code", probe, "") in EXPLAINED)


@pytest.mark.parametrize("size", [1, 3])
def test_messages(size: int) -> None:
    """Users, answers and results; telemetry opens none, and is a link all the same."""
    found = read(FORMAT, LOG, size)
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(m.calls, m.tools, m.results, m.opens) for m in found.messages[1:3]] == [
        (("c",), ("f",), (), False), ((), (), ("c",), False),
    ]  # fmt: skip
    assert (found.model, found.rows, list(found.row_of), context(LOG)) == ("qwen3", 5, [0, 1, 3, 4], [1, 2, 3, 4])
    parts = [part for one in contents(FORMAT, LOG) for part in one.parts]
    assert [type(part) for part in parts] == [Text, Thinking, Text, Call, Result, Text]


def test_a_rewind_leaves_a_branch() -> None:
    """The context is the path from the last row up."""
    log = LOG + lines(row("e", "user", "other", "b"), row("f", "assistant", "so", "e"))
    assert context(log) == [1, 2, 5, 6]
    view = read(FORMAT, log).view
    assert view is not None and view.inactive == {3: "branch", 4: "branch"}


def test_a_compression_takes_the_place_of_what_came_before() -> None:
    """Its history is messages of their own, in the row; a second one takes the place of the first."""
    log = LOG + lines(compression("e", "d", "so far", "understood"), row("f", "user", "on", "e"))
    assert context(log) == [5, 6, 7]
    assert [part.text for one in contents(FORMAT, log)[4:] for part in one.parts if isinstance(part, Text)] == [
        "so far", "understood", "on",
    ]  # fmt: skip
    assert [m.role for m in read(FORMAT, log).messages[4:]] == ["user", "assistant", "user"]
    assert context(log + lines(compression("g", "f", "short"), row("h", "assistant", "ok", "g"))) == [8, 9]
    assert context(log + lines(row("i", "user", "back", "d"))) == [1, 2, 3, 4, 8]


def test_numbers_do_not_depend_on_later_rows() -> None:
    """A log that grows keeps them."""
    log = LOG + lines(compression("e", "d", "so far", "understood"), row("f", "user", "on", "e"))
    ends = [i + 1 for i, byte in enumerate(log) if byte == 10]
    whole = [(m.n, m.role, m.offset) for m in read(FORMAT, log).messages]
    for end in ends:
        part = [(m.n, m.role, m.offset) for m in read(FORMAT, log[:end]).messages]
        assert part == whole[: len(part)]


def test_a_message_of_several_rows() -> None:
    """Rows with one id are one message."""
    log = lines(row("a", "user", "one"), row("b", "assistant", "two", "a"), row("b", "assistant", [CALL], "a"))
    found = read(FORMAT, log)
    assert [(m.calls, len(m.more)) for m in found.messages] == [((), 0), (("c",), 1)]
    assert [type(part) for part in contents(FORMAT, log)[1].parts] == [Text, Call]


@pytest.mark.parametrize("key", ["uuid", "parentUuid", "type", "message", "timestamp", "model", "systemPayload"])
@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [[]], {"parts": 3}, {"compressedHistory": [3, {}]}])
def test_odd_shapes(key: str, value: Any) -> None:
    """In every field: the row counts, nothing fails."""
    odd = row("b", "assistant", "two", "a") | {key: value}
    log = lines(row("a", "user", "one"), odd, compression("c", "b", "x") | {key: value}, row("d", "user", "on", "c"))
    assert read(FORMAT, log).rows == 4
    contents(FORMAT, log)
    context(log)
