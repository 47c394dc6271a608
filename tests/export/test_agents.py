"""Where each agent looks for a session, and the line that starts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit.export.agents import AGENTS
from ctxkit.formats.session_folders import slug
from ctxkit.formats.targets import SESSIONS

ID = "5e551011-0000-4000-8000-0000000000aa"


def test_an_agent_for_every_session_that_is_written() -> None:
    """Whatever `export` writes a session for, `resume` goes on with."""
    assert set(AGENTS) == set(SESSIONS)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/ada/shop", "-home-ada-shop"),
        ("/home/ada/my shop_2.0", "-home-ada-my-shop-2-0"),
        ("/home/ada/bücher", "-home-ada-b-cher"),
        ("/" + "a" * 199, "-" + "a" * 199),
        (f"/tmp/ctxkit-x-{'a' * 80}/{'b' * 80}/{'c' * 80}", f"-tmp-ctxkit-x-{'a' * 80}-{'b' * 80}-{'c' * 24}-5trojw"),
    ],
)
def test_the_name_of_a_folder_in_claude_code(folder: str, name: str) -> None:
    """What is neither a letter nor a digit of ASCII is a dash; a long one ends in its hash (as recorded)."""
    assert slug(folder) == name


@pytest.mark.parametrize(
    ("agent", "name", "place"),
    [
        ("claude-code", f"{ID}.jsonl", f".claude/projects/-home-ada-shop/{ID}.jsonl"),
        ("codex", f"rollout-2026-02-12T15-{ID}.jsonl", f".codex/sessions/2026/02/12/rollout-2026-02-12T15-{ID}.jsonl"),
        ("gemini-cli", "session-2026-5e551011.jsonl", ".gemini/tmp/shop/chats/session-2026-5e551011.jsonl"),
        ("pi", f"2026_{ID}.jsonl", f".pi/agent/sessions/--home-ada-shop--/2026_{ID}.jsonl"),
    ],
)  # fmt: skip
def test_places(agent: str, name: str, place: str, tmp_path: Path) -> None:
    """Below the home, or below the folder that the agent's own variable names; what is there is found by its id."""
    found = AGENTS[agent]
    home = {"HOME": str(tmp_path)}
    path = found.place(home, "/home/ada/shop", name)
    assert path == tmp_path / place
    assert list(found.taken(found.root(home), ID)) == []
    path.parent.mkdir(parents=True)
    path.touch()
    assert list(found.taken(found.root(home), ID)) == [path]
    if agent == "codex":
        (tmp_path / ".codex/archived_sessions").mkdir()
        there = path.rename(tmp_path / ".codex/archived_sessions" / f"{name}.zst")
        assert list(found.taken(found.root(home), ID)) == [there]
    if agent == "gemini-cli":
        return  # no variable names its folder
    variable = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "pi": "PI_CODING_AGENT_DIR"}[agent]
    there = found.place({**home, variable: "/else"}, "/home/ada/shop", name)
    assert there == Path("/else", *Path(place).parts[2 if agent == "pi" else 1 :])


def test_one_folder_for_all_sessions_of_pi() -> None:
    """Where somebody named it there are no folders below it."""
    env = {"HOME": "/home/ada", "PI_CODING_AGENT_SESSION_DIR": "/kept"}
    assert AGENTS["pi"].place(env, "/home/ada/shop", "a.jsonl") == Path("/kept/a.jsonl")


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("claude-code", f"claude --resume {ID}"),
        ("codex", f"codex resume {ID}"),
        ("pi", f"pi --session {ID}"),
        ("gemini-cli", f"gemini --resume {ID}"),
    ],
)
def test_lines(agent: str, line: str) -> None:
    """As one types it where one is; from elsewhere it goes to the folder first."""
    assert AGENTS[agent].line(ID, "/home/ada", "/home/ada") == line
    assert AGENTS[agent].line(ID, "/home/ada/my shop", "/") == f"cd '/home/ada/my shop' && {line}"


@pytest.mark.parametrize(
    ("noted", "markers", "folder", "name"),
    [
        ({}, {}, "/home/ada/My  Shop_2", "my-shop-2"),
        ({}, {}, "/", "project"),
        ({"/home/ada/shop": "mine"}, {}, "/home/ada/shop", "mine"),
        ({"/home/ada/shop": "mine"}, {"mine": "/other"}, "/home/ada/shop", "shop"),
        ({}, {"named": "/home/ada/shop"}, "/home/ada/shop", "named"),
        ({"/other/shop": "shop"}, {"shop-1": "/third/shop"}, "/home/ada/shop", "shop-2"),
        ({"/home/ada/shop": "../x"}, {}, "/home/ada/shop", "shop"),
        (["odd"], {}, "/home/ada/shop", "shop"),
    ],
)
def test_the_name_of_a_folder_in_gemini_cli(
    noted: object, markers: dict[str, str], folder: str, name: str, tmp_path: Path
) -> None:
    """The one that it noted for the working folder, else the next name that no other working folder has."""
    root = tmp_path / ".gemini/tmp"
    for one, owner in markers.items():
        (root / one).mkdir(parents=True)
        (root / one / ".project_root").write_text(owner)
    root.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": noted}))
    found = AGENTS["gemini-cli"].place({"HOME": str(tmp_path)}, folder, "s.jsonl")
    assert found == root / name / "chats/s.jsonl"
