"""init: a new log, for its owner alone, with its config beside it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from tests.cli.runner import ctxkit, good


def test_creates(tmp_path: Path) -> None:
    """The log 0600 and empty, the folder 0700, whatever the umask; the words name both."""
    path = tmp_path / "new.jsonl"
    before = os.umask(0)
    try:
        ran = good("init", path)
    finally:
        os.umask(before)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"", 0o600)
    folder = tmp_path / "new.jsonl.ctxkit"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (ran.out, ran.err) == (b"", f"Created {path} and {folder} (profile session).\n")
    assert good("show", path).err == "0 of 0 messages\n"


def test_json(tmp_path: Path) -> None:
    """What was created, for programs."""
    path = tmp_path / "new.jsonl"
    [value] = good("init", path, "--profile", "bot", "--json").values
    assert value == {"log": str(path), "sidecar": f"{path}.ctxkit", "profile": "bot"}


def test_what_is_there_is_never_touched(tmp_path: Path) -> None:
    """Neither a log nor the config of one that is gone."""
    path = tmp_path / "new.jsonl"
    good("init", path, "--profile", "bot")
    config = tmp_path / "new.jsonl.ctxkit" / "config.toml"
    text = config.read_bytes()
    for _ in range(2):
        ran = ctxkit("init", path)
        assert ran.code == 73 and "exists already: nothing was changed" in ran.err
        assert config.read_bytes() == text
        path.unlink(missing_ok=True)
    assert not path.exists()


def test_a_planted_sidecar(tmp_path: Path) -> None:
    """A config that is a link to elsewhere: neither the log nor what the link leads to is made."""
    (tmp_path / "a" / "new.jsonl.ctxkit").mkdir(parents=True)
    (tmp_path / "a" / "new.jsonl.ctxkit" / "config.toml").symlink_to(tmp_path / "victim")
    ran = ctxkit("init", tmp_path / "a" / "new.jsonl")
    assert ran.code == 77 and "a link that leads out of" in ran.err
    assert not (tmp_path / "victim").exists() and not (tmp_path / "a" / "new.jsonl").exists()


def test_dangling_link(tmp_path: Path) -> None:
    """The link's target is created, and its sidecar beside it; the words name the folder that is there."""
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    ran = good("init", tmp_path / "link.jsonl")
    assert (tmp_path / "real.jsonl").exists() and (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl.ctxkit").is_dir() and "real.jsonl.ctxkit" in ran.err


def test_sidecar_that_cannot_be(tmp_path: Path) -> None:
    """It says what was created and what was not."""
    path = tmp_path / "new.jsonl"
    (tmp_path / "new.jsonl.ctxkit").write_text("a file")
    ran = ctxkit("init", path)
    assert ran.code == 73 and f"the log {path} was created, without a config" in ran.err


@pytest.mark.parametrize("words", [["-"], [""], ["x.jsonl", "--profile", "zz"]])
def test_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """Nothing is created."""
    monkeypatch.chdir(tmp_path)
    assert ctxkit("init", *words).code in (2, 66)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def gardener(tmp_path: Path) -> Path:
    """An archetype with a text, a document and a window."""
    (tmp_path / "plants.md").write_text("Water the roses.")
    file = tmp_path / "gardener.toml"
    file.write_text('system = """You are a gardener.\nBe brief."""\ndocs = ["plants.md"]\nwindow = "8h"\n')
    return file


def test_an_agent_from_an_archetype(tmp_path: Path, gardener: Path) -> None:
    """Its keys stand in the user's own config; the log is created, or is there."""
    path = tmp_path / "new.jsonl"
    own = Path.home() / ".config/ctxkit/config.toml"
    ran = good("init", path, "--agent", "sam", "--agent-config", gardener)
    said = f"agents.sam (system, docs, window): set from {gardener} ({own})\n"
    assert ran.err.startswith(said) and "Created" in ran.err
    assert tomllib.loads(own.read_text()) == {
        "agents": {
            "sam": {"system": "You are a gardener.\nBe brief.", "docs": [f"{tmp_path}/./plants.md"], "window": "8h"}
        }
    }
    good("add", path, "hello", "--agent", "sam")
    [body] = good("export", path, "--to", "openai", "--model", "m", "--agent", "sam").values
    assert [one["content"] for one in body["messages"]] == [
        "You are a gardener.\nBe brief.",
        "Water the roses.",
        "hello",
    ]
    before = path.read_bytes()
    assert good("init", path, "--agent", "merry", "--agent-config", gardener).err == said.replace("sam", "merry")
    assert "is set so already" in good("init", path, "--agent", "sam", "--agent-config", gardener).err
    assert path.read_bytes() == before and len(tomllib.loads(own.read_text())["agents"]) == 2


def test_an_agent_that_is_there(tmp_path: Path, gardener: Path) -> None:
    """Another value is not overwritten; nothing is created."""
    good("config", "--user", "set", "agents.sam.window", "3h")
    ran = ctxkit("init", tmp_path / "new.jsonl", "--agent", "sam", "--agent-config", gardener)
    assert ran.code == 73 and "agents.sam.window is set to something else (" in ran.err
    assert not (tmp_path / "new.jsonl").exists() and good("config", "--user", "get", "agents.sam.window").text == "3h\n"


def test_mistakes_of_an_archetype(tmp_path: Path, gardener: Path) -> None:
    """One option without the other, no file, a wrong value, an empty name: nothing is created, nothing is set."""
    path = tmp_path / "new.jsonl"
    (tmp_path / "bad.toml").write_text('window = "9d"\n')
    for words, code in (
        (["--agent", "sam"], 2), (["--agent-config", gardener], 2), (["--agent", "", "--agent-config", gardener], 2),
        (["--agent", "sam", "--agent-config", tmp_path / "gone.toml"], 66),
        (["--agent", "sam", "--agent-config", tmp_path / "bad.toml"], 78),
    ):  # fmt: skip
        ran = ctxkit("init", path, *words)
        assert ran.code == code, ran.err
    assert not path.exists() and not (Path.home() / ".config/ctxkit/config.toml").exists()


def test_json_of_an_agent(tmp_path: Path, gardener: Path) -> None:
    """What was set, and where; also for a log that is there."""
    path = tmp_path / "new.jsonl"
    [made] = good("init", path, "--agent", "sam", "--agent-config", gardener, "--json").values
    own = {"agent": "sam", "archetype": str(gardener), "keys": ["system", "docs", "window"],
           "config": str(Path.home() / ".config/ctxkit/config.toml")}  # fmt: skip
    assert made == {"log": str(path), "sidecar": f"{path}.ctxkit", "profile": "session", **own}
    assert good("init", path, "--agent", "sam", "--agent-config", gardener, "--json").values == [
        {"log": str(path), **own}
    ]
