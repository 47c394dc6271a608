"""Seeds for the tests of exports: slices of real files of several formats, and of our own fixtures.

A slice is a run of rows as they stand in a file, so it may begin within a step, hold half of one, or lack what a row
points to. Only very long texts and pictures are cut, and where a run with something special begins is known.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ctxkit.core.text.json_text import dumps
from tests.formats.exchanged import CONTENTS, ITEMS, MESSAGES
from tests.formats.opencode import logs as opencode
from tests.shared import SHARED

ROOT = Path(__file__).resolve().parent.parent
LONGEST_TEXT = 2000
"""Characters that are kept of a text or of a picture's base64 (a multiple of four, so that it stays base64)."""
SPECIAL = (
    '"thinking"', '"redacted', '"image', '"is_error": true', '"isCompactSummary"', "compact_boundary", "isApiError",
    '"attachment"', '"document"', "server_tool_use", '"tool_calls"', '"function_call"', '"tool_use"', "reasoning",
)  # fmt: skip
"""What makes a row worth beginning at."""
FAMILIES: dict[str, list[Path]] = {
    # family: files; those of the project first, so that there is something without the shared folder
    "claude-code": [
        *sorted((ROOT / "fixtures/truth-claude-code").glob("p*.jsonl")),
        *sorted((SHARED / "transcripts/claude-code").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/claude-code-subagents").glob("*.jsonl")),
    ],
    "codex": [
        *sorted((ROOT / "fixtures/truth-codex").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/codex").glob("*.jsonl")),
    ],
    "pi": [
        *sorted((ROOT / "fixtures/truth-pi").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/pi").glob("*.jsonl")),
    ],
    "chat": [
        ROOT / "fixtures/guide/chat.jsonl",
        *sorted((SHARED / "transcripts/openai-chat").glob("*")),
        *sorted((SHARED / "transcripts/tau-bench").glob("01*")),
    ],
    "messages": [
        ROOT / "fixtures/guide/chat.jsonl",
        *sorted((SHARED / "transcripts/mini-swe-agent").glob("*")),
        *sorted((SHARED / "transcripts/sharegpt").glob("04*")),
        *sorted((SHARED / "transcripts/openai-chat").glob("*")),
    ],
    "responses": [
        *sorted((ROOT / "fixtures/truth-codex").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/codex").glob("*.jsonl")),
    ],
    "anthropic": [
        *sorted((ROOT / "fixtures/truth-claude-code").glob("p*.jsonl")),
        *sorted((SHARED / "transcripts/claude-code").glob("*.jsonl")),
    ],
    "gemini-cli": sorted((ROOT / "fixtures/truth-gemini-cli").glob("*.jsonl")),
    "copilot-cli": sorted((SHARED / "transcripts/copilot-cli").glob("*.jsonl")),
}  # fmt: skip

Records = list[dict[str, Any]]


@cache
def conversations(path: Path) -> tuple[Records, ...]:
    """The conversations of a file, each as its records, cut to what a test can hold."""
    text = path.read_text(encoding="utf-8")
    try:
        found = [json.loads(text)]
    except ValueError:
        found = [record for line in text.splitlines() if isinstance(record := _record(line), dict)]
    rows = any(isinstance(one, dict) and "type" in one and "role" not in one for one in found[:3])
    lists = [] if rows else list(_lists(found))
    return tuple(_cut(records) for records in (lists or [found]) if any(isinstance(one, dict) for one in records))


def _record(line: str) -> Any:
    """None for a damaged line."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _lists(value: Any) -> Any:
    """Every list of messages in a container."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "role" in one for one in value):
        yield value
    elif isinstance(value, list | dict) and not (isinstance(value, dict) and "role" in value):
        for one in value if isinstance(value, list) else value.values():
            if not isinstance(one, dict) or "message" not in one:
                yield from _lists(one)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, list):
        return [_cut(one) for one in value]
    if isinstance(value, dict):
        return {key: one if key == "signature" else _cut(one) for key, one in value.items()}
    return value


def _bodies(family: str, records: Records) -> Records:
    """What a program's rows hold of its API: items of Responses from Codex, messages of Anthropic from Claude Code."""
    if family == "responses":
        return [row["payload"] for row in records if row.get("type") == "response_item"]
    return [row["message"] for row in records if isinstance(row.get("message"), dict) and "role" in row["message"]]


@cache
def special(path: Path, which: int) -> tuple[int, ...]:
    """Where in a conversation something special stands."""
    records = conversations(path)[which]
    found = [n for n, record in enumerate(records) if any(word in json.dumps(record) for word in SPECIAL)]
    return tuple(found) or (0,)


def _call(identity: str, name: str = "read", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def _said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _answer(identity: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content, **more}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _document(**source: str) -> dict[str, Any]:
    return {"type": "document", "source": source}


_PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
_THOUGHT = {"type": "thinking", "thinking": "why", "signature": "QUJDRA=="}
_USE = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
_SIGNED = {"extra_content": {"google": {"thought_signature": "R0VNSU5J"}}}
ODD: list[Records] = [
    [{"role": "user", "content": "hi"}],
    [{"role": "user", "content": " "}],
    [{"role": "user", "content": [{"type": "text", "text": ""}, _PNG, {"type": "text", "text": "x \n"}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.gif"}}, "words", 5]}],
    [{"role": "system", "content": "again"}, {"role": "developer", "content": ["d", _PNG]}],
    [{"role": "assistant", "content": "so \n\n"}],
    [{"role": "assistant", "content": ""}],
    [{"role": "assistant", "content": None, "reasoning_content": "thought"}],
    [_said(_THOUGHT)],
    [_said(_THOUGHT, {"type": "text", "text": "a"}, {"type": "redacted_thinking", "data": "QQ=="})],
    [_said(_THOUGHT, {"type": "text", "text": " "}, _USE), _answer("t")],
    [_said({"type": "thinking", "thinking": "x", "signature": ""}, _USE, _text("then")), _answer("t")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("a"), _call("b")]}, _answer("b"), _answer("a")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("a"), _call("a")]}, _answer("a"), _answer("a")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("c", **_SIGNED), _call("d")]}, _answer("c")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("e")]}, {"role": "user", "content": "?"}, _answer("e")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("functions.f:0", "mcp.x/y z", "{broken")]},
     _answer("functions.f:0", [{"type": "text", "text": ""}, _PNG], is_error=True)],
    [{"role": "assistant", "content": "", "tool_calls": [_call("x" * 300, "n" * 200, "[1]")]}, _answer("x" * 300, "")],
    [{"role": "assistant", "content": "", "tool_calls": [_call("", "1st", "")]}, _answer("")],
    [{"role": "assistant", "content": "", "tool_calls": [_call(f"m{n}") for n in range(130)]}],
    [{"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{\"x\":1e999}"}},
     {"role": "function", "name": "old", "content": "done"}],
    [_answer("nobody", "lost")],
    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [_PNG]}, _text("x")]}],
    [{"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "tool_result", "tool_use_id": "a"}]}],
    [{"role": "user", "content": [_document(type="text", media_type="text/plain", data="d")]}],
    [_said({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}, _text("x"))],
    [{"role": "model", "content": [{"text": "hm", "thought": True, "thoughtSignature": "QUI="}, {"text": "so"}]}],
]  # fmt: skip
"""What logs hold at their worst, piece by piece; ours."""


@st.composite
def oddities(draw: st.DrawFn) -> bytes:
    """A log of our worst pieces in any order."""
    run = [record for piece in draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=10)) for record in piece]
    return b"".join(dumps(record).encode("ascii") + b"\n" for record in run)


@st.composite
def exchanged(draw: st.DrawFn, name: str) -> bytes:
    """A run of what an API takes and gives, made by hand, with pieces in any order."""
    listed = {"items": ITEMS, "contents": CONTENTS}[name]
    begin = draw(st.integers(0, len(listed) - 1))
    run = listed[begin : begin + draw(st.integers(1, len(listed)))]
    run = draw(st.one_of(st.just(run), st.permutations(run), st.lists(st.sampled_from(listed), max_size=12)))
    return dumps({"input": run, "output": ITEMS[-1:]} if name == "items" else {"contents": run}).encode("ascii")


@st.composite
def of_opencode(draw: st.DrawFn) -> bytes:
    """An export of opencode."""
    words = ("user:a", "say:b", "say:+c1+c2", "fail:d+c3", "compact", "summary:1", "failed", "aborted:half", "user:e")
    spec = "|".join(draw(st.lists(st.sampled_from(words), min_size=1, max_size=12)))
    return dumps(opencode.export(spec)).encode("ascii")


@st.composite
def slices(draw: st.DrawFn, family: str) -> bytes:
    """A log: a run of up to 24 rows of a file of the family."""
    path = draw(st.sampled_from(FAMILIES[family]))
    which = draw(st.integers(0, min(len(conversations(path)), 40) - 1))
    records = conversations(path)[which]
    begin = draw(st.one_of(st.integers(0, len(records) - 1), st.sampled_from(special(path, which))))
    begin = max(0, begin - draw(st.integers(0, 3)))
    run = records[begin : begin + draw(st.integers(2, 24))]
    if family in ("responses", "anthropic"):
        run = _bodies(family, run) or (ITEMS if family == "responses" else MESSAGES)
    if family == "anthropic":
        return dumps({"system": "S", "messages": run}).encode("ascii")
    if family == "messages":
        return dumps({"messages": run}).encode("ascii")
    return b"".join(dumps(record).encode("ascii") + b"\n" for record in run)
