"""What `repair` sends against what Claude Code 2.1.329 was recorded to send: every block that comes from the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.formats.claude_code.wire import repair
from tests.formats.claude_code import logs
from tests.formats.claude_code.digests import Digest, from_log
from tests.formats.claude_code.sessions import block_of
from tests.shared import shared

PROBES = Path(__file__).resolve().parents[3] / "fixtures" / "truth-claude-code"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))
ASKED_FOR = {"p77c-model-arg-opus5"}
"""Resumed with a model other than the log's."""
BLANK = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The key of an empty text: Claude Code sends it, the API refuses it, we say "(no content)" (p46)."""


def sent(raw: bytes, model: str = "") -> list[dict[str, Any]]:
    """The messages of a log as we send them."""
    transcript = logs.read(raw)
    contents = [logs.content(raw, transcript.messages[n - 1]) for n in logs.context(transcript)]
    messages, _ = repair(contents, logs.answered(transcript), model)
    return [{"role": m.role, "content": [block_of(part) for part in m.parts]} for m in messages]


def difference(raw: bytes, digest: list[Any], *, strip: bool, model: str = "") -> tuple[int, str]:
    """The number of recorded blocks from the log, and the first difference ("" for none)."""
    ours = from_log(sent(raw, model), strip=strip)
    truth: list[tuple[Digest, str]] = [
        ((row[0], row[1], row[2], row[3]), row[5])
        for row in digest
        if row[4] == "history" and (row[1], row[2]) != ("text", BLANK)
    ]
    if [row for row, _ in ours] == [row for row, _ in truth]:
        return len(truth), ""
    same = 0
    while same < min(len(ours), len(truth)) and ours[same][0] == truth[same][0]:
        same += 1
    return len(truth), f"{len(ours)} blocks; at {same}: {ours[same : same + 1]}, recorded: {truth[same : same + 1]}"


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small log, made for one rule, gives the recorded blocks."""
    request = REQUESTS[probe]
    model = request["model"] if probe in ASKED_FOR else ""
    raw = (PROBES / f"{probe}.jsonl").read_bytes()
    assert difference(raw, request["digest"], strip=probe.endswith("-old"), model=model)[1] == ""


OTHER_WORDS = {
    "p20-assistant-first": "the API wants a user message first",
    "p46-whitespace": "the API refuses empty text",
    "p64-boundary+summary-last": "the recording has an empty system message of its own run",
}
"""Probes that are sent in other messages than recorded, and why."""


@pytest.mark.parametrize("probe", [p for p in REQUESTS if "messages" in REQUESTS[p] and p not in OTHER_WORDS])
def test_a_probe_is_sent_in_the_recorded_messages(probe: str) -> None:
    """Not only the blocks: messages, their limits and every character are those of the recorded request."""
    request = REQUESTS[probe]
    recorded = []
    for message in request["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        recorded.append({"role": message["role"], "content": blocks})
    raw = (PROBES / f"{probe}.jsonl").read_bytes()
    assert sent(raw, request["model"] if probe in ASKED_FOR else "") == recorded


def test_real_sessions_are_sent_as_recorded() -> None:
    """Sessions from the wild give the recorded blocks; the table is printed with `pytest -rP`."""
    table = []
    for path in sorted(shared("truth/claude-code").glob("*.json")):
        request = json.loads(path.read_text(encoding="utf-8"))
        raw = shared(f"transcripts/claude-code/{path.stem}.jsonl").read_bytes()
        strip = all(message["role"] != "system" for message in request["request_messages"])
        blocks, first = difference(raw, [row[1:] for row in request["digest"]], strip=strip)
        table.append((path.stem, blocks, first))
        print(f"{path.stem:42} {blocks:5} {'equal' if not first else first[:300]}")
    assert [(name, first) for name, _, first in table if first] == []
