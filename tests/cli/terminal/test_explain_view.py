"""show --explain at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.cli.terminal.safe_text import cells
from tests.cli.runner import ctxkit, good, lines, message, small
from tests.cli.screens import on_pty

KEYS = ["n", "role", "in_context", "standing", "op", "protected", "stub", "reasons"]
PARAMETERS = ["now", "window", "agents", "newest", "agent", "thread", "at", "before", "conversation", "format",
              "owner", "forced", "assembly", "budget"]  # fmt: skip


def test_text(tmp_path: Path) -> None:
    """A line each, then what was used."""
    path = small(tmp_path)
    good("forget", path, "--tool", "Bash", "--yes")
    text = good("show", path, "--explain").text
    assert "    7 assistant out forgotten by op 1 (--tool Bash)\n" in text
    assert "    9 assistant in\n" in text
    below = text.split("\n\n")[1]
    assert [line.split()[0] for line in below.splitlines()] == [
        "now", "window", "newest", "agent", "thread", "at", "format", "forced", "assembly", "budget",
    ]  # fmt: skip


def test_json(tmp_path: Path) -> None:
    """An object per message, then the parameters; keys are always there."""
    path = small(tmp_path)
    good("forget", path, "2")
    *each, last = good("show", path, "--explain", "--json").values
    assert [list(value) for value in each] == [KEYS] * 11
    assert (each[1]["in_context"], each[1]["standing"], each[1]["op"]) == (False, "forget", 1)
    assert list(last) == ["parameters"] and list(last["parameters"]) == PARAMETERS


def test_criteria_choose_among_all(tmp_path: Path) -> None:
    """Also what is out; numbers that the log does not have are refused."""
    path = small(tmp_path)
    good("forget", path, "6-8")
    values = good("show", path, "--explain", "--json", "--role", "user").values
    assert [(value["n"], value["in_context"]) for value in values[:-1]] == [(2, True), (6, False), (10, True)]
    assert ctxkit("show", path, "--explain", "99").code == 2


def test_an_agent_is_a_way_to_look(tmp_path: Path) -> None:
    """All messages are told of, those of others as such."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a", 1, agent="sam"), message("user", "b", 2, agent="bo")))
    *each, last = good("show", path, "--explain", "--json", "--agent", "sam").values
    assert [value["standing"] for value in each] == ["in", "filter"]
    assert last["parameters"]["agent"] == "sam"


def test_assembly(tmp_path: Path) -> None:
    """What is put around is a parameter; null where it is not."""
    path = small(tmp_path)
    (tmp_path / "chat.jsonl.ctxkit").mkdir()
    (tmp_path / "chat.jsonl.ctxkit" / "config.toml").write_text('[assembly]\nsystem = "be kind"\n')
    [*_, last] = good("show", path, "--explain", "--json").values
    assert last["parameters"]["assembly"] == [{"kind": "system", "source": ""}]
    [*_, last] = good("show", path, "--explain", "--json", "--no-assembly").values
    assert last["parameters"]["assembly"] is None
    with_it = good("status", path, "--json").values[0]["tokens"]["used"]
    without = good("status", path, "--json", "--no-assembly").values[0]["tokens"]["used"]
    assert with_it == without + 8  # two tokens and those around a message, by the estimate


@pytest.mark.parametrize("columns", [80, 20])
def test_fits(tmp_path: Path, columns: int) -> None:
    """No line is wider than the terminal."""
    path = small(tmp_path)
    good("forget", path, "--tool", "Bash", "--yes")
    text = on_pty(["show", str(path), "--explain", "-q"], columns).raw.decode()
    import re

    assert all(cells(line) <= columns for line in re.sub("\x1b\\[[0-9;]*m", "", text).split("\r\n"))
