"""ctxkit's context as blocks has the recorded digests: the same comparison that the agents judge, without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.resume.blocks import Block
from tests.resume.compare import Compared, compared
from tests.resume.contexts import context
from tests.shared import HERE

FIXTURES = HERE.parent / "fixtures"
UNLIKE = {
    ("pi", "orphan-result"): "a result without its call is recorded; `compare` takes it out of what the agent sends",
    ("codex", "dup-output"): "a second result is recorded; the same",
    ("codex", "big-output"): "a result is recorded cut; `compare` knows a cut by its words, which a digest has not",
}
RECORDED = {
    (agent, probe): request["digest"]
    for agent in ("codex", "pi")
    for probe, request in json.loads((FIXTURES / f"truth-{agent}/requests.json").read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize(("agent", "probe"), [name for name in RECORDED if name not in UNLIKE])
def test_a_probe_has_the_recorded_blocks(agent: str, probe: str) -> None:
    """In order, but for results that were made up."""
    blocks = context(agent, FIXTURES / f"truth-{agent}/{probe}.jsonl")
    truth = [tuple(row) for row in RECORDED[agent, probe]]
    made = {block.hashed()[2] for block in blocks if block.rule}
    ours = [block.hashed() for block in blocks if not block.rule]
    assert ours == [row for row in truth if not (row[1] == "tool_result" and row[2] in made)]


def test_a_wrong_context_is_seen() -> None:
    """One probe's context is not another's."""
    first: Any = context("codex", FIXTURES / "truth-codex/dup-output.jsonl")
    other: list[Block] = context("codex", FIXTURES / "truth-codex/rollback2-end.jsonl")
    assert compared(first, first) == Compared(len(first), "")
    assert compared(first, other).first


@pytest.mark.parametrize(("provider", "left"), [("anthropic", True), ("openai", False)])
def test_pi_is_asked_with_a_model_that_it_has_a_key_for(provider: str, left: bool, tmp_path: Path) -> None:
    """Thinking of the session's model stays where pi can go on with that model: of Anthropic's, the only key."""
    said = {"role": "assistant", "provider": provider, "api": "x", "model": "m", "stopReason": "stop"}
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"}
    rows = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/x", "timestamp": "2026-10-01T00:00:00Z"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "q"}},
        {"type": "message", "id": "2", "parentId": "1",
         "message": said | {"content": [thought, {"type": "text", "text": "a"}]}},
    ]  # fmt: skip
    session = tmp_path / "s.jsonl"
    session.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert any("hm" in f"{one.key}{one.body}" for one in context("pi", session, "", "1.6.0")) == left
