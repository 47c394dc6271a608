"""Figures of a session counted from its rows as their program wrote them, by nothing of ctxkit.

They are what the ready questions must answer; `test_raw_figures.py` compares them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EDITS = {"Edit", "MultiEdit", "Write", "NotebookEdit", "edit", "write"}
"""Tools that change the file which they name."""
Row = dict[str, Any]


@dataclass
class RawRequest:
    """An answer with its usage. `input`: with what came from the cache and went to it."""

    model: str
    day: str
    input: int
    cached: int
    written: int
    output: int
    cost: float | None = None


@dataclass
class RawFigures:
    """What a session holds. `errors`: results that its program marked as errors, per tool; `changed`: path -> calls of
    tools that change it; `compactions`: tokens before each, None if the row does not say; `open`: calls at its end
    without a result.
    """

    results: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    requests: list[RawRequest] = field(default_factory=list)
    changed: Counter[str] = field(default_factory=Counter)
    compactions: list[int | None] = field(default_factory=list)
    open: set[str] = field(default_factory=set)


def rows_of(path: Path) -> list[Row]:
    """The rows of a file, one per line; a line of a comment is none."""
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.startswith(b"{")]


def claude_code(path: Path) -> RawFigures:
    """Of Claude Code: an answer is all rows with its id, and the newest has its usage."""
    found, tools = RawFigures(), dict[str, str]()
    answers: dict[str, RawRequest] = {}
    for row in rows_of(path):
        message = row.get("message") or {}
        parts = message.get("content")
        if row.get("subtype") == "compact_boundary":
            found.compactions.append((row.get("compactMetadata") or {}).get("preTokens"))
        for part in parts if isinstance(parts, list) else []:
            if part.get("type") == "tool_use":
                tools[part["id"]] = part["name"]
                found.open.add(part["id"])
                if part["name"] in EDITS and (named := part["input"].get("file_path")):
                    found.changed[named] += 1
            elif part.get("type") == "tool_result":
                tool = tools.get(part["tool_use_id"], "")
                found.open.discard(part["tool_use_id"])
                found.results[tool] += 1
                found.errors[tool] += bool(part.get("is_error"))
        usage = message.get("usage")
        if row.get("type") == "assistant" and usage and message.get("model") != "<synthetic>":
            cached, written = usage.get("cache_read_input_tokens", 0), usage.get("cache_creation_input_tokens", 0)
            whole = usage["input_tokens"] + cached + written
            answers[message.get("id") or row["uuid"]] = RawRequest(
                message["model"], row["timestamp"][:10], whole, cached, written, usage["output_tokens"]
            )
    found.requests = list(answers.values())
    return found


def codex(path: Path) -> RawFigures:
    """Of Codex: a request is a row that counts tokens; a result tells by the exit status whether it failed."""
    found, tools, model = RawFigures(), dict[str, str](), ""
    before: Row | None = None
    for row in rows_of(path):
        body = row.get("payload") or {}
        match row["type"], body.get("type"):
            case "turn_context", _:
                model = body["model"]
            case "compacted", _:
                found.compactions.append(None)
            case "response_item", "function_call" | "custom_tool_call":
                tools[body["call_id"]] = body["name"]
                found.open.add(body["call_id"])
            case "response_item", "tool_search_output":
                found.results["tool_search"] += 1
            case "response_item", "function_call_output" | "custom_tool_call_output":
                tool = tools[body["call_id"]]
                found.results[tool] += 1
                found.open.discard(body["call_id"])
                status = re.search(r'(?:exited with code|"exit_code":|Exit code:) ?(\d+)', str(body["output"])[:300])
                found.errors[tool] += status is not None and status[1] != "0"
            case "event_msg", "token_count" if body.get("info"):
                usage, total = body["info"]["last_token_usage"], body["info"]["total_token_usage"]
                if total != before:  # else the row repeats the one before it
                    found.requests.append(RawRequest(
                        model, row["timestamp"][:10], usage["input_tokens"], usage["cached_input_tokens"], 0,
                        usage["output_tokens"],
                    ))  # fmt: skip
                before = total
    return found


def pi(path: Path) -> RawFigures:
    """Of pi: each answer has its usage and its cost."""
    found = RawFigures()
    for row in rows_of(path):
        if row["type"] == "compaction":
            found.compactions.append(row.get("tokensBefore"))
        message = row.get("message") or {}
        if message.get("role") == "toolResult":
            found.results[message["toolName"]] += 1
            found.errors[message["toolName"]] += bool(message["isError"])
            found.open.discard(message["toolCallId"])
        if message.get("role") != "assistant":
            continue
        for part in message["content"]:
            if part["type"] == "toolCall":
                found.open.add(part["id"])
                if part["name"] in EDITS:
                    found.changed[part["arguments"]["path"]] += 1
        usage = message["usage"]
        whole = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
        found.requests.append(RawRequest(
            message["model"], row["timestamp"][:10], whole, usage["cacheRead"], usage["cacheWrite"], usage["output"],
            usage["cost"]["total"],
        ))  # fmt: skip
    return found


READERS = {"claude-code": claude_code, "codex": codex, "pi": pi}
"""Format -> what counts it."""
