"""`just bench-sql`: the twelve ready questions over datasets of 1, 100 and 1,000 generated sessions.

The sessions are those of `just bench-fleet`. A question is asked three times in one process, and the fastest run
counts; processor time of all threads is beside it. A line more: a whole process of `ctxkit fleet sql`. `--write` puts
the table into docs/fleet.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from ctxkit.fleet.database import Database
from ctxkit.fleet.ingest import ingest
from ctxkit.fleet.views import VIEWS
from tests.bench.__main__ import ROOT
from tests.bench.fleet import cost, generate, weight
from tests.bench.pages import machine, put
from tests.cli.runner import PYTHON

PAGE = ROOT / "docs/fleet.md"
BEGIN, END = "<!-- written by `just bench-sql --write` -->", "<!-- end of sql -->"
COUNTS = (1, 10, 100, 1_000, 10_000)
TRIES = 3


def asked(database: Database, view: str) -> str:
    """Wall clock and processor time of a question, and its rows."""
    best = (float("inf"), 0.0)
    rows = 0
    for _ in range(TRIES):
        wall, cpu = time.perf_counter(), time.process_time()
        rows = sum(batch.num_rows for batch in database.query(f"FROM {view}").batches())
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
    return f"{best[0]:.2f} s ({best[1]:.2f}), {rows:,}"


def measured(count: int, place: Path) -> dict[str, str]:
    """The column of the table for so many sessions: question -> figures."""
    size = generate(place / "logs", 0, count)
    dataset = str(place / "dataset")
    ingest([str(place / "logs")], dataset, jobs=2)
    found = {"source, dataset": f"{size / 1e6:,.1f} MB, {weight(place / 'dataset') / 1e6:,.1f} MB"}
    with Database.of_dataset(dataset) as database:
        [(messages,)] = database.query("SELECT count(*) FROM messages").rows()
        found["messages"] = f"{messages:,}"
        found |= {f"`{view}`": asked(database, view) for view in VIEWS}
    whole = cost([*PYTHON, "fleet", "sql", "--dataset", dataset, "cost_by_model"], place / "cache")
    found["a process, `cost_by_model`"] = f"{whole.wall:.2f} s ({whole.cpu:.2f}), {whole.peak:,.0f} MB"
    return found


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="how many sessions, by commas")
    parser.add_argument("--folder", help="where to work; default: a temporary folder")
    parser.add_argument("--write", action="store_true", help="put the table into docs/fleet.md")
    given = parser.parse_args()
    counts = [int(count) for count in given.counts.split(",")]
    columns = []
    for count in counts:
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            columns.append(measured(count, Path(place)))
            print(count, columns[-1], flush=True)
    lines = [f"| sessions | {' | '.join(f'{count:,}' for count in counts)} |", f"|---|{'---:|' * len(counts)}"]
    lines += [f"| {name} | {' | '.join(column[name] for column in columns)} |" for name in columns[0]]
    lines += ["", machine()]
    print("\n".join(lines))
    if given.write:
        put("\n".join(lines) + "\n", BEGIN, END, PAGE)


if __name__ == "__main__":
    main()
