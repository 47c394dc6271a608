"""Thinking on real sessions: any ops, all ways out, and what validators say of what is sent.

`just thinking` runs it over all real sessions with thinking; the suite takes a sample. The sessions are renamed to a
model that binds its thinking, as no real ones are at hand; and sent to one that demands it beside each call.
"""

from __future__ import annotations

import argparse
import io
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxkit import CtxkitError, Log
from ctxkit.core.messages import Call, Thinking
from tests.lawful import Command, tried
from tests.shared import SHARED
from tests.validators import item_prefixes
from tests.validators.prefixes import (
    blocks,
    broken_in_body,
    broken_in_session,
    made,
    renamed,
    rows_of,
    thoughts_of_body,
)  # fmt: skip

MODELS = ("claude-opus-5-5", "claude-fable-5-1-20260901", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-mythos-5-2")
OPENAI = ("gpt-6.2-sol", "gpt-6.2-astra-2026-11-18", "gpt-7")
WAYS = ("own", "other", "anthropic", "kept", "demanded")
"""The log's own session file, another program's, a request, a request that is to keep its thinking, and a request to a
provider that refuses calls without any.
"""
DEMANDING = ("deepseek/deepseek-v4-pro", "kimi-k2.6")
KINDS = (
    "forget", "forget", "recall", "remember", "protect", "mark", "rewind", "condense", "compact", "trim", "edit",
    "draft", "restore", "clear", "set_window", "reset_window", "undo", "redo",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A session, the ops on it, a way out; how many blocks of thinking went out, and how many behind another prefix."""

    name: str
    ops: str
    way: str
    sent: int
    broken: int


def sessions(under: int = 1 << 40) -> list[Path]:
    """The real sessions that have thinking."""
    marks = {"claude-code": b'"signature"', "pi": b'"signature"', "codex": b'"type":"reasoning"'}
    found = [(p, mark) for kind, mark in marks.items() for p in sorted((SHARED / "transcripts" / kind).glob("*.jsonl"))]
    return [path for path, mark in found if path.stat().st_size < under and mark in path.read_bytes()]


def cases(path: Path, sequences: int, seed: int = 0, n_model: int = 0) -> Iterator[Case]:
    """So many sequences of ops on a session, the first of none at all; every way out after each."""
    of_openai = path.parent.name == "codex"
    models = OPENAI if of_openai else MODELS
    raw = renamed(path.read_bytes(), models[n_model % len(models)])
    raw = item_prefixes.distinct(raw) if of_openai else raw
    known = item_prefixes.made(raw) if of_openai else made(raw)
    for n in range(sequences):
        picked = random.Random(f"{path.name} {seed} {n}")
        log = Log.open(io.BytesIO(raw), env={})
        done = []
        for _ in range(0 if n == 0 else picked.randint(1, 3)):
            count = len(log.messages)
            command = Command(
                picked.choice(KINDS), picked.randrange(count), picked.choice([0, 0, 2, count // 3]),
                label="a", hours=picked.choice([1, 5, 24]), flag=picked.random() < 0.3,
            )  # fmt: skip
            if tried(log, command) is not None:
                done.append(f"{command.name} {command.first + 1}+{command.more}")
        for way in WAYS:
            try:
                judged = (
                    _asked(log, DEMANDING[n % 2], raw)
                    if way == "demanded"
                    else (_of_openai(log, way, known) if of_openai else _judged(log, way, raw, known))
                )
                yield Case(path.name, ", ".join(done) or "none", way, *judged)
            except CtxkitError:  # nothing to send
                continue


def _judged(log: Log, way: str, raw: bytes, known: dict[str, set[str]]) -> tuple[int, int]:
    own = log.opening.format.name
    if way in ("own", "other"):
        to = own if way == "own" else ("pi" if own == "claude-code" else "claude-code")
        written = b"".join(log.session(to).pieces)
        broken, sent = broken_in_session(written, known if way == "own" else {})
        return sent, len(broken)
    body = next(iter(log.export("anthropic", **({"keep_thinking": True} if way == "kept" else {})).values))
    sent = thoughts_of_body(body)
    return len(sent), len(broken_in_body(body, raw)) if way == "kept" else len(sent)


def _of_openai(log: Log, way: str, known: dict[str, set[str]]) -> tuple[int, int]:
    if way == "own":
        items = item_prefixes.last(b"".join(log.session("codex").pieces))
    elif way == "other":
        broken, sent = broken_in_session(b"".join(log.session("pi").pieces), {})
        return sent, len(broken)
    else:
        items = next(iter(log.export("responses", keep_thinking=way == "kept").values))["input"]
    broken, sent = item_prefixes.broken(items, known)
    return sent, len(broken)


def _asked(log: Log, model: str, raw: bytes) -> tuple[int, int]:
    """How many messages of a chat completion have reasoning; how many have calls without, or words of nobody's, or say
    it as the model's words, or leave out what the log has beside a call.
    """
    told = "\n\n".join(_thoughts(raw))
    body = next(iter(log.export("openai", model=model).values))
    spoken = [message for message in body["messages"] if message["role"] == "assistant"]
    held = [message["reasoning_content"] for message in spoken if "reasoning_content" in message]
    bare = [message for message in spoken if "tool_calls" in message and "reasoning_content" not in message]
    said = {text for message in spoken for text in _texts(message["content"])}
    aloud = [words for words in said.intersection(_thoughts(raw)) if len(words) > 40]  # no short answer, said twice
    lost = [words for words in _beside_calls(log) if not any(words in one for one in held)]
    return len(held), len(bare) + sum(words not in told for words in held) + len(aloud) + len(lost)


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [one["text"] for one in content or () if "text" in one]


def _beside_calls(log: Log) -> Iterator[str]:
    """The words of thinking in messages of the context that make calls, all of which have a result."""
    for entry in log.entries():
        parts = log.full(entry).parts
        if {True} == {part.id in log.answered for part in parts if isinstance(part, Call)}:
            yield from (part.text for part in parts if isinstance(part, Thinking) and part.text.strip())


def _thoughts(raw: bytes) -> Iterator[str]:
    """The words of all thinking in a log, in order."""
    for row in rows_of(raw):
        payload = row.get("payload")
        for block in [payload] if isinstance(payload, dict) else blocks(row):
            match block:
                case {"type": "thinking", "thinking": str() as words} if words:
                    yield words
                case {"type": "reasoning", "summary": list() as listed} if listed:
                    yield "\n\n".join(one["text"] for one in listed)


def main() -> None:
    """All real sessions; prints a line per way out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="sequences of ops per session")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    runs, sent, broken, bad = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for n, path in enumerate(sessions()):
        for case in cases(path, asked.count, asked.seed, n):
            runs[case.way] += 1
            sent[case.way] += case.sent
            broken[case.way] += case.broken
            bad[case.way] += case.broken > 0
            if case.broken:
                print(f"{case.name} [{case.ops}] {case.way}: {case.broken} of {case.sent} behind another prefix")
    for way in WAYS:
        print(f"{way}: {runs[way]} exports, {sent[way]} blocks, {broken[way]} broken in {bad[way]} exports")


if __name__ == "__main__":
    main()
