"""Sessions of Claude Code made from a plan, so that every question about them has an answer that the plan knows.

The answers in `test_views.py` are worked out from the plan in Python: they share nothing with the SQL.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ctxkit.fleet.rows import Rows, rows

START = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
MODELS = ("claude-opus-4-6", "claude-haiku-4-5")
FILES = tuple(f"/shop/{name}.py" for name in ("cart", "tax", "main", "view", "db"))
TOOLS = {"Read": "read", "Edit": "edited", "Write": "written"}
"""Tool -> how it touches a file."""


@dataclass
class Step:
    """A call and its result. `n`: the number of the message with the call; the result is the next one."""

    n: int
    tool: str
    path: str | None
    part: tuple[int, int] | None
    error: bool
    size: int
    at: datetime


@dataclass
class Request:
    """What was sent for an answer, and what it counted."""

    n: int
    model: str
    input: int
    cached: int
    written: int
    output: int
    at: datetime


@dataclass
class Turn:
    """What a person asked, and when the last message of the turn came."""

    n: int
    asked: str
    began: datetime
    ended: datetime
    messages: int = 1
    calls: int = 0


@dataclass
class Plan:
    """A session: its lines, and what is known of it."""

    name: str
    seed: int
    interrupted: bool = False
    lines: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    n: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.now = START + timedelta(days=self.seed)
        self.sent = 0
        self.parent: str | None = None

    def write(self, folder: Path) -> Path:
        """Write, or go on writing, the session."""
        path = folder / f"{self.name}.jsonl"
        with path.open("a") as file:
            file.writelines(line + "\n" for line in self.lines)
        self.lines = []
        return path

    def talk(self, turns: int, steps: int) -> Plan:
        """Add turns of so many steps; the last of an interrupted session has no answer."""
        for k in range(turns):
            self._ask(f"question {self.n} about\nthe shop")
            for _ in range(steps):
                self._step()
            if not (self.interrupted and k == turns - 1):
                self._answer([{"type": "text", "text": f"answer {self.n}"}])
        return self

    def _ask(self, text: str) -> None:
        self._tick(600)
        self._line("user", {"role": "user", "content": text})
        self.turns.append(Turn(self.n, text, self.now, self.now))

    def _step(self) -> None:
        tool = self.random.choice([*TOOLS, "Read", "Bash"])
        path = None if tool == "Bash" else self.random.choice(FILES)
        part = (self.random.randrange(1, 3) * 10, 10) if tool == "Read" and self.random.random() < 0.5 else None
        arguments: dict[str, Any] = {
            "Read": {"file_path": path, **({"offset": part[0], "limit": part[1]} if part else {})},
            "Edit": {"file_path": path, "old_string": "a", "new_string": f"b{self.n}"},
            "Write": {"file_path": path, "content": f"x = {self.n}\n"},
            "Bash": {"command": f"pytest -k {self.n}"},
        }[tool]
        key = f"toolu_{self.seed}_{self.n}"
        self._answer([{"type": "tool_use", "id": key, "name": tool, "input": arguments}], call=True)
        called = self.n
        self._tick(30)
        error, size = self.random.random() < 0.2, self.random.randrange(20, 400)
        result = {"type": "tool_result", "tool_use_id": key, "content": "word " * size, "is_error": error}
        self._line("user", {"role": "user", "content": [result]})
        self.steps.append(Step(called, tool, path, part, error, size, self.now))

    def _answer(self, content: list[dict[str, Any]], *, call: bool = False) -> None:
        self._tick(60)
        before, self.sent = self.sent, self.sent + self.random.randrange(500, 3000)
        cached = self.random.choice([before, before, before // 4]) if before else 0
        model = MODELS[self.seed % 2]
        written, output = self.sent - cached - 7, self.random.randrange(10, 200)
        usage = {
            "input_tokens": 7, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written,
            "output_tokens": output,
        }  # fmt: skip
        self._line(
            "assistant",
            {
                "id": f"msg_{self.seed}_{self.n}",
                "role": "assistant",
                "model": model,
                "content": content,
                "usage": usage,
            },
        )
        self.requests.append(Request(self.n, model, self.sent, cached, written, output, self.now))
        self.turns[-1].calls += call

    def _tick(self, most: int) -> None:
        self.now += timedelta(seconds=self.random.randrange(1, most))

    def _line(self, kind: str, message: dict[str, Any]) -> None:
        self.n += 1
        uuid = f"{self.seed:08}-0000-4000-8000-{self.n:012}"
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        record = {
            "type": kind, "uuid": uuid, "parentUuid": self.parent, "sessionId": self.name, "isSidechain": False,
            "timestamp": stamp, "cwd": "/shop", "version": "2.1.329", "message": message,
        }  # fmt: skip
        self.lines.append(json.dumps(record))
        self.parent = uuid
        if self.turns and not (kind == "user" and isinstance(message["content"], str)):
            self.turns[-1].ended = self.now
            self.turns[-1].messages += 1


def rows_of(path: Path) -> Rows:
    """The rows of a session with its sidecar."""
    folder = path.with_name(f"{path.name}.ctxkit")
    beside = {one.name: one.read_bytes() for one in folder.glob("*") if one.is_file()}
    return rows(path.read_bytes(), str(path), sidecar=beside)
