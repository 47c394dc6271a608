"""ctxkit help: examples first, whole at every width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import MEANING
from tests.cli.runner import ctxkit, good, shell


def test_no_colour_in_a_pipe() -> None:
    """Plain text, whatever it is read by."""
    assert b"\x1b" not in good("help", "show").out


def test_colour_where_it_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings are bold; the words stay."""
    plain = good("help", "show").text
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    inked = good("show", "--help").text
    assert inked.startswith("Print the context") and "\x1b[1mExamples:\x1b[0m" in inked
    assert re.sub("\x1b\\[[0-9;]*m", "", inked) == plain


def test_head(tmp_path: Path) -> None:
    """`| head -1` is quiet."""
    ran = shell("ctxkit show --help | head -1", tmp_path)
    assert (ran.out, ran.err) == (b"Print the context that a model would be sent.\n", "")


def test_json() -> None:
    """The page as an object."""
    [value] = good("help", "window", "--json").values
    assert (
        value["name"] == "window"
        and {"command": "ctxkit window chat.jsonl", "note": "show the window"} in value["examples"]
    )
    [value] = good("help", "--json").values
    assert [one["name"] for one in value["commands"]] == sorted(
        COMMANDS, key=[one["name"] for one in value["commands"]].index
    )


def test_exit_codes() -> None:
    """Each code with its meaning, once."""
    lines = good("help", "exit-codes").text.splitlines()
    assert [int(line.split()[0]) for line in lines] == [int(code) for code in MEANING] and "  66  no such log" in lines
    [value] = good("help", "exit-codes", "--json").values
    assert [one["code"] for one in value["exits"]] == [int(code) for code in MEANING]


def test_unknown() -> None:
    """The nearest is named."""
    ran = ctxkit("help", "shwo")
    assert (ran.code, ran.err) == (2, "ctxkit: no such command: shwo\nhint: ctxkit show?\n")
