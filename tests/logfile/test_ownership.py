"""Whose file a log is, by its rows, its companion and its place; `tests/test_living_programs.py` has the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.formats.chat_programs import PROGRAMS
from ctxkit.logfile.ownership import among_programs_files, program

SAID = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_folders(one: object, tmp_path: Path) -> None:
    """All below a program's folder is its own, also where a variable names that, or a link leads there."""
    env = {"HOME": str(tmp_path / "home")}
    for variable, default, inside in one.folders:  # type: ignore[attr-defined]
        if default:
            place = tmp_path / "home" / default / inside / "a" / "x.jsonl"
            assert program(SAID, place, env) == one.name  # type: ignore[attr-defined]
            assert program(SAID, tmp_path / "home" / default / "x.jsonl", env) == ""
        if variable:
            named = env | {variable: str(tmp_path / "named")}
            place = tmp_path / "named" / inside / "x.jsonl"
            assert program(SAID, place, named) == one.name  # type: ignore[attr-defined]
            assert program(SAID, tmp_path / "other" / inside / "x.jsonl", named) == ""
            place.parent.mkdir(parents=True, exist_ok=True)
            link = tmp_path / f"to-{variable}"
            link.symlink_to(place.parent)
            assert program(SAID, link / "x.jsonl", named) == one.name  # type: ignore[attr-defined]


def test_a_stream_has_no_place() -> None:
    """Rows alone count."""
    assert program(SAID, None, {}) == ""
    assert program([*SAID, {"role": "_usage"}], None, {}) == "Kimi CLI"


@pytest.mark.parametrize(
    ("place", "theirs"),
    [
        ("home/.fifth/x.jsonl", True),
        ("home/.fifth/a/b/x.jsonl", True),
        ("home/.x.jsonl", False),
        ("home/logs/.hidden/x.jsonl", False),
        ("home/logs/x.jsonl", False),
        ("elsewhere/.fifth/x.jsonl", False),
        ("home/.local/share/fifth/x.jsonl", True),
        ("home/.local/share/ctxkit/x.jsonl", False),
        ("home/.config/ctxkit/x.jsonl", False),
        ("home/Library/Application Support/fifth/x.jsonl", True),
        ("home/Library/fifth/x.jsonl", False),
        ("xdg/fifth/x.jsonl", True),
        ("home/.dots/x.jsonl", False),
        ("home/.dots/deep/x.jsonl", False),
    ],
)
def test_folders_of_programs(place: str, theirs: bool, tmp_path: Path) -> None:
    """Hidden folders of the home, and those of XDG and macOS; not ctxkit's own, nor a tree under version control."""
    (tmp_path / "home/.dots/.git").mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "xdg")}
    assert among_programs_files(tmp_path / place, env) is theirs


def test_a_link_to_it(tmp_path: Path) -> None:
    """A file that a link in a program's folder names is the program's by that name."""
    (tmp_path / "home/.fifth").mkdir(parents=True)
    (tmp_path / "x.jsonl").write_text("")
    (tmp_path / "home/.fifth/x.jsonl").symlink_to(tmp_path / "x.jsonl")
    env = {"HOME": str(tmp_path / "home")}
    assert among_programs_files(tmp_path / "home/.fifth/x.jsonl", env)
    assert not among_programs_files(tmp_path / "x.jsonl", env)


def test_a_companion(tmp_path: Path) -> None:
    """Beside a file of the program's name, with what only it says; a folder or a pipe of its name says nothing."""
    path = tmp_path / "messages.jsonl"
    path.write_text("")
    for text, theirs in (("", ""), ('{"title": "x"}', ""), ('{\n  "session_id": "s"}', "Mistral Vibe")):
        (tmp_path / "meta.json").write_text(text)
        assert program(SAID, path, {"HOME": "/nowhere"}) == theirs
        assert program(SAID, tmp_path / "other.jsonl", {"HOME": "/nowhere"}) == ""
    (tmp_path / "conversation.jsonl").write_text("")
    for text, theirs in (("# [chat]", ""), ("x = 1\n[chat]\n", "gptme")):
        (tmp_path / "config.toml").write_text(text)
        assert program(SAID, tmp_path / "conversation.jsonl", {"HOME": "/nowhere"}) == theirs
    for text, theirs in (("see a/b", ""), ("/a\nand more", ""), ("/home/ada/shop\n", "nanobot")):
        (tmp_path / ".workspace").write_text(text)
        assert program(SAID, tmp_path / "other.jsonl", {"HOME": "/nowhere"}) == theirs
    (tmp_path / ".workspace").unlink()
    (tmp_path / "meta.json").unlink()
    (tmp_path / "meta.json").mkdir()
    assert program(SAID, path, {"HOME": "/nowhere"}) == ""


def test_what_a_home_says_of_its_programs(tmp_path: Path) -> None:
    """A home under version control, a slash too many and no name at all: its hidden folders are its programs'."""
    home = tmp_path / "home"
    log = home / ".zorg/s.jsonl"
    log.parent.mkdir(parents=True)
    env = {"HOME": str(home)}
    assert among_programs_files(log, env)
    assert among_programs_files(log, {"HOME": f"{home}//"})
    for place in (home, tmp_path):
        (place / ".git").mkdir()
        assert among_programs_files(log, env)
    (home / ".zorg/.git").mkdir()
    assert not among_programs_files(log, env)
