"""`just bench-watch`: how soon a watcher tells of an append, and whether it stays as it was after a day.

Three parts, each with a real watcher and a real writer. *Live*: 300 messages in 20 s to a native log and to one of
Claude Code under `watch --compact --checkpoint`. *Size*: appends to logs of 1 and of 100 MB. *A day*: 100,000 appends
to 200 logs in minutes, some of these replaced and truncated meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ctxkit.api.log import Log
from tests.bench import logs
from tests.bench import session as sessions
from tests.bench.__main__ import CTXKIT, MB, environment_in
from tests.bench.pages import put
from tests.watch.running import Claude, answer, append, calling, log_of, result, user

BEGIN, END = "<!-- written by `just bench-watch --write` -->\n", "<!-- end of watch -->\n"
WORDS = [
    "the",
    "session",
    "reads",
    "a",
    "token",
    "from",
    "a",
    "request",
    "and",
    "compares",
    "its",
    "age",
    "with",
    "what",
    "stands",
    "in",
    "the",
    "table",
    "of",
    "keys",
]
NOTICED = 60.0
"""Seconds for the watcher to come to rest."""


class Watched:
    """A watcher as a process, with the time at which each of its events was read."""

    def __init__(self, environment: dict[str, str], *args: str | Path) -> None:
        self.events: list[tuple[float, dict[str, Any]]] = []
        words = [*CTXKIT, "watch", "--json", *map(str, args)]
        self.run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.run.stdout is not None
        for line in self.run.stdout:
            self.events.append((time.time(), json.loads(line)))

    def named(self, kind: str) -> list[tuple[float, dict[str, Any]]]:
        """The events of that name so far."""
        return [one for one in self.events if one[1]["event"] == kind]

    def settled(self, quiet: float = 3.0) -> None:
        """Wait until nothing was told for so many seconds."""
        end = time.monotonic() + NOTICED
        while time.monotonic() < end and (not self.events or self.compacts or time.time() - self.events[-1][0] < quiet):
            time.sleep(0.2)

    @property
    def compacts(self) -> bool:
        """Whether a compaction is under way."""
        ends = ("compaction.done", "compaction.failed", "compaction.skipped")
        return len(self.named("compaction.started")) > sum(len(self.named(kind)) for kind in ends)

    @property
    def cpu(self) -> float:
        """Seconds of the processor so far."""
        fields = Path(f"/proc/{self.run.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """Megabytes that it has in memory."""
        status = Path(f"/proc/{self.run.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def descriptors(self) -> int:
        """Open files."""
        return len(os.listdir(f"/proc/{self.run.pid}/fd"))

    def delays(self) -> list[float]:
        """Milliseconds from each write to the moment at which its event was read here."""
        found = []
        for read, event in self.named("status.changed"):
            if event["lag"] is not None:
                noticed = datetime.fromisoformat(event["time"]).timestamp()
                found.append(1000 * (event["lag"] + max(0.0, read - noticed)))
        return found

    def end(self) -> None:
        """End it."""
        self.run.terminate()
        self.run.wait()


def text(chosen: random.Random, count: int) -> str:
    """So many words."""
    return " ".join(chosen.choices(WORDS, k=count))


def live(folder: Path, environment: dict[str, str], messages: int, seconds: float) -> Iterator[str]:
    """The first part; a line a figure."""
    chosen, claude = random.Random(1), Claude(str(folder))
    native = log_of(folder / "chat.jsonl", user("hello"), answer("hi"))
    foreign = folder / "5e55e551-0000-4000-8000-000000000001.jsonl"
    log_of(foreign, claude.user("hello"), claude.says("hi", used=400))
    (folder / "ctxkit.toml").write_text('limit = 15000\ncompact.cooldown = "5s"\n')
    watched = Watched(environment, "--compact", "--checkpoint", native, foreign)
    watched.settled(1.0)
    begun, sent, used = time.monotonic(), 2, 400
    for i in range(messages // 4):
        what, said = text(chosen, 60), text(chosen, 160)
        used += 330
        rows = (
            (user(f"{i} {what}"), claude.user(f"{i} {what}")),
            (
                calling(f"c{i}", "Write", path=f"f{i}.py"),
                claude.calls(f"t{i}", "Write", used=used, file_path=f"f{i}.py"),
            ),
            (result(f"c{i}", "written"), claude.result(f"t{i}", "File created successfully")),
            (answer(said), claude.says(said, used=used + 100)),
        )
        for own, other in rows:
            append(native, own)
            append(foreign, other)
            sent += 1
            time.sleep(max(0.0, begun + (sent - 2) * seconds / messages - time.monotonic()))
    watched.settled()
    took = sorted(event["seconds"] for _, event in watched.named("checkpoint.made"))
    delays = sorted(watched.delays())
    yield f"| updates of {2 * (sent - 2)} appends in {seconds:g} s: p50, p99, most | {spread(delays)} ms |"
    yield f"| checkpoints of {2 * (messages // 4)} exchanges | {len(took)}, p50, p99, most: {spread(took, 2)} s |"
    for path in (native, foreign):
        log = Log.open(path)
        made = [e["after"] / e["before"] for _, e in watched.named("compaction.done") if e["log"] == str(path)]
        kinds = "native log" if path == native else "Claude Code"
        lost = sent - len(log.messages)
        shares = ", ".join(f"to {100 * one:.0f} %" for one in made)
        yield f"| {kinds}: messages lost; compactions | {lost}; {len(made)} ({shares}) |"
    others = [e for _, e in watched.events if e["event"] in ("compaction.failed", "updated.elsewhere", "log.replaced")]
    yield f"| failed compactions, ops taken for others' | {len(others)} |"
    watched.end()


def sizes(folder: Path, environment: dict[str, str], appends: int) -> Iterator[str]:
    """The second part: what an append costs, beside the size of the log."""
    for kind, make, row in (
        ("native log", logs.native, user("more words")),
        ("Claude Code", sessions.claude_code, None),
    ):
        for size in (1, 100):
            path = folder / f"{size}.jsonl"
            make(path, size * MB)
            last = json.loads(path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]).get("uuid")
            watched, claude = Watched(environment, path), Claude()
            while not watched.events:
                time.sleep(0.1)
            watched.settled(2.0)
            before = watched.cpu
            for i in range(appends):
                own = row or {**claude.user(f"more words {i}"), "uuid": f"w{i}", "parentUuid": last}
                append(path, own)
                last = f"w{i}"
                time.sleep(0.1)
            cost = 1000 * (watched.cpu - before) / appends
            memory, delays = watched.memory, sorted(watched.delays())
            yield f"| {kind} of {size} MB: an append; update p50, p99, most; memory | {cost:.1f} ms of processor; " + (
                f"{spread(delays)} ms; {memory:.0f} MB |"
            )
            watched.end()
            path.unlink()


def day(folder: Path, environment: dict[str, str], appends: int, count: int, rate: float) -> Iterator[str]:
    """The third part: memory, descriptors and processor at its start and at its end."""
    chosen = random.Random(2)
    paths = [log_of(folder / f"{i}.jsonl", user("hello"), answer("hi")) for i in range(count)]
    watched = Watched(environment, *paths)
    while len({event["log"] for _, event in watched.named("status.changed")}) < count:
        time.sleep(0.2)
    watched.settled(2.0)
    tenth, changed = appends // 10, {"replaced": 0, "truncated": 0}
    begun, figures, before = time.monotonic(), list[tuple[float, float, int]](), watched.cpu
    for i in range(appends):
        path = chosen.choice(paths)
        append(path, (user if i % 2 else answer)(text(chosen, 20)))
        if i % 1000 == 500:
            new = log_of(folder / "new", user("again"))
            os.replace(new, chosen.choice(paths))
            changed["replaced"] += 1
        elif i % 1000 == 999:
            path = chosen.choice(paths)
            os.truncate(path, path.read_bytes().find(b"\n") + 1)
            changed["truncated"] += 1
        if i % tenth == tenth - 1:
            now = watched.cpu
            figures.append((1000 * (now - before) / tenth, watched.memory, watched.descriptors))
            before = now
        time.sleep(max(0.0, begun + i / rate - time.monotonic()))
    took = time.monotonic() - begun
    watched.settled(25.0)  # until the processor's share for whole looks is saved up again
    first, last = figures[0], figures[-1]
    yield f"| {appends:,} appends to {count} logs in {took:.0f} s ({changed['replaced']} replaced, " + (
        f"{changed['truncated']} truncated) | the first tenth → the last tenth |"
    )
    yield f"| processor for an append | {first[0]:.2f} → {last[0]:.2f} ms |"
    yield f"| memory | {first[1]:.0f} → {last[1]:.0f} MB |"
    yield f"| descriptors | {first[2]} → {last[2]} |"
    told = {how: sum(e["how"] == how for _, e in watched.named("log.replaced")) for how in (*changed, "rewritten")}
    yield f"| told of | {', '.join(f'{n} {how}' for how, n in told.items())} |"
    right = 0
    newest = {event["log"]: event for _, event in watched.named("status.changed")}
    for path in paths:
        found = Log.open(path).status()
        event = newest[str(path)]
        right += (event["used"], event["messages"]) == (found.tokens.used, found.inside)
    yield f"| logs whose last figures are those of `status` | {right} of {count} |"
    watched.end()


def spread(values: list[float], places: int = 0) -> str:
    """The median, the 99th percentile and the largest."""
    if not values:
        return "none"
    found = values[len(values) // 2], values[min(len(values) - 1, int(0.99 * len(values)))], values[-1]
    return ", ".join(f"{one:.{places}f}" for one in found)


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-watch", description=__doc__)
    parser.add_argument("--part", choices=("live", "size", "day"), help="one part alone")
    parser.add_argument("--appends", type=int, default=100_000, metavar="N", help="of the day (default 100,000)")
    parser.add_argument("--logs", type=int, default=200, metavar="N", help="of the day (default 200)")
    parser.add_argument("--rate", type=float, default=400, metavar="N", help="appends a second (default 400)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    table = ["| what | |", "|---|---|"]
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        folder = Path(name)
        environment = environment_in(folder)
        for part in ("live", "size", "day"):
            if asked.part in (None, part):
                own = folder / part
                own.mkdir()
                made = {
                    "live": lambda own=own: live(own, environment, 300, 20.0),
                    "size": lambda own=own: sizes(own, environment, 100),
                    "day": lambda own=own: day(own, environment, asked.appends, asked.logs, asked.rate),
                }[part]()
                for line in made:
                    print(line, flush=True)
                    table.append(line)
    if asked.write:
        put("\n".join(table) + "\n", BEGIN, END)


if __name__ == "__main__":
    main()
