"""The limit of a context: what the user says, what the log shows, what the table says; the origin is told."""

from __future__ import annotations

import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.api.log import Log
from ctxkit.cli.commands import status
from ctxkit.cut.summarize import ask_model
from ctxkit.measure.limit import context_limit
from ctxkit.tokens import image_limits
from tests.cli.runner import SMALL, good, lines
from tests.shared import transcripts

PACKAGE = Path(ctxkit.__file__).resolve().parent


def claude(*parts: tuple[str, int], model: str = "claude-opus-4-6") -> bytes:
    """A Claude Code session: replies with so many tokens in their requests, compactions with so many before them; a
    part named otherwise is a reply of that model.
    """
    rows: list[dict[str, Any]] = []
    for n, (kind, size) in enumerate([("ask", 0), *parts]):
        row: dict[str, Any] = {"type": "user", "uuid": f"u{n}", "parentUuid": rows[-1]["uuid"] if rows else None,
                               "sessionId": "s", "isSidechain": False,
                               "timestamp": f"2026-02-01T10:00:{n:02}Z"}  # fmt: skip
        match kind:
            case "ask":
                row["message"] = {"role": "user", "content": "hello"}
            case "auto" | "manual":
                row |= {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
                        "compactMetadata": {"trigger": kind, "preTokens": size}}  # fmt: skip
            case _:
                usage = {"input_tokens": 1, "cache_read_input_tokens": size - 1, "cache_creation_input_tokens": 0,
                         "output_tokens": 9}  # fmt: skip
                row |= {"type": "assistant", "message": {
                    "role": "assistant", "id": f"m{n}", "model": model if kind == R else kind, "usage": usage,
                    "stop_reason": "end_turn", "content": [{"type": "text", "text": "yes"}]}}  # fmt: skip
        rows.append(row)
    return lines(*rows)


R = "reply"
TABLE = "model claude-opus-4-6 in Claude Code"


@pytest.mark.parametrize(
    ("parts", "tokens", "origin"),
    [
        ([(R, 150_000)], 200_000, TABLE),
        ([(R, 150_000), ("auto", 155_000), ("ask", 0), (R, 40_000)], 200_000,
         "Claude Code compacted by itself at 155,000 tokens"),
        ([(R, 559_000)], 1_000_000, "a request had 559,000 tokens"),
        ([(R, 9000), ("auto", 998_000), ("ask", 0), (R, 40_000)], 1_000_000,
         "Claude Code compacted by itself at 998,000 tokens"),
        ([(R, 9000), ("manual", 400_000), ("ask", 0), (R, 40_000)], 1_000_000, "a request had 400,000 tokens"),
        ([(R, 60_000), ("auto", 61_000), ("ask", 0), (R, 40_000)], 200_000,
         "Claude Code compacted by itself at 61,000 tokens: a threshold set by the user"),
        ([("claude-opus-5", 559_000), ("ask", 0), (R, 90_000)], 200_000, TABLE),
        ([("claude-opus-5", 559_000), ("auto", 900_000), ("ask", 0), (R, 90_000)], 200_000, TABLE),
        ([(R, 2_000_000)], 1_000_000, "a request had 2,000,000 tokens"),
    ],
)  # fmt: skip
def test_what_a_session_shows(parts: list[tuple[str, int]], tokens: int, origin: str) -> None:
    """Since its last change of model: the smallest window that nothing in it is larger than."""
    assert context_limit(Log.open(io.BytesIO(claude(*parts)), env={})) == (tokens, origin)


@pytest.mark.parametrize(
    ("env", "asked", "expected"),
    [
        ({}, 77_000, (77_000, "flag")),
        ({"CTXKIT_LIMIT": "90000"}, 77_000, (77_000, "flag")),
        ({"CTXKIT_LIMIT": "90000"}, None, (90_000, "CTXKIT_LIMIT")),
        ({"CTXKIT_MODEL": "claude-opus-4-6[1m]"}, None, (1_000_000, "model claude-opus-4-6[1m] in Claude Code")),
        ({"CTXKIT_MODEL": "claude-sonnet-4-6"}, None, (1_000_000, "model claude-sonnet-4-6")),
        ({"CTXKIT_MODEL": "nobody-knows-it"}, None, (None, "default")),
    ],
)
def test_what_the_user_says_is_first(env: dict[str, str], asked: int | None, expected: tuple[int | None, str]) -> None:
    """A flag, the environment, the config; a window that is named; another model is no longer the session's."""
    assert context_limit(Log.open(io.BytesIO(claude((R, 150_000))), env=env), asked) == expected


def test_a_large_window_is_the_same_model() -> None:
    """What the provider counted counts, however the window is named."""
    log = Log.open(io.BytesIO(claude((R, 150_000))), env={"CTXKIT_MODEL": "claude-opus-4-6[1m]"})
    measured = log.status().tokens.measured
    assert measured is not None and measured.known == 150_009


def test_the_table_alone() -> None:
    """Of no program that gives a model less."""
    assert context_limit(Log.open(io.BytesIO(SMALL), env={"CTXKIT_MODEL": "gpt-4o"})) == (128_000, "model gpt-4o")


def test_one_limit_everywhere(tmp_path: Path) -> None:
    """Status, the config's threshold and the token log go by it; the origin is printed."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(claude((R, 60_000), ("auto", 155_000), ("ask", 0), (R, 139_000)))
    said = good("status", path).text
    assert "69 %" in said and "limit 200,000: Claude Code compacted by itself at 155,000 tokens" in said
    [value] = good("status", path, "--json").values
    assert value["tokens"]["limit"]["value"] == 200_000
    assert "of 200,000 tokens" in good("compact", path, "--dry-run").err


SESSIONS = transcripts("claude-code", under=8_000_000)


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_no_session_is_over_its_limit(path: Path) -> None:
    """No request of a real session was larger; what it compacted by itself lies between 70 % of it and all."""
    log = Log.open(path, env={})
    limit = context_limit(log).tokens
    assert limit is not None
    counted = [log.usage(n) for n in log.own() if log.messages[n - 1].role == "assistant"]
    assert max((usage.request for usage in counted if usage is not None), default=0) <= limit
    for one in log.transcript.compactions:
        assert not one.automatic or 0.7 * limit <= one.tokens <= limit


def test_the_limit_that_the_log_notes(tmp_path: Path) -> None:
    """A Codex session has that of its own window; another model's is what is known of that."""
    info = {
        "last_token_usage": {"input_tokens": 9, "cached_input_tokens": 0, "output_tokens": 2},
        "model_context_window": 99_000,
    }
    rows = [
        {"type": "session_meta", "payload": {"id": "0", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}},
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}},
        *({"type": "response_item",
           "payload": {"type": "message", "role": role, "content": [{"type": f"{kind}_text", "text": "a"}]}}
          for role, kind in (("user", "input"), ("assistant", "output"))),
        {"type": "event_msg", "payload": {"type": "token_count", "info": info}},
    ]  # fmt: skip
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(lines(*rows))
    assert context_limit(Log.open(path)) == (99_000, "the log, of model gpt-5.5")
    assert context_limit(Log.open(path, env={"CTXKIT_MODEL": "gpt-4o"})) == (128_000, "model gpt-4o")


def test_a_refusal_comes_before_the_config() -> None:
    """What a provider named as it refused the context; a flag comes before it."""
    log = Log.open(io.BytesIO(SMALL), env={"CTXKIT_LIMIT": "9000"})
    assert context_limit(log, refused=8000) == (8000, "refusal")
    assert context_limit(log, 7000, refused=8000) == (7000, "flag")
    assert context_limit(log).tokens == 9000


def test_without_a_look() -> None:
    """Only what the user says, where the log is not to be looked into."""
    log = Log.open(io.BytesIO(claude((R, 150_000))))
    assert context_limit(log, look=False).tokens is None
    assert context_limit(log, 5, look=False).tokens == 5


READS_TABLE = {
    inspect.getfile(context_limit): "the one place where a context's limit is decided",
    image_limits.__file__: "models with large windows take more pictures",
    ask_model.__file__: "whether the window of the model that writes a summary is known; no limit of a context",
    status.__file__: "of an empty log in Claude Code, which no row names",
}


def test_nobody_else_decides() -> None:
    """The config's limit is read in one place, and the table of limits by those alone that say why."""
    table, config = set(), set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"tokens\.models import [^\n]*\blimit\b", text) or "models.limit(" in text:
            table.add(str(path))
        if re.search(r"""config\[["']limit["']\]""", text):
            config.add(str(path))
    assert table == set(READS_TABLE)
    assert config == {inspect.getfile(context_limit)}
