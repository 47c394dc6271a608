"""Pages of the documentation: what is generated in them, and comparing or rewriting it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

END = "<!-- end -->"


def name(path: Path) -> str:
    """A page as its test is called."""
    return path.relative_to(ROOT).as_posix()


def generated(text: str) -> list[str]:
    """The names of the generated parts of a page."""
    return re.findall(r"^<!-- generated: (.+?) -->$", text, re.M)


def plain(docstring: str | None) -> str:
    """A docstring without the rules that it cites."""
    return re.sub(r" \((replay|reliability|agents,) [^)]*\)", "", str(docstring).strip())


def with_part(text: str, part: str, content: str) -> str:
    """The page with `content` between the markers of `part`; both markers must be there."""
    start = f"<!-- generated: {part} -->\n"
    if text.count(start) != 1:
        pytest.fail(f"the page has no part {start.strip()}, or two")
    before, rest = text.split(start)
    _, end, after = rest.partition(END)
    assert end, f"{start.strip()} has no {END}"
    return f"{before}{start}{content.rstrip()}\n{END}{after}"


def settle(path: Path, text: str, *, update: bool) -> None:
    """The page is `text`: fails with the difference, or (`update`) writes it."""
    old = path.read_text(encoding="utf-8")
    if old == text:
        return
    if update:
        path.write_text(text, encoding="utf-8")
        return
    lines = difflib.unified_diff(
        old.splitlines(), text.splitlines(), f"{name(path)} (as it is)", f"{name(path)} (as the code says)", lineterm=""
    )
    pytest.fail("\n".join([*lines, "", "`just docs` rewrites it; read `git diff` before committing"]), pytrace=False)
