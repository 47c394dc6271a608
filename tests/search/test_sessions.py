"""The sessions below folders: which are found, in which order, and what stands beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import NoSuchLog, NothingMatched
from ctxkit.search.sessions import Found, Session, chosen, find_sessions, homes
from tests import homes as made
from tests.cli.runner import FOREIGN, SMALL, lines, message
from tests.damage.rows import FILES, JSON, damaged
from tests.damage.sessions import ALL, LINES


def put(path: Path, raw: bytes = SMALL) -> Path:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


def names(found: Found, folder: Path) -> list[str]:
    """The paths of what was found."""
    return [str(one.path.relative_to(folder)) for one in found.sessions]


def at(minute: int) -> bytes:
    """A log of that time."""
    return lines(message("user", "hi", minute), message("assistant", "yes", minute))


def test_newest_first_whatever_the_format(tmp_path: Path) -> None:
    """By the newest message; where no message has a time, by the file's; files that are no logs are passed over."""
    put(tmp_path / "b/2.jsonl", at(2))
    put(tmp_path / "1.jsonl", at(1))
    put(tmp_path / "b/c/3.jsonl", at(3))
    os.utime(put(tmp_path / "file.jsonl", lines(message("user", "hi"))), (1, 1))
    put(tmp_path / "notes.txt", b"buy milk\n")
    put(tmp_path / "package.json", b'{"name":"x"}')
    assert names(find_sessions([tmp_path]), tmp_path) == ["b/c/3.jsonl", "b/2.jsonl", "1.jsonl", "file.jsonl"]


def test_all_formats(tmp_path: Path) -> None:
    """Told by their content, whatever they are called."""
    for name, session in ALL.items():
        put(tmp_path / name, session.clean)
    found = {one.path.name: one.glance.format for one in find_sessions([tmp_path]).sessions}
    assert found == {name: session.format for name, session in ALL.items()}


def test_each_once(tmp_path: Path) -> None:
    """Links, loops, places that overlap, a file that is named."""
    one = put(tmp_path / "a/1.jsonl")
    os.symlink(tmp_path, tmp_path / "a/loop")
    os.symlink(one, tmp_path / "z.jsonl")
    os.symlink("self", tmp_path / "self")
    os.symlink("nowhere", tmp_path / "dangling")
    os.mkfifo(tmp_path / "fifo")
    found = find_sessions([tmp_path / "a", tmp_path, one, tmp_path / "a/loop"])
    assert names(found, tmp_path) == ["a/1.jsonl"]
    assert [path.name for path, _ in found.failed] == ["dangling", "self"]
    assert [one.path for one in find_sessions([one]).sessions] == [one]


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    """Is an error, not an empty list."""
    with pytest.raises(NoSuchLog):
        find_sessions([tmp_path / "none"])


def test_what_stands_beside(tmp_path: Path) -> None:
    """Checkpoints are counted, ops that are damaged make the session so, a sidecar whose log is gone is named."""
    path = put(tmp_path / "s.jsonl", FOREIGN)
    [bare] = find_sessions([tmp_path]).sessions
    assert (bare.sidecar, bare.checkpoints, bare.state) == (None, 0, "interrupted")
    Log.open(path).forget([1])
    for name in ("20260212T143000Z-a.json", "20260212T143001Z-b.json", ".tmp.json", "note.txt"):
        put(tmp_path / "s.jsonl.ctxkit/snapshots" / name, b"{}")
    put(tmp_path / "s.jsonl.ctxkit/snapshots.2/20260212T143000Z-c.json", b"{}")
    (tmp_path / "s.jsonl.ctxkit/snapshots.3").symlink_to("snapshots")
    put(tmp_path / "gone.jsonl.ctxkit/ops.jsonl", b"{}")
    found = find_sessions([tmp_path])
    assert [(one.sidecar, one.checkpoints, one.state) for one in found.sessions] == [
        (tmp_path / "s.jsonl.ctxkit", 3, "interrupted")
    ]
    assert found.orphans == [tmp_path / "gone.jsonl.ctxkit"]
    with (tmp_path / "s.jsonl.ctxkit/ops.jsonl").open("ab") as ops:
        ops.write(b'{"ctxkit": broken\n{}\n')
    assert find_sessions([tmp_path]).sessions[0].state == "damaged"


def test_agents_of_an_agent(tmp_path: Path) -> None:
    """Their logs are left out beside their session; alone, or asked for, they are there."""
    put(tmp_path / "s.jsonl", FOREIGN)
    put(tmp_path / "s/subagents/agent-a.jsonl", FOREIGN)
    put(tmp_path / "lost/subagents/agent-b.jsonl", FOREIGN)
    assert names(find_sessions([tmp_path]), tmp_path) == ["lost/subagents/agent-b.jsonl", "s.jsonl"]
    assert len(find_sessions([tmp_path], agents=True).sessions) == 3
    assert len(find_sessions([tmp_path / "s"]).sessions) == 1
    put(tmp_path / "s/subagents/workflows/wf_1/agent-w.jsonl", FOREIGN)
    assert names(find_sessions([tmp_path]), tmp_path) == ["lost/subagents/agent-b.jsonl", "s.jsonl"]


def test_agents_by_what_is_in_them(tmp_path: Path) -> None:
    """Where their place does not tell, their first row does: beside sessions, and in the agents' own folders."""
    env = {"HOME": str(tmp_path)}
    path = made.session(tmp_path, "codex", "/shop")
    child = path.with_name(path.name.replace("3f2a91c0", "3f2a91c1"))
    child.write_bytes(path.read_bytes().replace(b'"source":"cli"', b'"source":{"subagent":"review"}'))
    side = path.read_bytes().replace(b'"source":"cli"', b'"thread_source":"subagent"')
    put(tmp_path / ".codex/archived_sessions" / child.name, side)
    for index in (False, True, True):
        for places in (None, [tmp_path / ".codex"]):
            found = find_sessions(places, env=env, index=index)
            assert ([one.path for one in found.sessions], found.agents) == ([path], 2)
            assert len(find_sessions(places, env=env, agents=True).sessions) == 3
    assert [one.path for one in find_sessions([child, path], env=env).sessions] == [child, path]
    path.unlink()
    assert find_sessions(env=env).sessions == []
    assert len(find_sessions([tmp_path / ".codex"], env=env).sessions) == 2


def test_homes(tmp_path: Path) -> None:
    """The agents' own folders, as far as they exist; variables name others."""
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "elsewhere")}
    with pytest.raises(NothingMatched, match="claude/projects"):
        homes(env)
    put(tmp_path / ".claude/projects/-src/a.jsonl", FOREIGN)
    put(tmp_path / ".codex/sessions/2026/01/01/rollout-a.jsonl", FOREIGN)
    put(tmp_path / "elsewhere/sessions/2026/rollout-b.jsonl", FOREIGN)
    assert homes(env) == [tmp_path / ".claude/projects", tmp_path / "elsewhere/sessions"]
    found = find_sessions(env=env)
    assert sorted(path.name for path in (one.path for one in found.sessions)) == ["a.jsonl", "rollout-b.jsonl"]


def test_config_of_a_folder_names_the_format(tmp_path: Path) -> None:
    """As for every command; a config that is broken is a failure of that log alone."""
    put(tmp_path / "a/1.jsonl", FOREIGN)
    put(tmp_path / "a/2.jsonl", SMALL)
    put(tmp_path / "a/1.jsonl.ctxkit/config.toml", b'format = "chat"\n')
    put(tmp_path / "b/3.jsonl", SMALL)
    put(tmp_path / "b/3.jsonl.ctxkit/config.toml", b"broken")
    found = find_sessions([tmp_path])
    assert "b/3.jsonl" not in names(found, tmp_path)
    assert [str(path.relative_to(tmp_path)) for path, _ in found.failed][-1] == "b/3.jsonl"
    assert {one.path.name: one.glance.format for one in found.sessions}["2.jsonl"] == "chat"


@pytest.fixture
def four(tmp_path: Path) -> list[Session]:
    """Sessions of two formats at three minutes; of one minute, in the order of their paths."""
    for minute in (1, 2, 3):
        put(tmp_path / f"{minute}.jsonl", at(minute))
    put(tmp_path / "0.jsonl", FOREIGN)
    return find_sessions([tmp_path]).sessions


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, "3021"), ({"limit": 2}, "30"), ({"since": 1769940120.0}, "302"), ({"format": "claude-code"}, "0"),
        ({"format": "openai"}, "321"), ({"format": "auto"}, "3021"), ({"format": "codex"}, ""),
        ({"format": "chat", "limit": 1}, "3"), ({"matches": lambda one: one.path.name == "1.jsonl", "limit": 1}, "1"),
    ],
)  # fmt: skip
def test_chosen(four: list[Session], words: dict[str, object], expected: str) -> None:
    """All of what is asked for holds."""
    assert "".join(one.path.stem for one in chosen(four, **words)) == expected  # type: ignore[arg-type]


def test_damage_of_every_kind(tmp_path: Path) -> None:
    """Costs a session its state, and no other anything."""
    for row in (*FILES, *JSON):
        for name in LINES:
            put(tmp_path / row / name, damaged(row, name))
    found = find_sessions([tmp_path], index=False)
    assert [(path, error.message) for path, error in found.failed] == []
    assert len(found.sessions) > 200
    assert {one.state for one in found.sessions} == {"clean", "interrupted", "damaged"}
