"""A Claude Code session of any size for the benches, shaped like real ones: the same bytes in every run.

Shape (from counts over real files): a row per content block, responses of several rows, parallel calls, progress rows
(30 % of the rows) that are links of the chain, `toolUseResult` copies (the largest share of the bytes), thinking
that is empty but signed, a few images, file-history snapshots, stop hooks, two compactions, a sidechain now and then.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1)
WORDS = ["the", "session", "module", "reads", "a", "token", "from", "the", "request", "and", "compares", "its", "age"]
TOOLS = ("Read", "Bash", "Grep", "Edit", "Write", "Task")
ID = "5e55e551-0000-4000-8000-000000000001"
"""The session's id, and the name of its file."""
NEEDLE = "needle-7f3a"
"""Stands in every thousandth result: what the bench searches for."""


class _Session:
    """Writes rows one after the other, each hanging on the one before."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.chosen = random.Random(size)
        self.written = 0
        self.rows = 0
        self.calls = 0
        self.parent: str | None = None
        self.texts = [self._text(length) for length in (80, 200, 400, 800, 1600, 3000) for _ in range(30)]

    def _text(self, length: int) -> str:
        found = ""
        while len(found) < length:
            found += " ".join(self.chosen.choices(WORDS, k=11)) + ("\n" if self.chosen.random() < 0.6 else ". ")
        return found[:length]

    def text(self, length: int) -> str:
        """A text of about that many characters."""
        at = min(range(6), key=lambda i: abs((80, 200, 400, 800, 1600, 3000)[i] - length))
        return self.texts[at * 30 + self.chosen.randrange(30)]

    def row(self, kind: str, *, link: bool = True, side: str = "", **more: Any) -> str:
        """One line; a link hangs on the row before it and becomes what the next one hangs on."""
        uuid = f"{self.rows:08x}-0000-4000-8000-{self.size:012x}"
        start = {"parentUuid": self.parent, "isSidechain": bool(side), "userType": "external", "cwd": "/src",
                 "sessionId": ID, "version": "2.1.40", "gitBranch": "main"} if link else {}  # fmt: skip
        stamp = (START + timedelta(seconds=3 * self.rows)).isoformat(timespec="milliseconds") + "Z"
        end = {"uuid": uuid, "timestamp": stamp} if link else {}
        agent = {"agentId": side} if side else {}
        line = json.dumps({**start, **agent, "type": kind, **more, **end}, separators=(",", ":")) + "\n"
        self.rows += 1
        self.written += len(line)
        if link:
            self.parent = uuid
        return line

    def lines(self) -> Iterator[str]:
        """The whole session."""
        turn, cuts = 0, [self.size // 3, 2 * self.size // 3]
        while self.written < self.size:
            if cuts and self.written > cuts[0]:
                cuts.pop(0)
                yield from self.compaction()
            yield from self.turn(turn)
            turn += 1

    def turn(self, turn: int) -> Iterator[str]:
        """A prompt, some steps, an answer."""
        yield self.row("file-history-snapshot", link=False, messageId=f"m{turn}", snapshot={"trackedFileBackups": {}})
        yield self.row("user", message={"role": "user", "content": f"{turn}: {self.text(200)}"})
        for step in range(self.chosen.randint(4, 14)):
            yield from self.step(f"msg_{turn}_{step}", self.chosen.choice((1, 1, 1, 2, 3)))
        if turn % 40 == 7:
            yield from self.sidechain(f"a{turn:06x}")
        text = {"type": "text", "text": self.text(800)}
        yield self.row("assistant", message=self.response(f"msg_{turn}_end", text, "end_turn"), requestId=f"req_{turn}")
        yield self.row("system", subtype="stop_hook_summary", hookCount=1, level="suggestion")

    def response(self, key: str, block: dict[str, Any], stop: str | None) -> dict[str, Any]:
        """The message of one row of a response."""
        usage = {"input_tokens": 9, "cache_read_input_tokens": 48_000, "output_tokens": 210, "service_tier": "standard"}
        return {"model": "claude-x", "id": key, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": stop, "stop_sequence": None, "usage": usage}  # fmt: skip

    def step(self, key: str, parallel: int) -> Iterator[str]:
        """Thinking, perhaps words, calls that run side by side, progress, results."""
        signature = f"{self.chosen.getrandbits(1200):x}"
        yield self.row(
            "assistant", message=self.response(key, {"type": "thinking", "thinking": "", "signature": signature}, None)
        )
        if self.chosen.random() < 0.4:
            yield self.row("assistant", message=self.response(key, {"type": "text", "text": self.text(200)}, None))
        ids = []
        for _ in range(parallel):
            self.calls += 1
            ids.append(f"toolu_{self.calls:08d}")
            tool = TOOLS[self.calls % len(TOOLS)]
            call = {
                "type": "tool_use",
                "id": ids[-1],
                "name": tool,
                "input": {"file_path": f"/src/file{self.calls % 97}.py"},
            }
            yield self.row("assistant", message=self.response(key, call, "tool_use"))
        for _ in range(self.chosen.randint(1, 4)):
            progress = {
                "type": "bash_progress",
                "output": self.text(200),
                "fullOutput": self.text(400),
                "elapsedTimeSeconds": 3,
            }
            yield self.row("progress", data=progress, toolUseID=ids[0], parentToolUseID=ids[0])
        for call_id in ids:
            yield self.result(call_id)

    def result(self, call_id: str) -> str:
        """A result, with the copy that the program keeps for its own display; an image now and then."""
        number = int(call_id.removeprefix("toolu_"))
        text = self.text(self.chosen.choice((80, 400, 800, 1600, 3000)))
        if number % 1000 == 500:
            text += f"\n{NEEDLE} {number}"
        content: Any = text
        if number % 400 == 123:
            source = {"type": "base64", "media_type": "image/png", "data": f"{self.chosen.getrandbits(200_000):x}"}
            content = [{"type": "image", "source": source}]
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        copy = {"stdout": text, "structuredPatch": [], "originalFile": self.text(1600), "interrupted": False}
        return self.row("user", message={"role": "user", "content": [block]}, toolUseResult=copy)

    def sidechain(self, agent: str) -> Iterator[str]:
        """A subagent's rows, which the main chain passes by."""
        main, self.parent = self.parent, None
        yield self.row("user", side=agent, message={"role": "user", "content": self.text(400)})
        text = {"type": "text", "text": self.text(800)}
        yield self.row("assistant", side=agent, message=self.response(f"msg_{agent}", text, "end_turn"))
        self.parent = main

    def compaction(self) -> Iterator[str]:
        """A boundary, and the summary that the program goes on with."""
        before, self.parent = self.parent, None
        meta = {"trigger": "auto", "preTokens": 167_332}
        yield self.row(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata=meta,
        )
        start = "This session is being continued from a previous conversation that ran out of context.\n"
        summary = {"role": "user", "content": start + self.text(3000)}
        yield self.row("user", message=summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def claude_code(path: Path, size: int) -> int:
    """Write a session of about `size` bytes; how many rows it has."""
    session = _Session(size)
    with path.open("w", encoding="ascii", newline="\n", buffering=1 << 20) as file:
        file.writelines(session.lines())
    return session.rows
