"""What is sent besides messages: counted once, by one rule, for status and for budgets alike."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.assembly import Assembled
from ctxkit.core.derive.usage import Measured
from ctxkit.errors import BadConfig
from ctxkit.measure.count import Counting
from ctxkit.measure.overhead import beside, tokens_of, tools_of
from ctxkit.tokens.tools import definitions
from tests.cli.runner import SMALL

TOOLS = [{"name": "weather", "description": "Tells the weather of a city.", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]  # fmt: skip
PROOFS = Path(__file__).resolve().parents[2] / "fixtures" / "proofs-claude-code"
KNOWN = Measured(1000, "counted", known=1000, overhead=30)


def counting(model: str = "gpt-4o", **env: str) -> Counting:
    return Counting(Log.open(io.BytesIO(SMALL), env={"CTXKIT_MODEL": model, **env}))


@pytest.mark.parametrize(
    ("measured", "words", "added"),
    [
        pytest.param(Measured(100, "o200k_base"), 10, None, id="nothing is known: all of it"),
        pytest.param(KNOWN, 10, 0, id="the provider's count has all of it"),
        pytest.param(KNOWN, 50, 24, id="and of assembled texts as much as it counted besides messages"),
        pytest.param(Measured(9, "counted", known=9), 10, 14, id="it is not known how much that is"),
    ],
)
def test_beside(measured: Measured, words: int, added: int | None) -> None:
    """Nothing is counted twice."""
    found = beside(
        counting(CTXKIT_OVERHEAD="12k"), [Assembled("docs", "system", " a" * words)], definitions(TOOLS), measured
    )
    assert (found.assembled, found.overhead) == (words + 4, 12_000) and found.tools > 20
    whole = found.assembled + found.tools + found.overhead
    assert found.added == (whole if added is None else added) and found.within == whole - found.added


def test_each_model_is_shown_them_in_its_way() -> None:
    """TypeScript for OpenAI's, JSON and a prompt for Claude; by the model's own tokens."""
    openai, claude, other = (
        tokens_of(counting(model), definitions(TOOLS)) for model in ("gpt-4o", "claude-opus-4-5", "x")
    )
    assert 0 < openai < other < 100 and claude > 346 + 30
    assert tokens_of(counting("claude-opus-4-5"), []) == 0


def test_recorded_request() -> None:
    """Without a provider's count, the system prompt and tools that Claude Code recorded count; else what is named."""
    rows = [json.loads(line) for line in (PROOFS / "talk.jsonl").read_text().splitlines()]
    system = [{"type": "text", "text": "You are terse." * 50}]
    for row in rows:
        row.get("message", {}).pop("usage", None)
        if row["type"] == "api-request-shape":
            row["shape"] = {"system": system, "tools": TOOLS}

    def added(**env: str) -> tuple[int, int]:
        log = Log.open(io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode()), env=env)
        found = log.status().tokens.beside
        assert found is not None and found.within == 0
        return found.tools, found.overhead

    tools, overhead = added()
    assert 346 + 30 < tools < 500 and 200 < overhead < 600
    assert added(CTXKIT_OVERHEAD="12k") == (0, 12_000)


ACCEPTED = {"CTXKIT_ACCEPT_CONFIG": "1"}


def test_where_the_definitions_come_from(tmp_path: Path) -> None:
    """The caller's, else the config's, which stay in the log's folder."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    (tmp_path / "tools.json").write_text(json.dumps({"tools": TOOLS}))
    config = tmp_path / "ctxkit.toml"

    def found() -> Any:
        return tools_of(Log.open(path, env=ACCEPTED))

    assert list(found()) == []
    config.write_text('tools = "tools.json"\n')
    assert list(found()) == definitions(TOOLS)
    log = Log.open(path, env=ACCEPTED)
    log.tools = []
    assert list(tools_of(log)) == []
    config.write_text('tools = "../tools.json"\n')
    refused = Log.open(path, env=ACCEPTED)
    assert list(tools_of(refused)) == [] and any("tools" in notice for notice in refused.config.notices)
    for text, said in (("[1]", "definition 1 of 1 has no name"), ("{", "no JSON"), ("[" * 2000, "no JSON|deeply")):
        config.write_text('tools = "tools.json"\n')
        (tmp_path / "tools.json").write_text(text)
        with pytest.raises(BadConfig, match=said):
            found()
    (tmp_path / "tools.json").unlink()
    with pytest.raises(BadConfig, match="no such file"):
        found()
