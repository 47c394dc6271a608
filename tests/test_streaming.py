"""Commands that write a whole context hold none of it: their memory does not grow with the words of a log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.formats.targets import TARGETS
from tests.bench.runs import once
from tests.cli.runner import ROOT, call, lines, message

NOT_DARWIN = pytest.mark.skipif(
    sys.platform == "darwin", reason="memory is told in pages that were touched, not in those held"
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SIZE = 40
"""MB of words, in messages of 20 KB."""
SHARE = 0.4
"""Of the size, that memory may grow by: what is read and written at once, and no list of messages, turns or lines."""
WHOLE = [
    *(("export", "--to", to) for to in TARGETS),
    ("edit", "--print"), ("snapshot", "--light", "-m", "kept"), ("snapshot",), ("show", "--json"), ("show", "--full"),
]  # fmt: skip


SESSIONS = [
    (kind, words) for kind, targets in (
        ("claude-code", ("anthropic", "openai", "codex", "claude-code")), ("pi", ("anthropic", "claude-code", "pi")),
        ("codex", ("responses", "anthropic", "pi", "codex")),
    ) for words in (*(("export", "--to", to) for to in targets), ("show", "--json"))
]  # fmt: skip
"""Sessions of agents, half as large, and what writes all of their context."""


def claude_code(k: int, text: str) -> Iterator[dict[str, Any]]:
    """Rows of an exchange of Claude Code."""
    call = {"type": "tool_use", "id": f"c{k}", "name": "Read", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": f"c{k}", "content": text}
    said = ({"role": "user", "content": f"{k} {text}"}, {"role": "assistant", "id": f"m{k}", "content": [call]},
            {"role": "user", "content": [answer]},
            {"role": "assistant", "id": f"n{k}", "content": [{"type": "text", "text": text}]})  # fmt: skip
    for at, one in enumerate(said, start=4 * k):
        yield {"parentUuid": f"u{at - 1}" if at else None, "sessionId": "s", "uuid": f"u{at}", "type": one["role"],
               "message": {"model": "claude-sonnet-4-5", **one}, "timestamp": "2026-01-01T00:00:00Z"}  # fmt: skip


def pi(k: int, text: str) -> Iterator[dict[str, Any]]:
    """The same of pi."""
    if not k:
        yield {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
    words = [{"type": "text", "text": text}]
    call = {"type": "toolCall", "id": f"c{k}", "name": "read", "arguments": {}}
    said = ({"role": "user", "content": words}, {"role": "assistant", "content": [call], "model": "m"},
            {"role": "toolResult", "toolCallId": f"c{k}", "toolName": "read", "content": words},
            {"role": "assistant", "content": words, "model": "m"})  # fmt: skip
    for at, one in enumerate(said, start=4 * k):
        yield {"type": "message", "id": f"e{at}", "parentId": f"e{at - 1}" if at else None, "message": one,
               "timestamp": "2026-01-01T00:00:00Z"}  # fmt: skip


def codex(k: int, text: str) -> Iterator[dict[str, Any]]:
    """The same of Codex."""

    def row(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}

    if not k:
        yield row("session_meta", id="s", cwd="/")
    part = {"type": "input_text", "text": text}
    yield row("response_item", type="message", role="user", content=[part])
    yield row("response_item", type="function_call", name="read", arguments="{}", call_id=f"c{k}")
    yield row("response_item", type="function_call_output", call_id=f"c{k}", output=text)
    yield row("response_item", type="message", role="assistant", content=[{**part, "type": "output_text"}])


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """For each agent the same messages with few words and with many."""
    found: dict[str, tuple[Path, Path]] = {}
    for kind, rows in (("claude-code", claude_code), ("pi", pi), ("codex", codex)):
        few, many = (tmp_path_factory.mktemp(kind) / f"{name}.jsonl" for name in ("few", "many"))
        for path, words in ((few, 1), (many, 20_000)):
            text = ("some words, " * words)[:words]
            with path.open("wb") as file:
                for k in range(SIZE * 1_000_000 // 20_000 // 8):
                    file.write(lines(*rows(k, text)))
        found[kind] = few, many
    return found


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same messages with few words and with many."""
    folder = tmp_path_factory.mktemp("streaming")
    found = []
    for name, words in (("few", 1), ("many", 20_000)):
        path = folder / f"{name}.jsonl"
        text = ("some words, " * words)[:words]
        with path.open("wb") as file:
            for k in range(SIZE * 1_000_000 // 20_000 // 4):
                file.write(lines(
                    message("user", f"{k} {text}"), message("assistant", text, tool_calls=[call("Read", f"c{k}")]),
                    message("tool", text, tool_call_id=f"c{k}"), message("assistant", text),
                ))  # fmt: skip
        once((sys.executable, "-m", "ctxkit", "status", str(path)), ENVIRONMENT)  # what counts takes memory of its own
        found.append(path)
    return found[0], found[1]


@pytest.mark.full("memory growth")
@NOT_DARWIN
@pytest.mark.parametrize(("kind", "words"), SESSIONS, ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_memory_does_not_grow_with_the_words_of_a_session(
    sessions: dict[str, tuple[Path, Path]], kind: str, words: tuple[str, ...]
) -> None:
    """The same of sessions of agents: what their program would send is read message by message."""
    few, many = (
        once((sys.executable, "-m", "ctxkit", words[0], str(path), *words[1:]), ENVIRONMENT) for path in sessions[kind]
    )
    assert many.peak - few.peak < SHARE * SIZE / 2


@pytest.mark.full("memory growth")
@NOT_DARWIN
@pytest.mark.parametrize("words", WHOLE, ids=" ".join)
def test_memory_does_not_grow_with_the_words(logs: tuple[Path, Path], words: tuple[str, ...]) -> None:
    """The peak on a log with many words, less that on the same with few."""
    few, many = (once((sys.executable, "-m", "ctxkit", words[0], str(path), *words[1:]), ENVIRONMENT) for path in logs)
    assert many.peak - few.peak < SHARE * SIZE


@pytest.mark.full("memory growth")
@NOT_DARWIN
def test_a_snapshot_comes_back_message_by_message(logs: tuple[Path, Path]) -> None:
    """The peak of a restore follows the number of messages, too."""
    peaks = []
    for path in logs:
        once((sys.executable, "-m", "ctxkit", "snapshot", str(path)), ENVIRONMENT)
        back = (sys.executable, "-m", "ctxkit", "restore", str(path), "latest", "--replace")
        peaks.append(once(back, ENVIRONMENT).peak)
    assert peaks[1] - peaks[0] < SHARE * SIZE


def test_nothing_is_printed_where_the_log_fails_midway(tmp_path: Path) -> None:
    """A body that cannot be written to its end is not begun: here, for want of room for what waits."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", "words " * 200_000) for _ in range(16))))
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 4096; exec "$@"', "-", sys.executable, "-m", "ctxkit", "export", str(path), "--to",
         "openai"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (74, b"")
    assert b"cannot keep the result in a temporary file" in ran.stderr and b"nothing was written" in ran.stderr
