"""Thinking of models that bind it, on real sessions: any ops, all ways out, and what a validator of prefixes says.

`just thinking` runs it over all real sessions with thinking; the suite takes a sample. The sessions are renamed to a
model that binds its thinking, as no real ones are at hand.
"""

from __future__ import annotations

import argparse
import io
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ctxkit import CtxkitError, Log
from tests.lawful import Command, tried
from tests.shared import SHARED
from tests.validators.prefixes import broken_in_body, broken_in_session, made, renamed, thoughts_of_body

MODELS = ("claude-opus-5-5", "claude-fable-5-1-20260901", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-mythos-5-2")
WAYS = ("own", "other", "anthropic", "kept")
"""The log's own session file, another program's, a request, and a request that is to keep its thinking."""
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
    found = [p for kind in ("claude-code", "pi") for p in sorted((SHARED / "transcripts" / kind).glob("*.jsonl"))]
    return [path for path in found if path.stat().st_size < under and b'"signature"' in path.read_bytes()]


def cases(path: Path, sequences: int, seed: int = 0, model: str = MODELS[0]) -> Iterator[Case]:
    """So many sequences of ops on a session, the first of none at all; every way out after each."""
    raw = renamed(path.read_bytes(), model)
    known = made(raw)
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
                yield Case(path.name, ", ".join(done) or "none", way, *_judged(log, way, raw, known))
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


def main() -> None:
    """All real sessions; prints a line per way out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="sequences of ops per session")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    runs, sent, broken, bad = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for n, path in enumerate(sessions()):
        for case in cases(path, asked.count, asked.seed, MODELS[n % len(MODELS)]):
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
