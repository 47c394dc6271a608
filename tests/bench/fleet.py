"""`just bench-fleet`: datasets of 1 to 10,000 generated sessions, beside DuckDB's own reader over the raw files.

Whole processes; wall clock, processor time and peak memory. The sessions have the shape of Claude Code, and sizes as
real ones: half are below 90 KB, one in a hundred is above 1.5 MB, the mean is some 200 KB. The datasets by one process,
by two and by Ray are compared row by row. `--ray PYTHON` names one in whose environment the extra `fleet-ray` is.
agentsview and session-recall are installed from PyPI into `--peers DIR`, unless they are there, or into a temporary
folder; where that fails, their cells say so. `--write` puts the table into docs/performance.md, with a line about the
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.mapping import digest, of_ray
from tests.bench.pages import machine, put
from tests.cli.runner import PYTHON

BEGIN, END = "<!-- written by `just bench-fleet --write` -->", "<!-- end of fleet -->"
COUNTS = (1, 10, 100, 1_000, 10_000)
PEERS = ("agentsview", "session-recall")
MEDIAN, SPREAD, LARGEST = 90_000, 1.25, 8_000_000
"""Bytes of a session: the median and the largest; and the deviation of the logarithm."""
SHARE = 100
"""One of so many sessions is added at the end."""
NAMES = (
    "parse",
    "total",
    "cart",
    "user",
    "cache",
    "index",
    "token",
    "retry",
    "price",
    "order",
    "limit",
    "window",
    "path",
)
VERBS = ("reads", "counts", "checks", "drops", "splits", "keeps", "writes", "returns", "skips", "merges")


class Cost(NamedTuple):
    """What a process took: seconds by the clock and of the processor, and megabytes at most."""

    wall: float
    cpu: float
    peak: float


def bodies(chosen: random.Random) -> list[str]:
    """Texts as results have them: lines of code, and of a log."""
    found = []
    for _ in range(97):
        lines = []
        for n in range(chosen.randrange(3, 120)):
            a, b = chosen.choice(NAMES), chosen.choice(NAMES)
            lines.append(
                f"    {a}_{n} = {b}.{chosen.choice(VERBS)}({a!r}, {chosen.randrange(10_000)})"
                if n % 3
                else f"# {a} {chosen.choice(VERBS)} the {b} of line {chosen.randrange(900)}, see {a}/{b}.py"
            )
        found.append("\n".join(lines))
    return found


def session(i: int, texts: Sequence[str]) -> Iterator[bytes]:
    """The lines of session `i`: a question, calls and results, an answer, until it has its size."""
    chosen = random.Random(i)
    size = min(LARGEST, int(chosen.lognormvariate(0, SPREAD) * MEDIAN))
    day, k, before, held = f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}", 0, None, 0

    def line(kind: str, message: dict[str, object]) -> bytes:
        nonlocal k, before
        stamp = f"{day}T{10 + k // 3600 % 12:02}:{k // 60 % 60:02}:{k % 60:02}Z"
        row = {
            "type": kind, "uuid": f"{i}-{k}", "parentUuid": before, "sessionId": f"s{i}", "timestamp": stamp,
            "cwd": f"/home/ada/p{i % 17}", "version": "2.1.0", "message": message,
        }  # fmt: skip
        before, k = row["uuid"], k + 1
        return json.dumps(row).encode() + b"\n"

    def reply(text: str, *parts: dict[str, object]) -> bytes:
        usage = {
            "input_tokens": 4, "cache_read_input_tokens": held // 4, "cache_creation_input_tokens": 900,
            "output_tokens": 120,
        }  # fmt: skip
        content = [{"type": "text", "text": text}, *parts]
        head = {"id": f"msg_{i}_{k}", "type": "message", "role": "assistant", "model": "claude-x"}
        return line("assistant", {**head, "content": content, "usage": usage})

    while held < size:
        words = f"{i}.{k}: {chosen.choice(NAMES)} {chosen.choice(VERBS)} too much. Please find out why, and mend it."
        lines = [line("user", {"role": "user", "content": words})]
        for _ in range(chosen.randrange(1, 12)):
            call, path = f"toolu_{i}_{k}", f"src/{chosen.choice(NAMES)}_{chosen.randrange(40)}.py"
            edit = {"file_path": path, "old_string": "a", "new_string": "b"}
            uses = (("Read", {"file_path": path}), ("Bash", {"command": f"pytest -q {path}"}), ("Edit", edit))
            name, given = chosen.choice(uses)
            use = {"type": "tool_use", "id": call, "name": name, "input": given}
            lines.append(reply(f"I look at {path}, which {chosen.choice(VERBS)} the {chosen.choice(NAMES)}.", use))
            result = {"type": "tool_result", "tool_use_id": call, "content": f"{k} {chosen.choice(texts)}"}
            lines.append(line("user", {"role": "user", "content": [result]}))
        lines.append(reply(f"Mended: {chosen.choice(NAMES)} {chosen.choice(VERBS)} the right line now."))
        held += sum(map(len, lines))
        yield from lines


def generate(folder: Path, first: int, last: int) -> int:
    """The sessions from `first` to before `last`, a hundred to a folder; their bytes. The same in every run."""
    texts, size = bodies(random.Random(7)), 0
    for i in range(first, last):
        path = folder / f"{i // 100:04}" / f"{i}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(b"".join(session(i, texts)))
    return size


def cost(words: Sequence[str], cache: Path, **more: str) -> Cost:
    """What a process takes, with those that it starts. `more`: variables of its environment."""
    code = (
        "import resource, subprocess, sys, time; t = time.perf_counter(); "
        "c = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; t = time.perf_counter() - t; "
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(t, u.ru_utime + u.ru_stime, u.ru_maxrss / 1024); "
        "sys.exit(c)"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), **more}
    ran = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, check=True)
    return Cost(*map(float, ran.stdout.split()))


READ_JSON = """
import duckdb, sys
print(duckdb.sql(f'''select type, count(*), sum(length(message::varchar)) from read_json(
    '{sys.argv[1]}/**/*.jsonl', format='newline_delimited', maximum_object_size=100000000,
    columns={{type: 'VARCHAR', message: 'JSON'}}) group by 1''').fetchall())
"""
"""The least that a question needs of the raw files: no tokens, no context, no ops, one format."""
SQL = """
import duckdb, sys
print(duckdb.sql(f'''select role, count(*), sum(length(text)), sum(tokens)
    from read_parquet('{sys.argv[1]}/messages/**/*.parquet') group by 1''').fetchall())
"""
"""The same of a dataset."""


def weight(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def peers(folder: Path) -> dict[str, Path]:
    """The programs of others, by name: each alone below `folder`, installed if it is not there. One that cannot be had
    is told.
    """
    found = {}
    for name in PEERS:
        program = folder / name / "bin" / name
        if program.exists():
            found[name] = program
            continue
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        pip = [str(folder / name / "bin/pip"), "install", "-q", "--disable-pip-version-check", name]
        ran = subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if ran.returncode:
            print(f"{name}: not installed: {ran.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        else:
            found[name] = program
    return found


def of_peers(others: Mapping[str, Path], source: Path, place: Path) -> list[str]:
    """What agentsview takes to index the sessions, and what its database weighs; what session-recall takes to search
    them. Both find them in a home of their own.
    """
    home = place / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/projects").symlink_to(source)
    cells = ["not installed"] * len(PEERS)
    env = {"HOME": str(home), "AGENTSVIEW_NO_DAEMON": "1", "AGENTSVIEW_TELEMETRY_ENABLED": "0", "DO_NOT_TRACK": "1"}
    if "agentsview" in others:
        index = cost([str(others["agentsview"]), "sync"], place / "cache", **env)
        share = 100 * weight(home / ".agentsview") / weight(source)
        cells[0] = f"{index.wall:.2f} s ({index.cpu:.2f}), {share:.0f} %"
    if "session-recall" in others:
        words = [str(others["session-recall"]), "search-all", "the cache", "--max-sessions", "1000000"]
        search = cost(words, place / "cache", **env)
        cells[1] = f"{search.wall:.2f} s ({search.cpu:.2f})"
    return cells


def measured(count: int, place: Path, others: Mapping[str, Path], ray: str) -> list[str]:
    """The row of the table for so many sessions. `others`: programs of others, by name; `ray`: a Python with Ray, or
    "".
    """
    source, cache = place / "logs", place / "cache"
    size = generate(source, 0, count)
    ingest = [*PYTHON, "fleet", "ingest", str(source), "-q", "-o"]
    one = cost([*ingest, str(place / "one"), "--jobs", "1"], cache)
    two = cost([*ingest, str(place / "two"), "--jobs", "2"], cache)
    by_ray, equal = "", [digest(place / "one"), digest(place / "two")]
    if ray:
        words = [ray, "-m", "ctxkit", *ingest[len(PYTHON) :], str(place / "ray"), "--jobs", "2", "--engine", "ray"]
        by_ray = f"{size / 1e6 / cost(words, cache).wall:.1f} MB/s"
        equal.append(digest(place / "ray"))
    again = cost([*ingest, str(place / "two"), "--jobs", "2"], cache)
    raw = cost([sys.executable, "-c", READ_JSON, str(source)], cache)
    sql = cost([sys.executable, "-c", SQL, str(place / "two")], cache)
    held = weight(place / "two")
    beside = of_peers(others, source, place)
    more = max(1, count // SHARE)
    added = generate(source, count, count + more)
    grown = cost([*ingest, str(place / "two"), "--jobs", "2"], cache)
    mb = size / 1e6
    return [
        f"{count:,}", f"{mb:,.1f} MB", f"{mb / one.wall:.1f} MB/s ({mb / one.cpu:.1f})",
        f"{mb / two.wall:.1f} MB/s ({mb / two.cpu:.1f})", by_ray or "not measured",
        "equal" if len(set(equal)) == 1 else "OTHER", f"{two.peak:,.0f} MB", f"{100 * held / size:.0f} %",
        f"{again.wall:.1f} s ({again.cpu:.1f})", f"{grown.wall:.1f} s ({grown.cpu:.1f}), {added / 1e6:.1f} MB",
        f"{raw.wall:.2f} s ({raw.cpu:.2f})", f"{sql.wall:.2f} s ({sql.cpu:.2f})",
        *beside,
    ]  # fmt: skip


HEAD = (
    "sessions", "source", "ingest, 1 process", "ingest, 2", "ingest, Ray, 2", "their rows", "peak, a process",
    "dataset", "nothing changed", "1 % more", "`read_json`", "the same in SQL", "agentsview: index, its size",
    "session-recall: a search",
)  # fmt: skip


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="how many sessions, by commas")
    parser.add_argument("--folder", help="where to work; default: a temporary folder")
    parser.add_argument("--ray", default="", help="a python with the extra fleet-ray")
    parser.add_argument("--peers", help="where agentsview and session-recall are, or are installed and stay")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---:|' * len(HEAD)}"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as installed:
        others = peers(Path(asked.peers or installed))
        for count in map(int, asked.counts.split(",")):
            with tempfile.TemporaryDirectory(dir=asked.folder) as place:
                lines.append(f"| {' | '.join(measured(count, Path(place), others, asked.ray))} |")
                print(lines[-1], flush=True)
            about = f"{machine()} {of_ray(asked.ray)}"
            if asked.write:  # after each, since the last takes longer than all others
                put("\n".join([*lines, "", about]) + "\n", BEGIN, END)
    print(f"{machine()} {of_ray(asked.ray)}")


if __name__ == "__main__":
    main()
