"""How settings look: columns where they fit, the end of a place where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.cli.terminal.config_view import listed, near
from ctxkit.cli.terminal.style import Styled
from ctxkit.settings.config import Setting

ROWS = [
    ("now", Setting("wall", "CTXKIT_NOW", "wall")),
    ("window.default", Setting(1, "/a/long/way/config.toml:12", "8h")),
]


def lines(columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows at that width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    return ["".join(span.text if isinstance(span, Styled) else span for span in line) for line in listed(ROWS)]


def test_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a key."""
    assert lines(80, monkeypatch) == [
        "now             wall  CTXKIT_NOW",
        "window.default  8h    /a/long/way/config.toml:12",
    ]


def test_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Origins below, with the file's end and the line."""
    assert lines(20, monkeypatch) == [
        "now             wall",
        "  CTXKIT_NOW",
        "window.default  8h",
        "  …ay/config.toml:12",
    ]


def test_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the working folder is named as it is there."""
    monkeypatch.chdir(tmp_path)
    assert near(f"{tmp_path}/a.toml:1") == "a.toml:1" and near("/etc/a.toml:1") == "/etc/a.toml:1"
