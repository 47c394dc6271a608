"""The running summary: cut to its room, made of what leaves."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import (
    RollingContext,
    build_final_prompt,
    enforce_context_limit,
    estimate_tokens,
    summarize_context,
    trim_conversation,
)
from ctxkit.api.rolling_summary import MORE, cut_to, plain_rows
from ctxkit.core.messages import Content, Text
from ctxkit.errors import BadSummary, Usage
from tests.simulated_agent import turns


def words(texts: list[str]) -> list[int]:
    """Counts words."""
    return [len(text.split()) for text in texts]


@pytest.mark.parametrize("size", range(8))
def test_cut_to(size: int) -> None:
    """The longest beginning that has room, with its mark; None if nothing has; a short text is kept."""
    text = "one two three four five six"
    found = cut_to(text, size, words)  # type: ignore[arg-type]
    if size >= 6:
        assert found == text
    elif size < 2:
        assert found is None
    else:
        assert found is not None and found.endswith(MORE) and words([found]) == [size]


def test_plain_rows() -> None:
    """Rows of a chat log."""
    assert plain_rows([Content("user", [Text("hi")])]) == [{"role": "user", "content": "hi"}]


def test_by_rules_the_newest_messages_are_read() -> None:
    """A summary by rules is made of messages, not of the summary before it, and stands for all that left."""
    context = RollingContext(3000, reserve=500, model="gpt-4o", summarize=True)
    for turn in turns(120):
        for row in turn:
            context.add(row)
        context.context()
    text = context.status().summary
    assert text is not None and text.count("in short, word for word") == 1 and context.status().compacts > 5
    state = context.log.state()
    [summary] = [item for item in state.board.items.values() if item.summary]
    left = [n for n in range(1, len(context.log.messages) + 1) if n not in state.shown().numbers]
    assert list(summary.tells.numbers) == left


def agent(count: int = 40) -> list[dict[str, Any]]:
    """The messages of a simulated agent."""
    return [row for turn in turns(count) for row in turn]


async def _told(rows: list[dict[str, Any]]) -> str:
    return f"{len(rows)} rows before"


@pytest.mark.parametrize("summarize", [lambda rows: f"{len(rows)} rows before", _told])
def test_the_functions_take_the_same(summarize: Any) -> None:
    """A program's own summarizer in the functions on messages, plain or async: its words, within the budget."""
    rows = agent()
    for fitted in (
        trim_conversation(rows, 1500, model="gpt-4o", summarize=summarize),
        enforce_context_limit(rows, limit=2000, reserve=500, model="gpt-4o", summarize=summarize),
    ):
        assert fitted.summary == f"{fitted.dropped_count} rows before" and fitted.token_count <= 1500
        assert fitted.token_count == estimate_tokens(fitted.messages, "gpt-4o")
        assert [row for row in fitted.messages if row["content"] == fitted.summary] == [
            {"role": "user", "content": fitted.summary}
        ]
        assert len(fitted.messages) == len(rows) - fitted.dropped_count + 1
    told = summarize_context(rows, model="gpt-4o", target=40, summarize=summarize)
    assert told.summary == f"{len(told.replaced)} rows before" and told.strategy == "given"
    assert told.token_count < told.original_tokens
    prompt = build_final_prompt(rows, enforce=True, limit=2000, reserve=500, model="gpt-4o", summarize=summarize)
    assert prompt.token_count <= 1500 and sum("rows before" in str(row["content"]) for row in prompt.messages) == 1


def test_of_a_log(tmp_path: Path) -> None:
    """Of a log too, which is not changed; what fits is not summarized."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in agent()))
    before = path.read_bytes()
    fitted = trim_conversation(path, 1500, model="gpt-4o", summarize=lambda rows: "before")
    assert [row["content"] for row in fitted.messages].count("before") == 1 and path.read_bytes() == before
    whole = trim_conversation(path, 100_000, model="gpt-4o", summarize=lambda rows: 1 / 0)  # type: ignore[arg-type, return-value]
    assert whole.summary is None and not whole.truncated


@pytest.mark.parametrize("wrong", [lambda rows: "", lambda rows: None])
def test_no_text(wrong: Any) -> None:
    """A summarizer of the functions that gives no text is an error; its own errors are its own."""
    with pytest.raises(BadSummary):
        trim_conversation(agent(), 1500, model="gpt-4o", summarize=wrong)
    with pytest.raises(ZeroDivisionError):
        summarize_context(agent(), model="gpt-4o", summarize=lambda rows: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(Usage):
        summarize_context(agent(), model="gpt-4o", summarize=wrong, strategy="truncate")


@pytest.mark.parametrize("wrong", [5, True, "rules"])
def test_no_function(wrong: Any) -> None:
    """An error of ctxkit's, not of Python's: the config's `trim.summarize` asks for rules, not the argument."""
    messages = [{"role": "user", "content": f"{n} word " * 90} for n in range(9)]
    for cut in (lambda: trim_conversation(messages, 900, summarize=wrong),
                lambda: summarize_context(messages, summarize=wrong)):  # fmt: skip
        with pytest.raises(Usage, match="summarize="):
            cut()


def test_inside_an_event_loop() -> None:
    """An async summarizer of a plain function cannot be awaited there, and the error says what can."""

    async def run() -> None:
        with pytest.raises(Usage, match="event loop"):
            trim_conversation(agent(), 1500, model="gpt-4o", summarize=_told)

    asyncio.run(run())
