"""The table of config keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ctxkit.core.strategies import NAMES
from ctxkit.settings.keys import KEYS, KINDS, Key

BY_NAME = {key.name: key for key in KEYS}


def test_names_are_unique_and_defaults_valid() -> None:
    """Every key is declared once, with a known kind, a comment and a default that it accepts itself."""
    assert len(BY_NAME) == len(KEYS)
    for key in KEYS:
        assert key.kind in KINDS, key.name
        assert key.comment and not key.comment.endswith("."), key.name
        assert key.trust in ("always", "never", "inside", "local"), key.name
        assert key.default is not None or key.example is not None, key.name
        for value in (key.default, key.example):
            if value is not None:
                key.read(value)


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("now", "last", "last"),
        ("now", "wall", "wall"),
        ("now", "2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z"),
        ("now", datetime(2026, 2, 1, 10, tzinfo=UTC), "2026-02-01T10:00:00+00:00"),
        ("limit", 1, 1),
        ("reserve", 0, 0),
        ("budget.enforce", True, True),
        ("status.yellow", 70, 70),
        ("status.yellow", "70%", 70),
        ("status.yellow", "70.5 %", 70.5),
        ("window.default", "off", 0),
        ("window.default", "8h", 28800),
        ("window.default", "2h 30m", 9000),
        ("window.default", "1 week", 604800),
        ("compact.timeout", "60s", 60),
        ("trim.exclude_tools", ["Read"], ["Read"]),
        ("compact.strategy", "mask", "mask"),
    ],
)
def test_values(name: str, written: Any, value: Any) -> None:
    """What a file may hold, and what the program gets."""
    assert BY_NAME[name].read(written) == value


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("model", 1, "text in quotes"),
        ("now", "yesterday", '"last", "wall" or an ISO time'),
        ("now", 5, '"last", "wall" or an ISO time'),
        ("limit", 0, "at least 1"),
        ("limit", "many", "a whole number"),
        ("limit", True, "a whole number"),
        ("limit", 1.5, "a whole number"),
        ("overhead", 10**400, "at most 1,000,000,000,000,000"),
        ("reserve", -1, "at least 0"),
        ("budget.enforce", "true", "true or false"),
        ("status.red", 101, "a percentage from 0 to 100"),
        ("status.red", "-1%", "a percentage from 0 to 100"),
        ("status.red", float("nan"), "a percentage from 0 to 100"),
        ("status.red", True, "a percentage from 0 to 100"),
        ("window.default", 8, '"off" or a duration in quotes, such as "8h"'),
        ("window.default", "8", '"off" or a duration in quotes, such as "8h"'),
        ("window.default", "yesterday", '"off" or a duration in quotes, such as "8h"'),
        ("window.min", "off", 'a duration in quotes, such as "8h"'),
        ("window.min", "0h", 'a duration in quotes, such as "8h"'),
        ("trim.exclude_tools", "Read", "a list of texts in quotes"),
        ("trim.exclude_tools", [1], "a list of texts in quotes"),
        ("compact.strategy", "magic", f"one of {', '.join(NAMES)}"),
    ],
)
def test_refused_values(name: str, written: Any, expected: str) -> None:
    """What is refused, with what is expected instead."""
    with pytest.raises(ValueError) as caught:
        BY_NAME[name].read(written)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("window.default", 3600, True),
        ("compact.model", "gpt", False),
        ("compact.fast_model", "gpt", False),
        ("snapshots.store", "https://x", False),
        ("compact.strategy", "mask", True),
        ("compact.auto", True, True),
        ("compact.auto", "llm", False),
        ("compact.strategy", "llm", False),
        ("assembly.docs", ["a.md", "docs/b.md"], True),
        ("assembly.docs", ["a.md", "/etc/passwd"], False),
        ("assembly.docs", ["docs/../../b.md"], False),
        ("assembly.docs", ["~/b.md"], False),
        ("assembly.status", "status.txt", True),
        ("assembly.status", "../status.txt", False),
        ("status.processes", "processes.txt", False),
        ("status.processes", "command: ps", False),
        ("agents.NAME.window", "8h", True),
        ("agents.NAME.limit", 1000, True),
        ("agents.NAME.color", "red", True),
        ("agents.NAME.system", "be brief", True),
        ("agents.NAME.system", "/me is brief ..", True),
        ("agents.NAME.system", "file:frodo.md", True),
        ("agents.NAME.system", "file:../frodo.md", False),
        ("agents.NAME.system", "file:/etc/passwd", False),
        ("agents.NAME.system", "file:~/secret", False),
        ("agents.NAME.docs", ["a.md"], True),
        ("agents.NAME.docs", ["a.md", "~/b.md"], False),
        ("agents.NAME.model", "gpt", True),
    ],
)
def test_trust(name: str, value: Any, counts: bool) -> None:
    """A folder's own file may not send text, run a program, or read outside the folder."""
    assert BY_NAME[name].counts_from_folder(value) is counts


def test_a_bound() -> None:
    """The bound itself is allowed, what is below it is not."""
    key = Key("x", "number", 5, "test", low=1)
    assert key.read(1) == 1
    with pytest.raises(ValueError, match="at least 1"):
        key.read(0)
