"""docs/flags.md is what `ctxkit/cli/flags.py` declares."""

from __future__ import annotations

from ctxkit.cli.help.pages import every_flag
from tests.docs.pages import DOCS, settle, with_part

PAGE = DOCS / "flags.md"


def table() -> str:
    """A row per flag: its names, meaning, value and commands."""
    rows = []
    for flag in every_flag():
        names = ", ".join(f"`{name}`" for name in flag.names)
        meaning = "<br>".join([flag.help, *(f"`{name}`: {text}" for name, text in flag.on)]).replace("|", "\\|")
        value = f"`{flag.metavar}`".replace("|", "\\|") if flag.metavar else ""
        commands = " ".join(f"[{name}](commands/{name}.md)" for name in flag.commands)
        if flag.where.startswith("all"):
            commands = flag.where
        rows.append(f"| {names} | {meaning} | {value}{', repeatable' if flag.many else ''} | {commands} |")
    return "\n".join(["| flag | meaning | value | commands |", "|---|---|---|---|", *rows])


def test_page(update: bool) -> None:
    """Every flag stands on the page."""
    settle(PAGE, with_part(PAGE.read_text(encoding="utf-8"), "flags", table()), update=update)
