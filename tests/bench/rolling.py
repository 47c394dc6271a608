"""`just bench-rolling`: a simulated agent of 10,000 turns with a rolling context, and 40 turns beside other ways.

Each turn adds its messages to a log in a file and takes a request; a stub writes the summaries. Processor time of each
turn, by tenths of the session, and the memory of the process. After each turn, untimed, the size is counted anew, and
requests for four providers are checked by validators that share no code with ctxkit: after each of the first EACH
turns, then after every EVERY-th, because that takes four times as long as a turn. `--write` puts the tables into
docs/performance.md and the plots into docs/pictures; `--peers PYTHON` names a Python that has langchain-core.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ctxkit import Log, RollingContext, build_final_prompt, enforce_context_limit, estimate_tokens
from tests.bench.compaction.plots import Line, Scale, drawn
from tests.bench.pages import PAGE, put
from tests.simulated_agent import turns
from tests.trims import RULES

BEGIN, END = "<!-- written by `just bench-rolling --write` -->\n", "<!-- end of rolling -->\n"
LIMIT, RESERVE, MODEL = 16_000, 4_000, "gpt-4o"
SHORT = 40
PARTS = 10
SMALL = 3_000
"""The limit of the 40 turns, so that they are cut."""
EACH, EVERY = 1_000, 7
"""Requests are checked after each of the first turns, then after every seventh: tasks have ten turns, so all places in
a task have their turn.
"""
NEAR = 100
"""Turns of a point in the plot."""


class Session:
    """The session as it runs: of each NEAR turns their number, messages in the log, mean and slowest time, MB."""

    def __init__(self) -> None:
        self.points: list[tuple[int, int, float, float, float]] = []

    def pictures(self) -> dict[str, str]:
        """Name -> the plot as SVG: milliseconds by turns, memory by messages."""
        turns_, logged, means, _, memory = zip(*self.points, strict=True)
        far, much = turns_[-1], logged[-1]
        ms = _scale(max(means), "ms of processor time a turn")
        mb = _scale(max(memory), "MB of the process at most")
        return {
            "rolling-turns": drawn(
                "Time of a turn, by the length of the session",
                f"means of {NEAR} turns; the context has 12,000 tokens at most",
                [Line("a turn", list(zip(turns_, means, strict=True)), strong=True)],
                Scale(far, [(far * n / 5, f"{far * n // 5:,}") for n in range(6)], "turns"), ms,
            ),
            "rolling-memory": drawn(
                "Memory, by the length of the session", "peak of the process, which also checks the requests",
                [Line("memory", list(zip(logged, memory, strict=True)), strong=True)],
                Scale(much, [(much * n / 5, f"{much * n // 5:,}") for n in range(6)], "messages in the log"), mb,
            ),
        }  # fmt: skip


def _scale(top: float, name: str) -> Scale:
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if top / step <= 6)
    ticks = [(float(n * step), f"{n * step}") for n in range(int(top / step) + 2)]
    return Scale(ticks[-1][0], ticks, name)


def told(rows: list[dict[str, Any]]) -> str:
    """The stub of a summarizer: the first 40 characters of each message, the newest last, as many as have room."""
    lines = [str(row.get("content") or "")[:40] for row in rows]
    return "\n".join(lines)[-1500:]


def long(count: int, session: Session) -> Iterator[str]:
    """The rows of the table: a session of so many turns, which is recorded in `session`."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as folder:
        path = Path(folder) / "agent.jsonl"
        context = RollingContext(LIMIT, reserve=RESERVE, model=MODEL, summarize=told, log=path)
        spent: list[float] = []
        over = checked = invalid = 0
        part = max(1, count // PARTS)
        yield "| turns | messages in the log | ms a turn | slowest | requests checked | invalid | over budget | MB |"
        yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
        for number, turn in enumerate(turns(count), start=1):
            began = time.process_time()
            for row in turn:
                context.add(row)
            if number > 1:
                context.request("openai")
                spent.append(1000 * (time.process_time() - began))
                over += estimate_tokens(context.context(), MODEL) > context.budget
                if number <= EACH or number % EVERY == 0:
                    for to, problems in RULES.items():
                        checked += 1
                        invalid += bool(list(problems(context.request(to))))  # type: ignore[arg-type, no-untyped-call]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if number % min(NEAR, part) == 0:
                near = spent[-NEAR:]
                session.points.append((number, len(context.log.messages), statistics.mean(near), max(near), memory))
            if number % part == 0:
                shown = f"{statistics.mean(spent):.1f} | {max(spent):.0f} | {checked:,} | {invalid} | {over}"
                shown = f"{len(context.log.messages):,} | {shown} | {memory:.0f}"
                yield f"| {number - part + 1:,} to {number:,} | {shown} |"
                spent = []
        assert context.context() == list(Log.open(path).export("chat").values)


def short(peers: str) -> Iterator[str]:
    """The rows of the table: 40 turns, by each way."""
    ways: dict[str, Callable[[], tuple[float, int]]] = {
        "`RollingContext`, a summary by rules": lambda: _rolling(summarize=True),
        "`RollingContext`, no summary": lambda: _rolling(summarize=False),
        "`Log.trim` after each turn, `trim.summarize`": _log,
        "`enforce_context_limit` of all messages, each turn": _functions,
        "`build_final_prompt` of all messages, each turn": _prompts,
    }
    yield f"| {SHORT} turns | s | messages at the end |"
    yield "|---|---:|---:|"
    for name, way in ways.items():
        seconds, left = way()
        yield f"| {name} | {seconds:.2f} | {left} |"
    try:
        found = subprocess.run(
            [peers, "-m", "tests.bench.rolling_peer", str(SHORT), str(SMALL - 500)], capture_output=True, text=True,
            check=True, cwd=Path(__file__).resolve().parents[2],
        )  # fmt: skip
        one = json.loads(found.stdout)
        name = f"`langchain_core` {one['version']} `trim_messages` of all messages, each turn"
        yield f"| {name} | {one['seconds']:.2f} | {one['left']} |"
    except (OSError, subprocess.CalledProcessError):
        print("langchain-core is not there: --peers PYTHON", file=sys.stderr)


def _rolling(*, summarize: bool) -> tuple[float, int]:
    context = RollingContext(SMALL, reserve=500, model=MODEL, summarize=summarize)
    began = time.process_time()
    for turn in turns(SHORT):
        for row in turn:
            context.add(row)
        found = context.context()
    return time.process_time() - began, len(found)


def _log() -> tuple[float, int]:
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as folder:
        path = Path(folder) / "agent.jsonl"
        path.write_bytes(b"")
        log = Log.open(path, format="chat")
        log.config = log.config.given({"limit": SMALL, "reserve": 500, "model": MODEL, "trim.summarize": True})
        began = time.process_time()
        for turn in turns(SHORT):
            for row in turn:
                log.add_message(row)
            log.trim()
            found = list(log.export("chat").values)
        return time.process_time() - began, len(found)


def _functions() -> tuple[float, int]:
    messages: list[dict[str, Any]] = []
    began = time.process_time()
    for turn in turns(SHORT):
        messages += turn
        found = enforce_context_limit(messages, limit=SMALL, reserve=500, model=MODEL)
    return time.process_time() - began, len(found.messages)


def _prompts() -> tuple[float, int]:
    messages: list[dict[str, Any]] = []
    began = time.process_time()
    for turn in turns(SHORT):
        messages += turn
        found = build_final_prompt(messages, to="openai", enforce=True, limit=SMALL, reserve=500, model=MODEL)
    return time.process_time() - began, len(found.messages)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="that has langchain-core")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    estimate_tokens([{"role": "user", "content": "x"}], MODEL)  # the encoding is made before anything is timed
    found = []
    for line in short(asked.peers):
        print(line, flush=True)
        found.append(line)
    found.append("")
    print()
    session = Session()
    for line in long(asked.turns, session):
        print(line, flush=True)
        found.append(line)
    load = f"Load average at the end: {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores."
    print(f"\n{load}")
    if asked.write:
        put("\n".join([*found, "", load]) + "\n", BEGIN, END)
        for name, picture in session.pictures().items():
            (PAGE.parent / f"pictures/{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
