"""Names of sessions: what each means, and what is said of one that means none or several."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit.errors import AmbiguousSession, CtxkitError, NoSuchSession
from ctxkit.search.naming import AGENTS, find_session, is_name, short_ids
from ctxkit.search.project_sessions import SessionFile
from ctxkit.search.resumed import note
from tests.homes import repository, session

LOGIN = "3f2a91c0-0000-4000-8000-000000000001"
SLOW = "3f2b0000-0000-4000-8000-000000000002"
PORT = "019ed99c-d00d-7613-b2e7-d2f512f78afd"
ADDED = "addfee00-0000-4000-8000-000000000003"
ELSEWHERE = "77777777-0000-4000-8000-000000000007"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four sessions of a project, and one of another."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    session(tmp_path, "claude-code", tmp_path / "shop", LOGIN, "The login fails", at=400)
    session(tmp_path, "claude-code", tmp_path / "shop", SLOW, "The login is slow: add an index", at=300)
    session(tmp_path, "codex", tmp_path / "shop", PORT, "Where is the port set?", at=200)
    session(tmp_path, "pi", tmp_path / "shop", ADDED, "Write the tests", at=170)
    session(tmp_path, "claude-code", tmp_path / "other", ELSEWHERE, "Another login", at=500)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("@", LOGIN), ("@1", LOGIN), ("@2", SLOW), ("@3", PORT), ("@4", ADDED), ("@002", SLOW),
        ("@claude", LOGIN), ("@claude-code", LOGIN), ("@codex", PORT), ("@PI", ADDED),
        (f"@{LOGIN}", LOGIN), ("@3f2a", LOGIN), ("@3F2A91C0", LOGIN), ("@019ed99c-d", PORT),
        ("@port", PORT), ("@where PORT", PORT), ("@slow login", SLOW), ("@fails", LOGIN), ("@write", ADDED),
        (f"@{ELSEWHERE}", ELSEWHERE), ("@77777777", ELSEWHERE),
    ],
)  # fmt: skip
def test_what_a_name_means(home: Path, name: str, key: str) -> None:
    """A place in time, an agent, an id, words; an id alone reaches another project."""
    assert find_session(name, os.environ).file.id == key


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("@login", AmbiguousSession, ("fits 2 sessions", "@3f2a91c0", "@3f2b0000", "The login fails")),
        ("@3f2", AmbiguousSession, ("fits 2 sessions",)),
        ("@add", AmbiguousSession, ("fits 2 sessions", "@addfee00", "@3f2b0000")),
        ("@zebra", NoSuchSession, ("no session of", "@3f2a91c0", "@019ed99c")),
        ("@777", NoSuchSession, ("has 4 sessions",)),
        ("@7777777", NoSuchSession, ("no session of",)),
        ("@0", NoSuchSession, ("counted from 1",)),
        ("@5", NoSuchSession, ("has 4 sessions",)),
        ("@gemini", NoSuchSession, ("no session of gemini-cli",)),
        ("@opencode", NoSuchSession, ("keeps its sessions in a database",)),
        ("@another", NoSuchSession, ("no session of",)),
    ],
)
def test_what_means_none_or_several(home: Path, name: str, kind: type[CtxkitError], said: tuple[str, ...]) -> None:
    """An error that names the candidates; words of another project's title reach nothing."""
    with pytest.raises(kind) as error:
        find_session(name, os.environ)
    for words in said:
        assert words in error.value.message


def test_a_title_that_makes_up_lines(home: Path) -> None:
    """Names and folders are one line each."""
    with pytest.raises(NoSuchSession) as error:
        find_session("@a\nctxkit: all is well", os.environ)
    assert len(error.value.message.split("\n")) == 5 and "\nctxkit:" not in error.value.message


@pytest.mark.parametrize(("apart", "name", "rival"), [
    (60, "@", True), (61, "@", False), (0, "@", True), (1, "@2", True), (1, "@codex", False), (1, "@slow", False),
])  # fmt: skip
def test_rivals(home: Path, apart: int, name: str, rival: bool) -> None:
    """Two that were written within a minute of each other, where the name goes by time."""
    for path in home.glob(".claude/projects/*shop/*"):
        if SLOW in path.name:
            session(home, "claude-code", home / "shop", SLOW, "The login is slow", at=400 - apart)
    assert (find_session(name, os.environ).rival is not None) is rival


def test_a_copy_is_no_rival(home: Path) -> None:
    """Of a session and the copy that `resume` or `watch` made of it, written within a minute, each is meant alone."""
    paths = {one.stem: one for one in home.glob(".claude/projects/*shop/*")}
    session(home, "claude-code", home / "shop", SLOW, "The login is slow", at=399)
    assert find_session("@", os.environ).rival is not None
    note(paths[LOGIN], paths[SLOW], os.environ)
    assert [find_session(name, os.environ).rival for name in ("@", "@2")] == [None, None]


def test_what_watch_wrote_is_not_the_newest(home: Path) -> None:
    """A copy that `watch` made by itself stands behind its source, however new; not once somebody went on with it, and
    not if the source is gone.
    """
    paths = {one.stem: one for one in home.glob(".claude/projects/*shop/*")}
    names, (older, newer) = ("@", "@2", "@3", "@claude"), COPIES
    copies = [session(home, "claude-code", home / "shop", key, "The login", at=at) for key, at in COPIES.items()]
    for copy in copies:
        note(copy, paths[SLOW], os.environ, unasked=True)
    assert [find_session(name, os.environ).file.id for name in names] == [LOGIN, SLOW, newer, LOGIN]
    assert all(find_session(name, os.environ).rival is None for name in ("@", "@2"))
    with copies[0].open("ab") as file:
        file.write(b"\n")
    assert find_session("@", os.environ).file.id == older
    paths[SLOW].unlink()
    assert find_session("@2", os.environ).file.id == newer


COPIES = {"3f2c0000-0000-4000-8000-000000000001": 600, "3f2c0000-0000-4000-8000-000000000002": 620}


def test_names_and_paths() -> None:
    """All names begin with @, and nothing else does; a path has a folder before it."""
    assert [is_name(word) for word in ("@", "@2", "./@", "a@b", "", "-")] == [True, True, False, False, False, False]
    assert {"codex", "claude", "pi", "gemini"} <= AGENTS.keys()


def test_short_ids() -> None:
    """As long as it takes to tell them apart, eight characters at least."""
    ids = ("019ed99c-d00d", "019ed99c-d11d", "3f2a91c0-1111", "x")
    files = [SessionFile("", "codex", 0, 1, "", key) for key in ids]
    assert short_ids(files) == ["019ed99c-d0", "019ed99c-d1", "3f2a91c0", "x"]
