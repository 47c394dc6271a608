"""`just bench-memory`: peak memory of commands that write a whole context, on large native and Claude Code logs.

`--size 100` is quick; `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import logs
from tests.bench import session as sessions
from tests.bench.__main__ import CTXKIT, MB, PAGE, environment_in
from tests.bench.runs import once

BEGIN, END = "<!-- written by `just bench-memory --write` -->\n", "<!-- end of memory -->\n"
TARGETS = ("chat", "openai", "responses", "anthropic", "gemini", "codex", "claude-code", "pi")
COMMANDS = [
    ("log",), *(("export", "--to", to) for to in TARGETS), ("edit", "--print"), ("snapshot",), ("checkpoint",),
    ("restore", "latest", "--replace"), ("compact", "--target", "30%", "--dry-run"),
]  # fmt: skip


def rows(path: Path, folder: Path) -> Iterator[str]:
    """A line for each command."""
    for words in COMMANDS:
        run = once((*CTXKIT, words[0], str(path), *words[1:], "-q"), environment_in(folder))
        shown = " ".join(words)
        yield f"| `{shown}` | {path.stem} | {path.stat().st_size / MB:,.0f} | {run.peak:.0f} | {run.cpu:.1f} |"
    shutil.rmtree(f"{path}.ctxkit", ignore_errors=True)


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-memory", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="of each log (default 1000)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    found = ["| command | log | MB | peak MB | s of the processor |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        for kind, write in (("native", logs.native), ("claude-code", sessions.claude_code)):
            path = Path(name) / f"{kind}.jsonl"
            write(path, asked.size * MB)
            found += rows(path, Path(name))
            os.unlink(path)
    text = "\n".join(found) + "\n"
    sys.stdout.write(text)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.S)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
