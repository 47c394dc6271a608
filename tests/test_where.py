"""`just where`: the places of a command are there, and every command has some."""

from __future__ import annotations

import re

import pytest

from ctxkit.cli.registry import COMMANDS
from tests.where import ROOT, main, where


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command(name: str) -> None:
    """Its file and its tests; every line holds what it is said to hold."""
    found = where(name)
    assert found["command"] and found["tests"]
    for place in (place for key, places in found.items() if key != "tests" for place in places):
        path, _, rest = place.partition(":")
        line, _, what = rest.partition(" ")
        text = (ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert what.rpartition(".")[2].removeprefix("case ") in text, place


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rewind", ["Log.rewind", "changes/marks.py", "Rewind", "case Rewind", "tests/changes/test_marks.py"]),
        (
            "forget",
            [
                "Log.forget",
                "forget_selection.py",
                "changes/forget.py",
                "Forget",
                "case Forget",
                "tests/core/test_rules.py",
            ],
        ),
        ("remember", ["Log.remember", "forget_selection.py", "changes/forget.py", "Remember", "case Forget"]),
        ("undo", ["Log.undo", "changes/undo.py", "Undo", "case Undo"]),
        ("window", ["Log.set_window", "changes/window.py", "Window", "case Window"]),
        ("why", ["core/visibility.py", "core/reasons.py", "tests/core/test_reasons.py"]),
        ("check", ["Log.check", "recovery/check.py"]),
    ],
)
def test_the_way_of_a_command(name: str, expected: list[str]) -> None:
    """Arguments, API, decision, op, fold and tests, in this order."""
    text = "\n".join(place for places in where(name).values() for place in places)
    assert re.search(".*".join(map(re.escape, expected)), text, re.S), text


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest is named."""
    assert main(["rewnd"]) != 0 and "rewind?" in capsys.readouterr().err
    assert main(["undo"]) == 0 and "Log.undo" in capsys.readouterr().out
