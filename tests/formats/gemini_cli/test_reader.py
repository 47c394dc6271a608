"""Which records of a Gemini CLI session are messages, and which numbers they get."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.context import names
from ctxkit.core.ledger import build
from ctxkit.core.messages import Text
from ctxkit.core.replay import fold
from ctxkit.formats.gemini_cli import FORMAT
from ctxkit.logfile.read import read, reread
from tests.formats import reading
from tests.formats.gemini_cli import logs


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("user:hi | gemini:yes", ["u:hi", "a:yes"]),
        ("user:hi | info:note | error:no | warning:w | gemini:yes", ["u:hi", "a:yes"]),
        ("user:hi | gemini:t+c1 | user:on", ["u:hi", "a:t+call", "u:on"]),
        ("user:hi | done:t+c1+c2", ["u:hi", "a:t+call+call+result+result"]),
        ("user:hi | gemini:draft | same2:final", ["u:hi", "a:final"]),
        ("user:hi | gemini:t+c1 | user:on | same2done:t+c1", ["u:hi", "a:t+call+result", "u:on"]),
        ("user:hi | meta | gemini:yes", ["u:hi", "a:yes"]),
    ],
)
def test_messages(spec: str, expected: list[str]) -> None:
    """A user's or a model's record is a message, in the words of its newest form; notices are none."""
    assert logs.words(spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("user:a | gemini:b | user:c", [1, 2, 3]),
        ("user:a | gemini:b | user:c | gemini:d | rewind 3", [1, 2]),
        ("user:a | gemini:b | user:c | gemini:d | rewind 3 | user:e", [1, 2, 5]),
        ("user:a | gemini:b | rewind - | user:e", [3]),
        ("user:a | info:note | gemini:b | rewind 2 | user:e", [1, 3]),
        ("user:a | gemini:b | user:c | set 1,2 | user:d", [1, 2, 4]),
        ("user:a | gemini:b | user:c | set 3,1 | user:d", [3, 1, 4]),
        ("user:a | gemini:b | set | user:c", [3]),
        # what comes back keeps its number, at the end; what goes again is out by the last event
        ("user:a | gemini:b | rewind 2 | user:c | same2:b", [1, 3, 2]),
        ("user:a | gemini:b | rewind 2 | same2:b | rewind 2", [1]),
        ("user:a | gemini:b | user:c | rewind 2 | set 1,2,3", [1, 2, 3]),
        # commands to the program are never sent
        ("user:/help | user:a | gemini:b | user:? | user:c", [2, 3, 5]),
    ],
)
def test_context(spec: str, expected: list[int]) -> None:
    """Updates and rewinds count before any op of ours (agents, Gemini CLI 4)."""
    transcript = logs.read(spec)
    assert list(names(fold(transcript, build(transcript), None))) == expected


def test_a_number_is_out_by_the_last_event_that_took_it() -> None:
    """So `why` names the line after which it stayed away."""
    view = logs.read("user:a | gemini:b | rewind 2 | same2:b | rewind 2").view
    assert view is not None
    assert [(cut.out, cut.label) for cut in view.cuts] == [([2], "rewound by Gemini CLI at line 6")]


def test_numbers_do_not_depend_on_later_rows() -> None:
    """Whatever is appended, the messages before it keep their numbers, and so every op fits."""
    spec = (
        "user:a | info:x | gemini:b+c1 | same3done:b+c1 | user:c | rewind 5 | user:d | set 1,3 | same5user:c | user:e"
    )
    parts = spec.split("|")
    full = logs.read(spec)
    for k in range(1, len(parts)):
        here = logs.read("|".join(parts[:k]))
        assert [(m.role, m.key) for m in full.messages][: len(here.messages)] == [
            (m.role, m.key) for m in here.messages
        ]
        assert list(full.row_of)[: len(here.row_of)] == list(here.row_of)


def test_a_log_that_grows_is_read_on(tmp_path: Path) -> None:
    """What is read on gives what a full reading gives."""
    spec = "user:a | gemini:b+c1 | same2done:b+c1 | user:c | rewind 4 | user:d | set 1,2 | user:e"
    lines = logs.raw(spec).splitlines(keepends=True)
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines[0] + lines[1])
    opening = read(path)
    for line in lines[2:]:
        with path.open("ab") as file:
            file.write(line)
        opening = reread(opening)
    full = read(path).transcript
    assert list(opening.transcript.messages) == list(full.messages)
    assert opening.transcript.view == full.view


def test_calls_results_and_prompts() -> None:
    """A response that holds results answers its own calls; a call without an id is given one; commands open nothing."""
    found = logs.read("user:go | done:t+c1 | gemini:u+c2 | user:/stats")
    assert [(m.calls, m.tools, m.results, m.opens) for m in found.messages] == [
        ((), (), (), True),
        (("c1",), ("read_file",), ("c1",), False),
        (("c2",), ("read_file",), (), False),
        ((), (), (), False),
    ]
    bare = {"id": "m1", "type": "gemini", "content": "", "toolCalls": [{"name": "ls"}, {"name": "ls", "result": []}]}
    message = reading.read(FORMAT, json.dumps(bare).encode()).messages[0]
    assert (message.calls, message.results) == (("ctxkit-1-1", "ctxkit-1-2"), ("ctxkit-1-2",))


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_read_as_its_list(indent: int | None, tmp_path: Path) -> None:
    """A `.json`, pretty or not; an id that stands twice in its list is two messages."""
    messages = [logs.record(1, "user:a"), logs.record(2, "done:b+c1"), logs.record(2, "gemini:c")]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(logs.HEADER | {"messages": messages}, indent=indent), encoding="utf-8")
    log = Log.open(path)
    assert (log.opening.format.name, [log.full(entry).role for entry in log.entries()]) == (
        "gemini-cli",
        ["user", "assistant", "assistant"],
    )


ODD: list[object] = [
    1, None, "x", [], {}, [1], [{"text": 3}], [{}], [None], {"text": "bare"}, [{"functionResponse": 3}],
    [{"inlineData": {"mimeType": "image/png", "data": "AA"}}], [{"functionCall": {"id": 1}}], float("nan"), 10**400,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("field", ["content", "toolCalls", "thoughts", "id", "timestamp", "model", "type"])
def test_unexpected_shapes(field: str, odd: object, tmp_path: Path) -> None:
    """Whatever stands there is read, or opens no message; nothing ends the reading."""
    lines = [
        logs.record(1, "user:hi") | {field: odd},
        logs.record(2, "done:x+c1") | {field: odd},
        {"$set": {"messages": [odd, logs.record(1, "user:hi"), {field: odd, "type": "gemini"}]}},
        {"$set": odd},
        {"$rewindTo": odd},
        {"messages": odd},
        logs.record(9, "user:last"),
    ]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in [logs.HEADER, *lines]))
    log = Log.open(path)
    assert "last" in [part.text for entry in log.entries() for part in log.full(entry).parts if isinstance(part, Text)]


TWICE = Path(__file__).resolve().parents[3] / "fixtures/truth-gemini-cli/results-twice.jsonl"


def test_a_result_that_is_written_twice(tmp_path: Path) -> None:
    """Its record keeps its number, opens no exchange, is of the step of its call, and is said to be a second copy."""
    copy = tmp_path / TWICE.name
    copy.write_bytes(TWICE.read_bytes())
    log = Log.open(copy)
    assert [(one.n, one.opens, one.results) for one in log.messages] == [
        (1, True, ()), (2, False, ("c1", "c2")), (3, False, ("c1", "c2")), (4, False, ())]  # fmt: skip
    assert [one.text for one in log.check(notes=True) if one.code == "second-copy" and one.note] == [
        "a second copy of the result of c1", "a second copy of the result of c2"]  # fmt: skip
    assert log.check() == [] and log.state().steps.members(2) == [2, 3]
    assert log.export("gemini").repairs.left_out["second copy of a result"] == 2
    log.forget("2")
    assert list(Log.open(copy).listed()) == [1, 4]


@pytest.mark.parametrize("inside", [False, True])
def test_a_result_beside_words(inside: bool) -> None:
    """A record with words is still a question; a result that stands in no call is its only one, not a copy."""
    first, asked, given, last = map(json.loads, TWICE.read_bytes().splitlines()[1:])
    if not inside:
        for call in asked["toolCalls"]:
            del call["result"]
    given["content"].append({"text": "and now?"})
    made = [json.loads(TWICE.read_bytes().splitlines()[0]), first, asked, given, last]
    log = Log.open(io.BytesIO(b"".join(json.dumps(row).encode() + b"\n" for row in made)))
    assert log.messages[2].opens
    assert {one.code for one in log.check(notes=True)} == ({"second-copy"} if inside else set())
    [sent] = log.export("gemini").values
    told = [part for one in sent["contents"] for part in one["parts"]]
    assert [key for part in told for key in part][1:] == ["functionCall"] * 2 + ["functionResponse"] * 2 + ["text"] * 2
