"""What a target leaves: the law that `compact --target` is monotone and continuous, over files and targets.

`python -m tests.targets` takes every real file at every target from 1 to 99 % and prints the worst (just targets); the
suite takes a few. The judge shares no code with the compactor: it carries out the op by itself on the messages as they
were, and counts what comes of it by tiktoken in a plain loop.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from ctxkit.core.messages import Call, Content, Result, Text, Thinking
from ctxkit.core.ops import Compact
from ctxkit.cut.compact_plan import CompactGoal, plan_compact, whole
from ctxkit.errors import NothingChanges
from tests.compacts import CONVERSATIONS, Case, cases
from tests.trims import MODEL, counted

FIRST = 2000
"""Tokens of the first message that stay in any case."""
NEAR = 0.02
"""Of what may be replaced: how far what is left may be from what was asked for."""
FROM = 8
"""Percent: from here on it is as near as that, where what is protected leaves room."""
ROOM = 0.005
"""Of what may be replaced: what must be left of the goal, so that there is room for a summary."""
GRAIN = 40
"""Tokens: a small summary is no nearer than a line or two."""


class Left(NamedTuple):
    """What a target left: `goal` and `after` in tokens of all messages; `room`: whether the protected leave some."""

    target: int
    goal: float
    after: int
    room: bool


class Seen(NamedTuple):
    """A sweep of one file: tokens of its messages, of those that may be replaced, and what each target left."""

    before: int
    loose: int
    left: list[Left]

    def rises(self) -> list[tuple[Left, Left]]:
        """Pairs of targets of which the smaller leaves more."""
        return [(one, more) for one, more in zip(self.left, self.left[1:], strict=False) if one.after > more.after]

    def far(self) -> list[tuple[float, Left]]:
        """How many points off those are that should be near, the worst first."""
        off = [(abs(one.after - one.goal), one) for one in self.left if one.target >= FROM and one.room]
        allowed = max(NEAR * self.loose, GRAIN)
        return sorted(((100 * by / max(self.loose, 1), one) for by, one in off if by > allowed), reverse=True)

    def worst(self) -> float:
        """Points that what is left is off at most, where it should be near."""
        off = [abs(one.after - one.goal) for one in self.left if one.target >= FROM and one.room]
        return 100 * max(off, default=0) / max(self.loose, 1)


class Judge:
    """Counts contexts of one log after a compact, from the op alone."""

    def __init__(self, log: Log) -> None:
        self.contents = {name: log.full(one) for name, one in zip(log.names(), log.entries(), strict=True)}
        self.model = log.model
        self.tokens = {name: counted([content], log.model) for name, content in self.contents.items()}
        self.before = sum(self.tokens.values())
        found = plan_compact(log, whole(log), CompactGoal(percent=50, strategy="mask"))
        kept = {name: size for unit in found.units if unit.stays for name in unit.names if (size := self.tokens[name])}
        first = {name for unit in found.units if getattr(unit, "shrinks", False) for name in unit.names}
        self.fixed = sum(min(size, FIRST) if name in first else size for name, size in kept.items())
        """Tokens that no compact takes."""

    def after(self, op: Compact) -> int:
        """Tokens of the messages that are left."""
        gone = set(_numbers(op.ids))
        stubs = {int(name): stub for name, stub in op.stubs.items()}
        tokens = sum(size for name, size in self.tokens.items() if name not in gone and name not in stubs)
        tokens += counted([_shortened(self.contents[name], stub) for name, stub in stubs.items()], self.model)
        return tokens + (counted([Content("user", [Text(op.text)])], self.model) if op.text is not None else 0)


def _numbers(ids: str) -> Iterator[int]:
    for run in filter(None, ids.split(",")):
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _shortened(content: Content, stub: Any) -> Content:
    """The message as the stub has it: a text for all its words, or parts for its calls and results."""
    if isinstance(stub, str):
        results = [part for part in content.parts if isinstance(part, Result)]
        calls = [part for part in content.parts if isinstance(part, Call)]
        told = [Result(part.id, stub, part.is_error) for part in results] or [Text(stub), *calls]
        return Content(content.role, told)
    said = {one.get("tool_use_id", one.get("id")): one for one in stub if one["type"] in ("tool_result", "tool_use")}
    if not said:
        calls = [part for part in content.parts if isinstance(part, Call)]
        told = [Thinking(one["text"], one) if one["type"] == "reasoning" else Text(one["text"]) for one in stub]
        return Content(content.role, [*told, *calls])
    parts = []
    for part in content.parts:
        one = said.get(part.id) if isinstance(part, Result | Call) else None
        if one is not None and isinstance(part, Result):
            parts.append(Result(part.id, one["content"], part.is_error))
        elif one is not None and isinstance(part, Call):
            parts.append(Call(part.id, part.name, one["input"]))
        else:
            parts.append(part)
    return Content(content.role, parts)


def opened(case: Case) -> Log:
    """The log, in a model's tokens that can be counted exactly."""
    log = Log.open(
        io.BytesIO(case.path.read_bytes()), conversation=case.conversation, env={"CTXKIT_MODEL": MODEL},
        clock=lambda: 1_780_000_000.0,
    )  # fmt: skip
    log.dry_run = True
    return log


def sweep(log: Log, targets: Sequence[int], **asked: Any) -> Seen:
    """What each target leaves of a log, by the judge."""
    judge = Judge(log)
    loose = judge.before - judge.fixed
    left = []
    for target in targets:
        try:
            op = log.compact(target=target, **asked)
        except NothingChanges:
            op = None
        after = judge.before if op is None else judge.after(op)
        goal = target * judge.before / 100
        left.append(Left(target, goal, after, goal - judge.fixed >= ROOM * loose + GRAIN))
    return Seen(judge.before, loose, left)


def made(*rows: dict[str, Any]) -> Log:
    """A log of these messages, in tokens that can be counted exactly."""
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    log = Log.open(io.BytesIO(raw), env={"CTXKIT_MODEL": MODEL}, clock=lambda: 1_780_000_000.0)
    log.dry_run = True
    return log


WORDS = [
    "port",
    "table",
    "reads",
    "cart",
    "total",
    "price",
    "cents",
    "order",
    "queue",
    "worker",
    "retry",
    "build",
    "lint",
    "test",
    "merge",
    "branch",
    "config",
]


def text(tokens: int, seed: int = 0, line: int = 12) -> str:
    """A text of so many words, in lines that differ."""
    words = [f"{WORDS[(n * 7 + seed + n // 5) % len(WORDS)]}" for n in range(tokens)]
    lines = [words[at : at + line] for at in range(0, tokens, line)]
    return "\n".join(f"{' '.join(one)} {seed}.{at}" for at, one in enumerate(lines))


def read(n: int, tokens: int) -> list[dict[str, Any]]:
    call = {
        "id": f"c{n}",
        "type": "function",
        "function": {"name": "Read", "arguments": json.dumps({"path": f"f{n}.py"})},
    }
    return [
        {"role": "assistant", "content": f"I read f{n}.py.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": text(tokens, n)},
    ]  # fmt: skip


def _thinks(thought: int, tokens: int, seed: int = 0) -> dict[str, Any]:
    return says(tokens, seed) | {"reasoning_content": text(thought, seed + 7)}


def _thought(n: int, thought: int, tokens: int) -> list[dict[str, Any]]:
    call, result = read(n, tokens)
    return [call | {"reasoning_content": text(thought, n + 7)}, result]


def user(tokens: int, seed: int = 0) -> dict[str, Any]:
    return {"role": "user", "content": text(tokens, seed)}


def says(tokens: int, seed: int = 0) -> dict[str, Any]:
    return {"role": "assistant", "content": text(tokens, seed)}


def talk(many: int, tokens: int = 300) -> list[dict[str, Any]]:
    return [says(tokens, n) if n % 2 else user(tokens, n) for n in range(2, many + 2)]


def _once(tokens: int) -> dict[str, Any]:
    """One line, a blob without words."""
    return {"role": "user", "content": "".join(f"{n * 7919:x}" for n in range(tokens // 3))}


FINDINGS: dict[str, Callable[[], Log]] = {
    "first 1.5K, 8 reads of 5K, newest 8K": lambda: made(
        user(1300), *(row for n in range(8) for row in read(n, 3600)), *read(9, 5700)
    ),
    "the same, a user's newest": lambda: made(
        user(1300), *(row for n in range(8) for row in read(n, 3600)), user(5700, 9)
    ),
    "giant first": lambda: made(user(15_000), *talk(12)),
    "giant last, a user's": lambda: made(*talk(12), user(15_000)),
    "giant last, an answer": lambda: made(*talk(12), says(15_000)),
    "giant last, behind another that a user typed": lambda: made(user(50), says(1500), user(1500, 4), user(20_000, 9)),
    "giant only": lambda: made(user(15_000)),
    "two short messages": lambda: made(user(40), says(300), says(250, 1)),
    "four short messages": lambda: made(user(60), says(30), says(900, 1), says(600, 2)),
    "giant only, one line": lambda: made(_once(15_000)),
    "thinking of a chat API": lambda: made(
        user(40), _thinks(300, 60), user(30, 2), _thinks(500, 80, 3), user(20, 4), _thinks(200, 150, 5)
    ),
    "thinking beside calls": lambda: made(
        user(40), *_thought(1, 200, 100), _thinks(150, 50, 2), user(30, 3), *_thought(4, 350, 60), _thinks(90, 70, 5)
    ),
    "giant first of two": lambda: made(user(15_000), says(200, 3)),
    "giant result in between": lambda: made(*talk(6), *read(3, 15_000), *talk(6)),
    "a result of one line, many times": lambda: made(
        *talk(6), *read(3, 100)[:1], {"role": "tool", "tool_call_id": "c3", "content": "again and again\n" * 6_000},
        *talk(6),
    ),
    "giant newest result": lambda: made(*talk(8), *read(3, 15_000)),
    "giant arguments": lambda: made(
        *talk(8),
        {"role": "assistant", "content": "I write it.", "tool_calls": [{"id": "w", "type": "function", "function": {
            "name": "Write", "arguments": json.dumps({"path": "a.py", "content": text(12_000, 4)})}}]},
        {"role": "tool", "tool_call_id": "w", "content": "ok"}, *talk(4),
    ),
}  # fmt: skip
"""What was found by hand, and its nearest brothers."""


def giant(place: int, lines: bool, short: int) -> Log:
    """Six messages: the one at `place` has 6,000 words in many lines or in one, the others have `short` words."""
    rows = [says(short, n) if n % 2 else user(short, n) for n in range(6)]
    rows[place]["content"] = text(6000, 9, 12 if lines else 6000)
    return made(*rows)


def said(name: str, seen: Seen) -> str:
    """One line: the worst of a sweep."""
    rises = ", ".join(f"{a.target} % {a.after:,} > {b.target} % {b.after:,}" for a, b in seen.rises()[:3])
    far = ", ".join(f"{one.target} %: {one.after:,} of {one.goal:,.0f}" for _, one in seen.far()[:2])
    return (
        f"{name}: {seen.before:,} tokens, {seen.loose:,} loose; worst {seen.worst():.1f} points; "
        f"{len(seen.rises())} rises {rises}; {len(seen.far())} far {far}"
    )


def main() -> int:
    """Run and print; 1 where the law was broken."""
    parser = argparse.ArgumentParser(prog="just targets", description=__doc__)
    parser.add_argument("--only", default="", help="files with this in their name")
    parser.add_argument("--step", type=int, default=1, help="every so many percent from 12 %% on")
    parser.add_argument("--target", action="append", type=int, help="only this one, in percent; can be repeated")
    parser.add_argument("--largest", type=int, default=1 << 30, help="bytes of a file")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help="of a file that holds many")
    parser.add_argument("--findings", action="store_true", help="only what was found by hand")
    parser.add_argument("--json", type=Path, help="what each target left, for other looks at it")
    asked = parser.parse_args()
    targets = asked.target or sorted({*range(1, 13), *range(12, 100, asked.step), 99})
    start, broken, all_, worst, rises, kept = time.monotonic(), 0, 0, 0.0, 0, {}
    some: list[tuple[str, Callable[[], Log]]] = [*FINDINGS.items()]
    if not asked.findings:
        some += [(case.name, lambda case=case: opened(case)) for case in cases((), asked.largest, asked.conversations)]
    for name, log in some:
        if asked.only not in name:
            continue
        try:
            seen = sweep(log(), targets)
        except Exception as error:  # whatever goes wrong in ctxkit is told, and the next file is taken
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            broken += 1
            continue
        all_ += 1
        bad = bool(seen.rises() or seen.far())
        broken, worst, rises = broken + bad, max(worst, seen.worst()), rises + len(seen.rises())
        kept[name] = seen
        print(f"{'BROKEN ' * bad}{said(name, seen)}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(kept))
    print(f"{all_} files at {len(targets)} targets: {broken} broken, worst {worst:.1f} points, {rises} rises; "
          f"{time.monotonic() - start:.0f} s")  # fmt: skip
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
