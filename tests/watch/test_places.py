"""Which logs are watched."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ctxkit.watch.places import RECENT, Places
from tests.homes import dashes, rows
from tests.watch.running import Claude


def session(home: Path, folder: Path, name: str, ago: float = 0.0) -> Path:
    """A session of Claude Code that was begun in a folder."""
    path = home / ".claude/projects" / dashes(str(folder)) / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rows(Claude(str(folder)).user("hello")))
    os.utime(path, (time.time() - ago,) * 2)
    return path


def test_of_a_project_and_of_all(tmp_path: Path) -> None:
    """`here`: the recent sessions of this project, the newest first; `all`: those of other projects too."""
    home, here, there = Path(os.environ["HOME"]), tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / ".git").mkdir(parents=True)
    first = session(home, here, "a", ago=60)
    second = session(home, here, "b")
    other = session(home, there, "c", ago=30)
    session(home, here, "old", ago=RECENT + 60)
    before = os.getcwd()
    os.chdir(here)
    try:
        env = dict(os.environ)
        assert Places("here", [], env).logs() == [second, first]
        assert Places("all", [], env).logs() == [second, other, first]
        assert Places("all", [], env).folders() == ([str(home / ".claude/projects")], True)
    finally:
        os.chdir(before)


def test_folders_of_codex() -> None:
    """Where it keeps sessions, and where it puts those that its user archives."""
    home = Path(os.environ["HOME"])
    for name in ("sessions", "archived_sessions"):
        (home / ".codex" / name).mkdir(parents=True)
    folders = [str(home / ".codex/archived_sessions"), str(home / ".codex/sessions")]
    assert Places("all", [], dict(os.environ)).folders() == (folders, True)


def test_named_ones(tmp_path: Path) -> None:
    """Named logs are followed whatever their age; changes are looked for in their folder and their sidecar's."""
    log = tmp_path / "chat.jsonl"
    log.write_text("")
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(log)
    places = Places("named", [link], os.environ)
    assert places.logs() == [link]
    assert places.folders() == (sorted([str(tmp_path), str(link.parent)]), False)
    (tmp_path / "chat.jsonl.ctxkit").mkdir()
    assert str(tmp_path / "chat.jsonl.ctxkit") in places.folders()[0]
