"""Columns, counts and ranges of numbers."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal import layout


@pytest.mark.parametrize(("columns", "width"), [("100", 100), ("20", 20), ("5", 20), ("0", 80), ("x", 80)])
def test_width(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    """What the terminal says, 20 at least, 80 where there is none."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError()))
    assert layout.width() == width


def test_breadth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has none, unless COLUMNS is set."""
    assert layout.wrap_width() == 80
    monkeypatch.delenv("COLUMNS")
    assert (layout.wrap_width(), layout.width()) == (layout.UNBROKEN, 80)


def test_count() -> None:
    """One thing, several things, thousands."""
    assert [layout.count(n, "op") for n in (0, 1, 2, 1234)] == ["0 ops", "1 op", "2 ops", "1,234 ops"]
