"""Which events of a Copilot CLI session are messages, and which numbers they get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.context import names
from ctxkit.core.ledger import build
from ctxkit.core.messages import Text
from ctxkit.core.replay import fold
from ctxkit.logfile.read import read, reread
from ctxkit.recovery.check import check
from tests.formats.copilot_cli import logs
from tests.shared import SHARED

REAL = sorted((SHARED / "transcripts/copilot-cli").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("system:rules | user:hi | say:yes", ["s:rules", "u:now: hi", "a:yes"]),
        ("user:hi | say:t+c1+c2 | out:c1 | fail:c2", ["u:now: hi", "a:t+call+call", "t:result", "t:result"]),
        ("user:hi | hook.start | tool.execution_start | assistant.turn_end | say:b", ["u:now: hi", "a:b"]),
        ("user:hi | note:it ended", ["u:now: hi", "u:it ended"]),
        ("user:hi | compact:told | say:b", ["u:now: hi", "u:told", "a:b"]),
        ("system:rules | user:hi | system:rules | user:on", ["s:rules", "u:now: hi", "u:now: on"]),
    ],
)
def test_messages(spec: str, expected: list[str]) -> None:
    """Events that say something are messages, in the words that the model is sent; the others are none."""
    assert logs.words(spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("system:r | user:a | say:b | system:r | user:c", [1, 2, 3, 4]),
        # another system prompt takes the place of the one before; one that comes back has its number
        ("system:r | user:a | system:s | user:b", [3, 2, 4]),
        ("system:r | user:a | system:s | system:r | user:b", [1, 2, 4]),
        ("system:r | user:a | say:b | compact:told | user:c", [1, 4, 5]),
        ("user:a | compact:x | user:b | compact:y | user:c", [4, 5]),
        ("user:a | say:b | user:c | say:d | rewind:3 | user:e", [1, 2, 5]),
        ("user:a | compact:x | user:b | rewind:2 | user:c", [1, 4]),
        ("user:a | rewind:9 | say:b", [1, 2]),
        ("user:a | side:x+c1 | say:b", [1, 3]),
    ],
)
def test_context(spec: str, expected: list[int]) -> None:
    """Compactions, rewinds and new system prompts count before any op of ours."""
    transcript = logs.read(spec)
    assert list(names(fold(transcript, build(transcript), None))) == expected


def test_numbers_do_not_depend_on_later_rows() -> None:
    """Whatever is appended, the messages before it keep their numbers, and so every op fits."""
    spec = "system:r | user:a | say:b+c1 | out:c1 | compact:t | user:c | system:s | rewind:6 | system:r | user:d"
    parts = spec.split("|")
    full = [(m.role, m.offset, m.size) for m in logs.read(spec).messages]
    for k in range(1, len(parts)):
        here = [(m.role, m.offset, m.size) for m in logs.read("|".join(parts[:k])).messages]
        assert full[: len(here)] == here


def test_a_log_that_grows_is_read_on(tmp_path: Path) -> None:
    """What is read on gives what a full reading gives."""
    spec = "system:r | user:a | say:b+c1 | out:c1 | compact:t | user:c | system:s | rewind:6 | side:x | user:d"
    lines = logs.raw(spec).splitlines(keepends=True)
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines[0] + lines[1])
    opening = read(path)
    for line in lines[2:]:
        with path.open("ab") as file:
            file.write(line)
        opening = reread(opening)
    full = read(path).transcript
    assert (opening.transcript.messages, opening.transcript.view) == (full.messages, full.view)


def test_subagents_are_threads() -> None:
    """What a subagent says is a sidechain, as its own view."""
    found = logs.read("user:a | side:x+c1 | say:b | side:y")
    assert found.view is not None
    assert (found.view.inactive, found.view.threads["sub"].order) == ({2: "sidechain", 4: "sidechain"}, [2, 4])


def test_model_calls_and_prompts() -> None:
    """The newest model; calls and results with their ids; only a prompt opens an exchange."""
    found = logs.read("model:m1 | user:go | say:t+c1 | out:c1 | note:x | model:m2")
    assert found.model == "m2"
    assert [(m.opens, m.calls, m.tools, m.results) for m in found.messages] == [
        (True, (), (), ()), (False, ("c1",), ("bash",), ()), (False, (), (), ("c1",)), (False, (), (), ()),
    ]  # fmt: skip


ODD: list[object] = [1, None, "x", [], {}, [1], [{"toolCallId": 3}], [None], {"content": 1}, float("nan"), 10**400]
FIELDS = ["content", "toolRequests", "toolCallId", "result", "error", "attachments", "transformedContent", "model"]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("field", FIELDS)
def test_unexpected_shapes(field: str, odd: object, tmp_path: Path) -> None:
    """Whatever stands there is read, or opens no message; nothing ends the reading."""
    rows = [
        json.loads(line)
        for line in logs.raw("system:r | user:a | say:b+c1 | out:c1 | fail:c1 | compact:t").splitlines()
    ]
    for row in list(rows):
        rows.append({**row, "data": {**row["data"], field: odd}})
        rows.append({**row, "data": odd, "id": odd, "agentId": odd})
        rows.append({**row, "type": odd})
    rows.append(logs.row(99, "user:last"))
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    log = Log.open(path)
    said = [part.text for entry in log.entries() for part in log.full(entry).parts if isinstance(part, Text)]
    assert "now: last" in said


@pytest.mark.parametrize("name", [path.name for path in REAL] or ["(none)"])
def test_real_sessions(name: str) -> None:
    """Nothing is found wrong with them, every call is answered, and one system prompt leads."""
    if not REAL:
        pytest.skip("no real sessions are at hand")
    log = Log.open(SHARED / "transcripts/copilot-cli" / name)
    assert not check(log)
    roles = [log.full(entry).role for entry in log.entries()]
    assert roles[:2] == ["system", "user"] and roles.count("system") == 1
