"""`just bench-many`: thousands of compacts, and as many undos in any order, in a log of four messages to each.

What a replay takes, and what looks at every op (`log --tokens`, `status --plot`), in processor time of this process;
the ratio beside each is to half as many ops: 2 is linear. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from ctxkit import Log
from ctxkit.core.replay import fold
from ctxkit.measure.per_op import OpSizes
from ctxkit.measure.timeline import plotted
from tests.bench.pages import put

BEGIN, END = "<!-- written by `just bench-many --write` -->\n", "<!-- end of many -->\n"
COUNTS = (1_250, 2_500, 5_000)
KINDS = {
    "apart": "of four messages each, then the undos",
    "mixed": "of 1 to 12 messages, the undos among them",
    "growing": "each holds all before it, then the undos",
    "nested": "each holds all before it, the undos among them",
    "again": "of four messages each, then a forget in each, which tells it again",
    "recalled": "of four messages each, then a recall in each",
}
LOOKS: dict[str, Callable[[Log], object]] = {
    "replay": lambda log: fold(log.transcript, log.ledger),
    "log --tokens": lambda log: list(OpSizes(log)),
    "status --plot": plotted,
}


def made(kind: str, count: int) -> bytes:
    """The log."""
    chosen, messages = random.Random(count), 4 * count + 10
    ops: list[dict[str, Any]] = []
    live: list[int] = []

    def compact(place: int) -> None:
        low = 2 if kind in ("growing", "nested") else 4 * place + 2
        more = chosen.randrange(12) if kind == "mixed" else 4 * place + 5 - low
        live.append(len(ops))
        ops.append({"ctxkit": "compact", "ids": f"{low}-{low + more}", "text": f"what came of {place}"})

    def undo() -> None:
        if live:
            ops.append({"ctxkit": "undo", "op": f"o{live.pop(chosen.randrange(len(live)))}"})

    if kind in ("mixed", "nested"):
        steps = [True, False] * count
        chosen.shuffle(steps)
        for place, step in enumerate(steps):
            compact(place // 2) if step else undo()
    else:
        for place in range(count):
            compact(place)
        for place in range(count):
            if kind == "again":
                told = [{"op": f"o{place}", "text": f"what came of {place}, but for one"}]
                ops.append({"ctxkit": "forget", "ids": str(4 * place + 3), "summaries": told})
            elif kind == "recalled":
                ops.append({"ctxkit": "recall", "ids": str(4 * place + 3)})
            else:
                undo()
    rows: list[dict[str, Any]] = [
        {"role": "assistant" if n % 2 else "user", "content": f"message {n} says {n * 7}"} for n in range(messages)
    ]
    rows += [{"v": 1, "id": f"o{k}", "at": {"messages": messages}, **op} for k, op in enumerate(ops)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def took(look: Callable[[Log], object], raw: bytes) -> float:
    """Processor seconds, the log read before."""
    log = Log.open(io.BytesIO(raw), env={})
    log.state()
    start = time.process_time()
    look(log)
    return time.process_time() - start


def table(times: int) -> Iterator[str]:
    """A line for each kind and look, a column for each number of ops."""
    yield f"| compacts, and as many ops more; {times} runs | | " + " | ".join(f"{n:,}" for n in COUNTS) + " |"
    yield "|---" * (len(COUNTS) + 2) + "|"
    for kind, said in KINDS.items():
        logs = [made(kind, count) for count in COUNTS]
        for name, look in LOOKS.items():
            found = [[took(look, raw) for raw in logs] for _ in range(times)]
            cells = []
            for at in range(len(COUNTS)):
                ratio = statistics.median(turn[at] / turn[at - 1] for turn in found) if at else 0
                cells.append(f"{statistics.median(turn[at] for turn in found):.2g} s" + f", × {ratio:.1f}" * bool(at))
            yield f"| {said} | `{name}` | " + " | ".join(cells) + " |"
            said = ""


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-many", description=__doc__)
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each (default 3)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    text = "\n".join(table(asked.times)) + "\n"
    print(text)
    if asked.write:
        put(text, BEGIN, END)


if __name__ == "__main__":
    main()
