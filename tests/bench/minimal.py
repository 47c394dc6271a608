"""The floor of start-up: a typer app of one command that does nothing."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.command()
def mark(log: str, label: str = "") -> None:
    """Do nothing."""


app()
