"""Claude Code logs that note their requests: made by the words of the rule, and files of the program itself."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

from ctxkit import Log
from ctxkit.formats.base import Proofs

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[3] / "fixtures/proofs-claude-code"
FILES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
MODEL = "claude-opus-4-8"


def raw(name: str) -> bytes:
    """A session that Claude Code wrote."""
    return (FOLDER / f"{name}.jsonl").read_bytes()


def rows(data: bytes) -> list[Json]:
    """Its rows."""
    return [json.loads(line) for line in data.splitlines()]


def lines(found: list[Json]) -> bytes:
    """Rows as a file."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in found)


def proofs(data: bytes) -> Proofs:
    """What a log proves."""
    return Log.open(io.BytesIO(data)).proofs()


def hash_of(message: Json) -> str:
    """The hash of a message, by the words of the rule."""
    content = message["content"]
    if isinstance(content, str):
        message = {**message, "content": [{"type": "text", "text": content}]}
    text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Session:
    """A session as it is written: what is said is a row, and a request notes what was sent so far."""

    def __init__(self) -> None:
        self.rows: list[Json] = []
        self.sent: list[Json] = []
        self.leaf: str | None = None
        self.base: tuple[str, list[str]] | None = None

    def row(self, kind: str, **fields: Any) -> None:
        """A row below the last."""
        uuid = f"u{len(self.rows)}"
        ts = f"2026-01-01T{len(self.rows) // 3600:02d}:{len(self.rows) // 60 % 60:02d}:{len(self.rows) % 60:02d}.000Z"
        head = {"type": kind, "uuid": uuid, "parentUuid": self.leaf, "sessionId": "s", "timestamp": ts}
        self.rows.append({**head, "isSidechain": False, **fields})
        self.leaf = uuid

    def say(self, content: Any) -> None:
        """A user row: one message, results and words alike."""
        self.row("user", message={"role": "user", "content": content})
        self.sent.append({"role": "user", "content": content})

    def remind(self, words: str) -> None:
        """An attachment behind a user row."""
        rendered = [{"content": f"<system-reminder>\n{words}\n</system-reminder>"}]
        self.row("attachment", attachment={"type": "date"}, rendered=rendered, renderedRole="system")
        self.sent.append({"role": "system", "content": words})

    def ask(self, *, anew: bool = False, **noted: Any) -> str:
        """A request with all that was said; `anew`: by a program that was just started; its id."""
        hashes = [hash_of(message) for message in self.sent]
        keep = 0
        if self.base is not None and not anew:
            old = self.base[1]
            keep = next((i for i, pair in enumerate(zip(old, hashes, strict=False)) if pair[0] != pair[1]),
                        min(len(old), len(hashes)))  # fmt: skip
        found: Json = {"type": "api-request", "sessionId": "s", "id": f"r{len(self.rows):07d}", "keep": keep,
                       "tail": hashes[keep:], "params": {"model": MODEL}}  # fmt: skip
        if keep and self.base is not None:
            found["base"] = self.base[0]
        self.rows.append(found | noted)
        self.base = found["id"], hashes
        return str(found["id"])

    def answer(self, *blocks: Json) -> None:
        """The answer to the last request, a row per block."""
        assert self.base is not None
        message = {"id": f"m{len(self.rows)}", "role": "assistant", "model": MODEL}
        for block in blocks:
            self.row("assistant", message={**message, "content": [block]}, requestRef=self.base[0])
        self.sent.append({"role": "assistant", "content": list(blocks)})

    def bytes(self) -> bytes:
        """The file."""
        return lines(self.rows)


def text(words: str) -> Json:
    """A text block."""
    return {"type": "text", "text": words}


def call(key: str) -> Json:
    """A call."""
    return {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": f"echo {key}"}}


def result(key: str, words: str) -> Json:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": key, "content": words}


def worked(steps: int) -> Session:
    """A prompt, and so many calls with their results, each sent with a request of its own."""
    session = Session()
    session.say("go")
    for i in range(steps):
        session.ask()
        session.answer(text(f"step {i}"), call(f"c{i}"))
        session.say([result(f"c{i}", f"out {i}")])
    session.ask()
    session.answer(text("done"))
    return session
