"""No word is lost between a log and what is sent without being counted: a sample of `python -m tests.lossless`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Repairs
from ctxkit.formats.targets import REQUESTS, SESSIONS, TARGETS
from tests.lossless import files, judge, lost, opened, sequences, written
from tests.shared import HERE

SMALL = 40_000
"""Bytes of the largest file of the sample."""
OURS = HERE.parent / "fixtures"
SENT = OURS / "lossless/send-message.jsonl"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("to", TARGETS)
def test_nothing_is_lost_unsaid(to: str) -> None:
    """Of small files as they are, and of every tenth after ops, each string is there or counted (`just lossless`)."""
    found = []
    ran = 0
    for place, path in enumerate(path for path in files() if path.stat().st_size < SMALL):
        for what, log in sequences(path, place % 10 == 0):
            ran += 1
            found += [f"{path.name}{what}: {line}" for line in judge(log, to)]
    assert found == [] and ran > 150


def without(value: Any, words: str) -> Any:
    """The same value with these words taken out wherever they stand."""
    if isinstance(value, str):
        return value.replace(words, "")
    if isinstance(value, dict):
        return {key: without(one, words) for key, one in value.items()}
    return [without(one, words) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "words", ["Please look at the parser once more.", "Both were told.", "sent to reviewer", "Tell the reviewer and"]
)
def test_a_loss_is_seen(to: str, words: str) -> None:
    """Of an argument, an answer, a result, a prompt; where it is counted as something else too."""
    log = next(opened(SENT))[1]
    values, repairs = written(log, to)
    assert lost(log, values, repairs) == []
    assert len(lost(log, without(values, words), repairs)) == 1
    said = Repairs(left_out={"thinking": 9})
    said.added = repairs.added
    assert lost(log, without(values, words), said)


def test_old_fields_of_a_message_to_another_agent() -> None:
    """They stay where there are no newer ones, and are left out and counted beside these, as Claude Code does."""
    log = Log.open(SENT)
    for to in REQUESTS:
        made = log.export(to)
        text = json.dumps(list(made.values))
        assert "Please look at the parser once more." in text and text.count("Run the slow ones as well.") == 1
        assert made.repairs.left_out["older field of SendMessage beside the newer ones"] == 3
        assert made.repairs.added["today's name of a tool (Agent for Task)"] == 1


COPILOT = [
    {"type": "session.start", "data": {"sessionId": "s1"}, "id": "e0", "timestamp": "2026-10-01T10:00:00Z"},
    {"type": "system.message", "data": {"content": "You are the GitHub Copilot CLI."}, "id": "e1"},
    {"type": "user.message", "data": {"content": "hi"}, "id": "e2"},
    {"type": "assistant.message", "data": {"content": "hello", "messageId": "m1"}, "id": "e3"},
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s1", "timestamp": "2026-10-01T10:00:00Z"}},
    *(
        {"type": "response_item", "timestamp": "2026-10-01T10:00:01Z", "payload": {
            "type": "message", "role": role,
            "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": words}]}}
        for role, words in (
            ("developer", "<permissions instructions>\nThe sandbox is read-only.\n</permissions instructions>"),
            ("developer", "What a hook of the user says."),
            ("user", "<environment_context>\n<cwd>/old</cwd>\n</environment_context>"),
            ("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
            ("user", "hi"), ("assistant", "hello"),
        )
    ),
]  # fmt: skip
FOREIGN = {
    "copilot-cli": (COPILOT, ["Copilot"], ["hi", "hello"]),
    "codex": (CODEX, ["sandbox", "/old"], ["hook of the user", "Use tabs.", "hi", "hello"]),
}


@pytest.mark.parametrize("to", [*SESSIONS, "chat", "openai"])
@pytest.mark.parametrize("of", FOREIGN)
def test_instructions_of_another_program(of: str, to: str) -> None:
    """They stay behind, counted, in a session of another program alone; `instructions` takes them along."""
    rows, own, words = FOREIGN[of]
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
    log = Log.open(io.BytesIO(raw))
    assert log.opening.format.name == of
    other = to in SESSIONS and to != of
    if to in SESSIONS:
        session = log.session(to)
        text, repairs = b"".join(session.pieces).decode(), session.repairs
        with_them = log.session(to, instructions=True)
        everything = b"".join(with_them.pieces).decode()
        assert all(one in everything for one in [*own, *words])
        assert not any("instructions of" in kind for kind in with_them.repairs.left_out)
    else:
        made = log.export(to)
        text, repairs = b"".join(made.pieces).decode(), made.repairs
    assert all(one in text for one in words)
    assert all((one in text) != other for one in own)
    counted = sum(count for kind, count in repairs.left_out.items() if kind.startswith(f"instructions of {of}"))
    assert counted == (len(own) if other else 0)


def test_the_recipe_finds_its_files(tmp_path: Path) -> None:
    """Fixtures of ours, and what no log is is passed over."""
    assert SENT in files()
    (tmp_path / "x.json").write_text('"no log"')
    assert list(opened(tmp_path / "x.json")) == []
