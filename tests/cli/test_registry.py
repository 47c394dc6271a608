"""The table of commands: every entry has its file, every name that is none is answered with the nearest."""

from __future__ import annotations

from ctxkit.cli.registry import COMMANDS, GROUPS, unknown
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
