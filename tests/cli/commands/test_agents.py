"""`ctxkit agents`: a block per agent, and an object per agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import ctxkit, good, lines, message

PARTY = lines(
    message("user", "to frodo", 0, agent="frodo"),
    message("user", "to sam", 1, agent="sam"),
    message("user", "to all", 2),
)


@pytest.fixture
def party(tmp_path: Path) -> Path:
    """A log of two agents, one of which has keys in the user's own config, and one more there."""
    path = tmp_path / "party.jsonl"
    path.write_bytes(PARTY)
    for key, value in (
        ("frodo.limit", "10k"),
        ("frodo.color", "cyan"),
        ("frodo.system", "Be Frodo."),
        ("merry.window", "2h"),
    ):
        good("config", "--user", "set", f"agents.{key}", value)
    return path


def test_blocks(party: Path) -> None:
    """The name, then tokens, messages, window and texts; a blank line between two."""
    ran = good("agents", party)
    blocks = [block.split("\n") for block in ran.text.rstrip("\n").split("\n\n")]
    assert [block[0] for block in blocks] == ["frodo", "sam", "merry"]
    assert any(" of 10,000 (" in line for line in blocks[0]) and "assembly  system: 10 tokens" in blocks[0]
    assert "messages  2 in the context, 1 of them its own; 1 of its own in the log, last" in " ".join(blocks[0])
    assert "messages  1 in the context; none of its own in the log" in blocks[2]
    assert any(line.startswith("window    2h") for line in blocks[2])
    assert ran.err.rstrip().endswith("3 agents")


def test_json(party: Path) -> None:
    """An object per agent, with every figure of its bar."""
    frodo, sam, merry = good("agents", party, "--json").values
    assert (frodo["name"], frodo["color"], frodo["tokens"]["limit"]["value"]) == ("frodo", "cyan", 10_000)
    assert frodo["assembled"] == [{"kind": "system", "source": "", "tokens": 10}] and sam["assembled"] == []
    assert (merry["messages"], merry["inside"], merry["configured"], sam["configured"]) == (0, 1, True, False)


def test_status_agrees(party: Path) -> None:
    """`status --agent` has the same bar, and the agent's name in its colour on a terminal."""
    for one in good("agents", party, "--json").values:
        [value] = good("status", party, "--agent", one["name"], "--json").values
        assert value["tokens"] == one["tokens"] and value["inside"] == one["inside"]
        assert value["colors"] == {"frodo": "cyan"}


def test_an_agent_of_the_config_is_known(party: Path) -> None:
    """It sees what is for all, though no message names it; one that nobody names is not known."""
    assert [value["n"] for value in good("show", party, "--agent", "merry", "--json", "--no-assembly").values] == [3]
    assert ctxkit("show", party, "--agent", "gollum").code == 1


def test_colours(party: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of an agent has its colour, here and in `status`."""
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert good("agents", party).text.startswith("\x1b[1;36mfrodo\x1b[0m\n")
    assert "agent \x1b[36mfrodo\x1b[0m\n" in good("status", party, "--agent", "frodo").text
    assert "\x1b[36mfrodo\x1b[0m: 1 message" in good("status", party).text


def test_none(tmp_path: Path) -> None:
    """A log without agents: nothing is printed, and the closing line says so."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "hello", 0)))
    ran = good("agents", path)
    assert (ran.out, ran.err) == (b"", "0 agents\n")


def test_a_missing_document_is_left_out(party: Path) -> None:
    """It is named, and the rest is listed."""
    good("config", "--user", "set", "agents.sam.docs", "gone.md")
    ran = good("agents", party)
    assert "agents.sam.docs: gone.md: no such file: left out" in ran.err and "sam\n" in ran.text


IN_A_FOLDER = """[agents.sam]
system = "file:sam.txt"
docs = ["plants.md"]
"""


@pytest.mark.parametrize("file", ["ctxkit.toml", "bot.jsonl.ctxkit/config.toml"])
@pytest.mark.parametrize("command", [("export", "--to", "openai", "--model", "m"), ("show", "--json", "--full")])
def test_a_bots_own_folder(tmp_path: Path, file: str, command: tuple[str, ...]) -> None:
    """It says who its agents are once the user accepted it, and not before; a file that leads out never counts."""
    path, config = tmp_path / "bot.jsonl", tmp_path / file
    path.write_bytes(PARTY)
    (tmp_path / "plants.md").write_text("Water the roses.")
    (tmp_path / "sam.txt").write_text("You are Sam.")
    config.parent.mkdir(exist_ok=True)
    config.write_text(IN_A_FOLDER)
    name, *more = command
    asked = [name, path, "--agent", "sam", *more]
    before = good(*asked)
    assert "You are Sam." not in before.text and "to accept: ctxkit config" in before.err
    good("config", path, "accept")
    assert all(text in good(*asked).text for text in ("You are Sam.", "Water the roses."))
    frodo = good(name, path, "--agent", "frodo", *more).text
    assert "You are Sam." not in frodo
    config.write_text(IN_A_FOLDER.replace("file:sam.txt", "file:../sam.txt"))
    good("config", path, "accept")
    ran = good(*asked)
    assert "Water the roses." in ran.text and "agents.sam.system counts only from" in ran.err


@pytest.mark.parametrize("command", [("export", "--to", "openai", "--model", "m"), ("show", "--json", "--full")])
def test_agent_config(tmp_path: Path, command: tuple[str, ...]) -> None:
    """--agent-config says who the agent is for one time, before all config; nothing is set."""
    path, kind = tmp_path / "bot.jsonl", tmp_path / "kinds" / "gardener.toml"
    path.write_bytes(PARTY)
    kind.parent.mkdir()
    (kind.parent / "plants.md").write_text("Water the roses.")
    kind.write_text('system = "You are a gardener."\ndocs = ["plants.md"]\n')
    good("config", "--user", "set", "agents.sam.system", "You are a cook.")
    name, *more = command
    text = good(name, path, "--agent", "sam", "--agent-config", kind, *more).text
    assert "You are a gardener." in text and "Water the roses." in text and "cook" not in text
    assert "You are a cook." in good(name, path, "--agent", "sam", *more).text
    for words, code in (
        (["--agent-config", kind], 2), (["--agent", "sam", "--agent-config", tmp_path / "gone.toml"], 66),
        (["--agent", "sam", "--agent-config", path], 78),
    ):  # fmt: skip
        ran = ctxkit(name, path, *words, *more)
        assert ran.code == code and not ran.out, ran.err
