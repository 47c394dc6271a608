"""`just bench-memory`: peak memory of commands that write a whole context, on large native logs and sessions of agents.

`--size 100` is quick; `--only codex` and `--command export`, which may come again, take a part; `--write` puts what was
measured into the table in docs/performance.md, where the other rows stay.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ctxkit.formats.targets import SESSIONS, TARGETS
from tests.bench import readers
from tests.bench.__main__ import CTXKIT, MB, environment_in
from tests.bench.pages import put, rows_there
from tests.bench.runs import Run, once

BEGIN, END = "<!-- written by `just bench-memory --write` -->\n", "<!-- end of memory -->\n"
HEAD = ["| command | log | MB | peak MB | s of the processor |", "|---|---|---|---|---|"]
KINDS = {"native": "chat", "claude-code": "claude-code", "codex": "codex", "pi": "pi"}
"""Logs that are made, and their formats."""
LOOKS = [("snapshot",), ("restore", "latest", "--replace"), ("show", "--json")]
COUNTS, UNCOUNTED = ("snapshot",), ", no token counted before"
"""It comes first: all later commands find the tokens of a native log counted."""
CHANGE = [("undo",), ("forget", "--last", "3", "--yes")]
"""The restore goes, and the newest messages: what is exported then is the session's own context after an op."""


def commands(kind: str) -> Iterator[tuple[str, ...]]:
    """What is run on a log, in order."""
    native = kind == "native"
    yield ("log",)
    for to in TARGETS if native else ("openai", "anthropic", *SESSIONS):
        yield "export", "--to", to
    yield from LOOKS
    if native:
        yield from (("edit", "--print"), ("snapshot", "--light"), ("compact", "--target", "30%"))


def rows(path: Path, folder: Path, parts: Sequence[str]) -> Iterator[str]:
    """A line for each command that begins with one of `parts`."""
    kind, environment = path.stem, environment_in(folder)
    length = path.stat().st_size

    def ran(words: tuple[str, ...], status: int | None = 0) -> Run:
        return once((*CTXKIT, words[0], str(path), *words[1:], "-q"), environment, status)

    def row(words: tuple[str, ...], after: str = "") -> str:
        run = ran(words)
        if kind == "native":
            os.truncate(path, length)  # each command finds the log as it was made
        return f"| `{' '.join(words)}`{after} | {kind} | {length / MB:,.0f} | {run.peak:.0f} | {run.cpu:.1f} |"

    def asked(words: tuple[str, ...]) -> bool:
        return " ".join(words).startswith(tuple(parts))

    if kind == "native" and asked(COUNTS):
        yield row(COUNTS, UNCOUNTED)
    for words in commands(kind):
        if asked(words):
            yield row(words)
    if kind in SESSIONS and asked(("export", "--to", kind)):
        for words in CHANGE:
            ran(words, None)
        yield row(("export", "--to", kind), ", after a forget")
    shutil.rmtree(f"{path}.ctxkit", ignore_errors=True)


def main() -> None:
    """Measure, print, and with --write put the rows into the page."""
    parser = argparse.ArgumentParser(prog="just bench-memory", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="of each log (default 1000)")
    parser.add_argument("--only", choices=KINDS, help="one kind of log")
    parser.add_argument("--command", action="append", metavar="WORDS", help="commands that begin so; more than once")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/performance.md")
    asked = parser.parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        for kind in [asked.only] if asked.only else KINDS:
            path = Path(name) / f"{kind}.jsonl"
            readers.write(KINDS[kind], path, asked.size * MB)
            for row in rows(path, Path(name), asked.command or [""]):
                sys.stdout.write(row + "\n")
                sys.stdout.flush()
                found.append(row)
            os.unlink(path)
    if asked.write:
        write(found)


def write(found: list[str]) -> None:
    """The rows into the page: in place of those of the same command, log and size, else at the end."""
    there = rows_there(BEGIN, END, 3)
    there = {key: row for key, row in there.items() if row.startswith("| `")}
    there.update({tuple(cell.strip() for cell in row.split("|")[1:4]): row for row in found})
    put("\n".join([*HEAD, *there.values()]) + "\n", BEGIN, END)


if __name__ == "__main__":
    main()
