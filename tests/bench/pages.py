"""Tables in docs/performance.md: each stands between two comments, and its bench writes it there."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"


def put(text: str, begin: str, end: str) -> None:
    """`text` in place of what stands between these lines."""
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.S)
    PAGE.write_text(page, encoding="utf-8")


def rows_there(begin: str, end: str, keys: int) -> dict[tuple[str, ...], str]:
    """The rows that stand there, heads included, by their first cells."""
    found = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    lines = [line for line in found.splitlines() if line.startswith("|")]
    return {tuple(cell.strip() for cell in line.split("|")[1 : keys + 1]): line for line in lines}
