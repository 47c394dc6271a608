"""What the run as a whole says: its table and its exit status."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from tests.resume import __main__ as main
from tests.resume.agents import AGENTS
from tests.resume.compare import Compared
from tests.resume.install import CannotInstallError, Installed

PI = Installed(AGENTS["pi"], "0.87.1", Path("somewhere"))
EQUAL, DIFFERENT = Compared(3, "", Counter({"agent: prompt": 1})), Compared(3, "block 1")


@pytest.mark.parametrize(
    ("found", "missing", "expected"),
    [
        ([EQUAL, EQUAL], 0, 0),
        ([EQUAL, DIFFERENT], 0, 1),
        ([EQUAL], 1, 1),
        ([], 0, 2),
        ([], 3, 2),
    ],
)
def test_status(found: list[Compared], missing: int, expected: int) -> None:
    """0: equal or explained; 1: a difference, or an agent that is missing; 2: nothing could be run."""
    assert main.status(len(found), sum(bool(one.first) for one in found), missing) == expected


@pytest.mark.parametrize("edited", [False, True])
def test_an_agent_that_cannot_be_installed(edited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run: 2, whatever was asked for; with another agent at hand: 1."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "argv", ["resume", "--agent", "pi", *(["--edited"] if edited else [])])
    with mock.patch.object(main, "install", side_effect=CannotInstallError("npm is not installed")):
        assert main.main() == 2
    monkeypatch.setattr(sys, "argv", ["resume", "--agent", "pi", "--agent", "codex", *(["--edited"] if edited else [])])
    run = {"judged": mock.DEFAULT, "edited": mock.DEFAULT, "install": mock.DEFAULT}
    with mock.patch.multiple(main, **run) as mocks:
        mocks["install"].side_effect = [CannotInstallError("no network"), PI]
        mocks["judged"].return_value = mocks["edited"].return_value = [("forget", EQUAL)]
        assert main.main() == 1
        mocks["install"].side_effect = [PI, PI]
        assert main.main() == 0


def test_table() -> None:
    """A line for an agent's sessions; of exports one for each kind."""
    found = [("forget", EQUAL), ("rewind", EQUAL), ("forget", DIFFERENT)]
    assert main.table(PI, found, edited=False) == ["| pi | 0.87.1 | 3 | 2 | 6 | agent: prompt: 2 |"]
    assert main.table(PI, found, edited=True) == [
        "| pi | forget | 2 | 1 | 3 | agent: prompt: 1 |",
        "| pi | rewind | 1 | 1 | 3 | agent: prompt: 1 |",
    ]


@pytest.mark.parametrize(("edited", "first", "second"), [(False, "0.87.1", "1.6.0"), (True, "forget", "from codex")])
def test_rows_that_did_not_run_stay(edited: bool, first: str, second: str) -> None:
    """Those of other agents, versions and edits, in their order, and what stands around the table; unknown ones go."""
    begin, end = main.EDITED if edited else main.FILES
    codex = "| codex | trim | 1 |" if edited else "| codex | 0.169.0 | 1 |"
    before = [f"| pi | {first} | old |", codex, f"| pi | {second} | old |", "| pi | 0.1 | old |"]
    page = f"a\n{begin}\n| agent | x |\n|---|---|\n{chr(10).join(before)}\n\n{end}b\n"
    found = main.with_rows(page, [f"| pi | {second} | new |"], edited=edited)
    assert found.splitlines()[0] == "a" and found.splitlines()[-1] == "b"
    assert [line for line in found.splitlines() if line.startswith("| ")][1:] == [
        codex, f"| pi | {first} | old |", f"| pi | {second} | new |"
    ]  # fmt: skip
    assert main.with_rows(found, [], edited=edited) == found


def test_a_known_difference() -> None:
    """It is no failure, and not equal either; the same session after another edit is judged as any."""
    path = Path("ids-of-another-model.jsonl")
    found = main.explained("pi", path, "rewind", DIFFERENT)
    assert (found.blocks, found.first, len(found.ruled)) == (0, "", 1)
    assert main.explained("pi", path, "rewind", EQUAL) is EQUAL
    assert main.explained("claude-code", path, "forget", DIFFERENT) is DIFFERENT
    assert main.explained("pi", path, "trim", DIFFERENT) is DIFFERENT
