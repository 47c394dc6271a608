"""Session files after ops can be gone on with: whatever ops came before, on slices of real sessions and on whole ones.

Ids are unique, no parent is missing, every pair is whole, and reading the file gives the context that was exported.
The number of sequences is counted, and the count is a test.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.errors import NothingToSend, UnknownFormat
from tests.effort import examples, some
from tests.formats.claude_code.sessions import opened, problems, rows, told
from tests.lawful import COMMANDS, TO_COME, Command, tried
from tests.seeds import slices
from tests.shared import SHARED

SEQUENCES = 2000
FILES = sorted((SHARED / "transcripts/claude-code").glob("*.jsonl"))
NO_RESPONSE = "No response requested."
LINKS = re.compile(
    rb'"(parentUuid|leafUuid|logicalParentUuid)": ?("[^"]*"|null)|"preserved(Messages|Segment)": ?({[^{}]*}|null)'
)
IDS = re.compile(rb'"sessionId": ?"[^"]*"')
ran: Counter[str] = Counter()


def unpaired(log: Log) -> set[str]:
    """Ids of calls without a later result, and of results without an earlier call, in the context."""
    pending: set[str] = set()
    wrong: set[str] = set()
    for role, parts in told(log):
        for part in parts:
            if part["type"] == "call" and role == "assistant":
                pending.add(part["id"])
            elif part["type"] == "result" and part["id"] in pending:
                pending.discard(part["id"])
                ran["pairs"] += 1
            elif part["type"] == "result":
                wrong.add(part["id"])
    return pending | wrong


def sent(log: Log) -> list[dict[str, Any]]:
    """What goes to Anthropic, without the answer that stands for none, which only the program's own prompts get."""
    with mock.patch("ctxkit.export.request.untouched", return_value=False):  # the same rules for both
        try:
            [body] = log.export("anthropic", model="claude-opus-4-6", assembly=False).values
        except NothingToSend:  # messages of which nothing can be sent
            return []
    text = re.sub(r"\[no result recorded[^\]]*\]", "[no result recorded]", json.dumps(body["messages"]))
    found: list[dict[str, Any]] = json.loads(text)
    return found[:-1] if NO_RESPONSE in json.dumps(found[-1]) else found


def behind_calls(log: Log) -> bool:
    """Whether no result stands before its call: an op may put it there, and it is written behind it."""
    made = [{part["id"] for part in parts if part["type"] == "call"} for _, parts in told(log)]
    answers = [{part["id"] for part in parts if part["type"] == "result"} for _, parts in told(log)]
    return not any(results & calls for at, results in enumerate(answers) for calls in made[at + 1 :])


def check(log: Log, source: bytes, before: set[str]) -> None:
    """The session of this context, as Claude Code's. `before`: pairs that were broken in the log already."""
    try:
        written = log.session("claude-code")
    except NothingToSend:
        return
    made = b"".join(written.pieces)
    again = opened(made)
    assert problems(made, source) == []
    assert not any("ctxkit" in row for row in rows(made))
    assert {row.get("sessionId", written.id) for row in rows(made)} == {written.id}
    assert unpaired(again) <= before
    repairs = written.repairs
    if not (repairs.made or repairs.dropped) and behind_calls(log):
        as_one = len(told(again)) < len(told(log))  # of one response, and what stood between them went
        assert as_one or told(again) == told(log)
        ran["the same context"] += not as_one
    assert in_any_order(sent(again), repairs.made) == in_any_order(sent(log), repairs.made)


def in_any_order(messages: list[dict[str, Any]], made: int) -> list[dict[str, Any]]:
    """The messages; where results were made up, those that stand side by side in the order of their ids."""
    for message in messages if made else []:
        message["content"].sort(key=lambda block: block.get("tool_use_id", "~"))
    return messages


ANY = st.one_of(COMMANDS, TO_COME)


@pytest.mark.slow
def test_any_sequence_leaves_a_session() -> None:
    """On runs of rows of real sessions, which may begin or end within a step, and of recorded probes."""

    @settings(max_examples=examples(SEQUENCES), suppress_health_check=list(HealthCheck))
    @given(slices("claude-code"), st.lists(ANY, min_size=1, max_size=6))
    def sequence(content: bytes, commands: list[Command]) -> None:
        try:
            log = opened(content)
        except UnknownFormat:
            return
        if log.transcript.format != "claude-code":
            return
        before = unpaired(log)
        for command in commands:
            tried(log, command)
        check(log, content, before)
        ran["sequences"] += 1

    sequence()


@pytest.mark.slow
def test_how_many_sequences_were_run(capsys: pytest.CaptureFixture[str]) -> None:
    """At least 2,000, of which a push runs a part; the number is printed in every run."""
    if not ran["sequences"]:
        pytest.skip("the sequences were not run")
    with capsys.disabled():
        print(f"\nsequences of ops, every session can be gone on with: {dict(ran)}")
    assert ran["sequences"] >= examples(SEQUENCES) * 0.9


@pytest.mark.parametrize("path", some(FILES, 2), ids=lambda path: path.stem[:20])
def test_real_sessions(path: Path) -> None:
    """Byte for byte without an op and after op and undo; with one message forgotten, all other lines are the same."""
    raw = path.read_bytes()
    log = opened(raw)
    assert b"".join(log.session("claude-code", keep_id=True).pieces) == raw
    renamed = b"".join(log.session("claude-code").pieces)
    assert [IDS.sub(b"", line) for line in renamed.split(b"\n")] == [IDS.sub(b"", line) for line in raw.split(b"\n")]
    names = [name for name in log.names() if isinstance(name, int)]
    for name in names[:: max(1, len(names) // 3)]:
        log = opened(raw)
        log.forget(str(name), include_protected=True)
        written = log.session("claude-code", keep_id=True, recount=False)
        made = b"".join(written.pieces)
        assert problems(made, raw) == [] and sent(opened(made)) == sent(log)
        assert told(opened(made)) == told(log) and not written.repairs.left_out
        lines = {LINKS.sub(b"", line) for line in raw.split(b"\n")}
        assert all(LINKS.sub(b"", line) in lines for line in made.split(b"\n") if line)
        log.undo()
        assert b"".join(log.session("claude-code", keep_id=True).pieces) == raw


@pytest.mark.parametrize("path", some(FILES, 2), ids=lambda path: path.stem[:20])
def test_rewinds_of_real_sessions(path: Path) -> None:
    """What came after a point goes, as a rewind does it: the file ends with what was before, on its branch."""
    raw = path.read_bytes()
    total = len(opened(raw).messages)
    for part in (3, 2):
        log = opened(raw)
        log.forget(f"{total * (part - 1) // part + 1}-{total}", include_protected=True)
        check(log, raw, unpaired(opened(raw)))


def test_the_counts_are_of_something() -> None:
    """The checks see what they look for."""
    assert problems(b'{"uuid":"a","parentUuid":"b"}\n{"uuid":"a","parentUuid":null}\n') == [
        "a stands twice", "a hangs on b, which is missing",
    ]  # fmt: skip
