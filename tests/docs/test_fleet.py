"""docs/fleet.md has the tables as they are declared."""

from __future__ import annotations

from ctxkit.fleet.tables import TABLES
from tests.docs.pages import DOCS, settle, with_part


def test_tables(update: bool) -> None:
    """Every column with its type and meaning, from the declaration."""
    parts = []
    for name, columns in TABLES.items():
        lines = [f"### {name}", "", "| column | type | is |", "|---|---|---|"]
        for one in columns:
            kind = f"{one.type}, JSON" if one.json else one.type
            meaning = one.meaning.replace("|", "\\|")
            lines.append(f"| `{one.name}` | {kind} | {meaning} |")
        parts.append("\n".join(lines))
    page = DOCS / "fleet.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "tables", "\n\n".join(parts)), update=update)
