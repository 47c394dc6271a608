"""Tables in docs/performance.md and other pages: each stands between two comments, and its bench writes it there."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"


def put(text: str, begin: str, end: str, path: Path = PAGE) -> None:
    """`text` in place of what stands between these lines of the page at `path`."""
    page = path.read_text(encoding="utf-8")
    page = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.S)
    path.write_text(page, encoding="utf-8")


BEFORE = os.getloadavg()[0]
"""The load average when the bench began."""


def machine() -> str:
    """A line about the machine, for below a table: its processors, and how busy they were."""
    kind = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} processors"
    busy = f"load average {BEFORE:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    return f"{kind}; Python {sys.version.split()[0]}; {busy}."


def rows_there(begin: str, end: str, keys: int) -> dict[tuple[str, ...], str]:
    """The rows that stand there, heads included, by their first cells."""
    found = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    lines = [line for line in found.splitlines() if line.startswith("|")]
    return {tuple(cell.strip() for cell in line.split("|")[1 : keys + 1]): line for line in lines}
