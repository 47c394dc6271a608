"""`just fleet-demo`: 1,000 generated sessions of six formats, ingested, asked ten questions, and drawn.

A minute or two. Everything is in the folder that is printed first: the sessions, the dataset, `fleet.svg`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tests.bench.transcripts import fill

SESSIONS, MEAN = 1_000, 30_000
QUESTIONS = {
    "Which formats, and how much of each?": "select source_type, count(*) as sessions, sum(message_count) as messages, "
    "sum(ctxkit_tokens) as tokens from transcripts group by 1 order by sessions desc, 1",
    "What could not be read?": "select source_id, error from transcripts where error is not null",
    "Where do the tokens go?": "select kind, count(*) as messages, sum(tokens) as tokens, "
    "count(*) filter (not in_context) as out from messages group by 1 order by tokens desc, 1",
    "Which tools are used most?": "from tools_by_use limit 8",
    "Which results are largest?": "select * from largest_results limit 5",
    "Which files are edited most?": "select * from files_edited limit 5",
    "How often was the context compacted?": "select * from compactions limit 5",
    "What does each model cost?": "from cost_by_model",
    "Which sessions ended in the middle?": "select count(*) as sessions from abnormal_ends",
    "Which files are read again and again?": "select * from repeated_reads limit 5",
}
"""A question -> the query."""
DRAWN = (
    "select source_type as name, sum(tokens) filter (in_context) as inside, sum(tokens) filter (not in_context) as out "
    "from messages join transcripts using (transcript_id) group by 1 order by inside desc, 1"
)
WIDTH, ROW, LEFT = 760, 34, 130
"""Of the picture, of a bar, and of the names, in pixels."""


def ctxkit(*words: str, kept: bool = False) -> str:
    """Run a command. What it prints is returned if it is `kept`; else it goes where it belongs, in its order."""
    output = subprocess.PIPE if kept else None
    made = subprocess.run([sys.executable, "-m", "ctxkit", *words], stdout=output, check=False, text=True)
    if made.returncode not in (0, 1):
        sys.exit(made.returncode)
    return made.stdout or ""


def drawn(rows: Sequence[dict[str, Any]]) -> str:
    """Bars of the tokens of each format, in the context and out of it, as SVG."""
    most = max((row["inside"] or 0) + (row["out"] or 0) for row in rows) or 1
    rows = sorted(rows, key=lambda row: (-(row["inside"] or 0) - (row["out"] or 0), row["name"]))
    height = 60 + ROW * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.back{fill:#fff}.in{fill:#0969da}.out{fill:#d1d9e0}"
        "@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.back{fill:#0d1117}.out{fill:#3d444d}}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        '<text x="16" y="28" style="font-weight:600">Tokens by format</text>',
        f'<rect class="in" x="{LEFT + 60}" y="18" width="12" height="12"/>',
        f'<text x="{LEFT + 78}" y="28">in the context</text>',
        f'<rect class="out" x="{LEFT + 190}" y="18" width="12" height="12"/>',
        f'<text x="{LEFT + 208}" y="28">out of it</text>',
    ]
    for i, row in enumerate(rows):
        y, inside, out = 48 + i * ROW, row["inside"] or 0, row["out"] or 0
        first, second = ((WIDTH - LEFT - 150) * part / most for part in (inside, out))
        lines += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(str(row["name"]))}</text>',
            f'<rect class="in" x="{LEFT}" y="{y}" width="{first:.1f}" height="20"/>',
            f'<rect class="out" x="{LEFT + first:.1f}" y="{y}" width="{second:.1f}" height="20"/>',
            f'<text x="{LEFT + first + second + 8:.1f}" y="{y + 15}">{inside + out:,}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Make, ingest, ask, draw."""
    parser = argparse.ArgumentParser(prog="just fleet-demo")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--folder", help="where everything goes (default: a new temporary folder)")
    asked = parser.parse_args()
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="fleet-demo-"))
    logs, dataset, began = folder / "logs", str(folder / "dataset"), time.perf_counter()
    print(folder)

    def since() -> str:
        return f"{time.perf_counter() - began:.0f} s"

    size = fill(logs, asked.sessions, MEAN)
    print(f"\n{asked.sessions:,} sessions, {size / 1e6:,.0f} MB ({since()})", flush=True)
    ctxkit("fleet", "ingest", str(logs), "-o", dataset)
    held = sum(one.stat().st_size for one in Path(dataset).rglob("*") if one.is_file())
    print(f"dataset: {held / 1e6:,.0f} MB ({since()})", flush=True)
    for question, query in QUESTIONS.items():
        print(f"\n{question}\n", flush=True)
        ctxkit("fleet", "sql", "--dataset", dataset, query, "--table")
    drawn_from = ctxkit("fleet", "sql", "--dataset", dataset, DRAWN, "--json", kept=True)
    rows = [json.loads(line) for line in drawn_from.splitlines()]
    picture = folder / "fleet.svg"
    picture.write_text(drawn([row for row in rows if row["name"]]), encoding="utf-8")
    print(f"\n{picture} ({since()})")


if __name__ == "__main__":
    main()
