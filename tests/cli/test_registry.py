"""The table of commands: every entry has its file, every name that is none is answered with the nearest."""

from __future__ import annotations

import pytest

from ctxkit.cli.registry import COMMAND_OF, COMMANDS, GROUPS, MEANT, OTHERWISE, meant, unknown
from tests.cli.runner import ctxkit


def test_table_and_files_agree() -> None:
    """Every command has its module with a documented `command`; every group has a title."""
    for name, entry in COMMANDS.items():
        command = entry.load()
        assert (entry.name, command.__module__) == (name, entry.module) and command.__doc__
    assert {entry.group for entry in COMMANDS.values()} == set(GROUPS)


def test_unknown_command() -> None:
    """The nearest is named."""
    ran = ctxkit("remenber")
    assert (ran.code, ran.err) == (2, "ctxkit: no such command: remenber\nhint: ctxkit remember?\n")
    assert "ctxkit --help" in ctxkit("xyzzy").err
    assert unknown("statu").hint == "ctxkit status?"


def test_the_table() -> None:
    """Each leads to a command that there is; none is a command, and none stands twice."""
    assert MEANT.keys() <= COMMANDS.keys()
    names = [name for group in MEANT.values() for name in group]
    assert len(names) == len(set(names)) and not (set(names) | OTHERWISE.keys()) & COMMANDS.keys()
    assert not COMMAND_OF.keys() & OTHERWISE.keys()


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("ls", "ctxkit sessions?"), ("list", "ctxkit sessions?"), ("search", "ctxkit recall?"),
        ("grep", "ctxkit recall?"), ("view", "ctxkit show?"), ("tokens", "ctxkit status?"),
        ("count", "ctxkit status?"), ("prune", "ctxkit forget?"), ("delete", "ctxkit forget?"),
        ("drop", "ctxkit forget?"), ("rm", "ctxkit forget?"), ("pin", "ctxkit protect?"), ("info", "ctxkit status?"),
        ("version", "ctxkit --version?"), ("SHOW", "ctxkit show?"), ("shwo", "ctxkit show?"), ("qqq", ""),
    ],
)  # fmt: skip
def test_meant(typed: str, hint: str) -> None:
    """By the table, by the case of letters, by spelling; else nothing."""
    assert meant(typed, COMMANDS) == hint
    ran = ctxkit(typed)
    assert ran.code == 2 and (hint or "--help lists them") in ran.err
    assert ctxkit("help", typed).code == 2
