"""A session put where its agent looks for it: which agent, where, under which id, and what is left alone."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import CannotCreate, CtxkitError, NoPermission, NothingToSend, Usage
from ctxkit.export.agents import AGENTS
from ctxkit.formats.session_folders import slug
from tests.shared import HERE

GUIDE = HERE.parent / "fixtures/guide"
ID = "5e551011-0000-4000-8000-0000000000aa"
SESSIONS = {
    "claude-code": GUIDE / "session.jsonl",
    "codex": HERE.parent / "fixtures/truth-codex/no-base.jsonl",
    "pi": HERE.parent / "fixtures/truth-pi/aborted.jsonl",
    "gemini-cli": HERE.parent / "fixtures/truth-gemini-cli/jsonl-basic.jsonl",
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that work is done in, which this process is in, beside a home."""
    (tmp_path / "home").mkdir()
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder


def source(work: Path, agent: str) -> Path:
    """A session of an agent, outside of its folders."""
    return Path(shutil.copy(SESSIONS[agent], work / f"{agent}.jsonl"))


def words(log: Log) -> list[str]:
    """What each message of the context says."""
    return [repr(log.full(entry).parts) for entry in log.entries()]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_edited_session_is_where_its_agent_looks(agent: str, work: Path) -> None:
    """A new file with the context, the folder that was named and a new id, for its owner alone; the source stays."""
    path = source(work, agent)
    log = Log.open(path)
    log.forget("2", include_protected=True)
    before = path.read_bytes()
    log = Log.open(path)
    umask = os.umask(0)
    try:
        made = log.resume(cwd=str(work))
    finally:
        os.umask(umask)
    assert (path.read_bytes(), made.cwd, made.agent) == (before, str(work), agent)
    folders = [one for one in made.path.parents if work.parent / "home" in one.parents]
    assert {stat.S_IMODE(one.stat().st_mode) for one in folders} == {0o700}
    env = {"HOME": str(work.parent / "home")}
    assert made.path == AGENTS[agent].place(env, str(work), made.path.name) and made.id[:8] in made.path.name
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert made.line == " ".join(made.command) and made.id in made.line
    assert words(Log.open(made.path)) == words(log)
    rows = [json.loads(line) for line in made.path.read_text().splitlines()]
    named = {row.get("cwd") for row in rows} | {(row.get("payload") or {}).get("cwd") for row in rows}
    assert named - {None} == ({str(work)} if agent != "gemini-cli" else set())
    if agent == "gemini-cli":  # it keeps the folder beside its sessions
        assert (made.path.parents[1] / ".project_root").read_text() == str(work)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_is_as_it_was_is_not_written_again(agent: str, work: Path) -> None:
    """Where its agent looks and no op changed it: its own id; a copy where that is asked for, or its folder moved."""
    log = Log.open(source(work, agent))
    first = log.resume(cwd=str(work), id=ID)
    assert first.id == ID and first.written is not None
    there = Log.open(first.path)
    again = there.resume()
    assert (again.id, again.path, again.written, again.line) == (ID, first.path, None, first.line)
    assert there.resume(copy=True).path != first.path
    assert there.resume(cwd="..").cwd == str(work.parent)
    there.forget("2", include_protected=True)
    assert Log.open(first.path).resume().written is not None
    assert not list(first.path.parent.glob(f"*{ID}*.ctxkit/*.jsonl.jsonl"))


def test_a_session_for_another_agent(work: Path) -> None:
    """A log of no agent, or of another one, where --to names one; it begins in the folder that this is."""
    chat = Log.open(shutil.copy(GUIDE / "chat.jsonl", work))
    made = chat.resume("codex")
    assert made.line == f"codex resume {made.id}"
    assert json.loads(made.path.read_text().splitlines()[0])["payload"]["cwd"] == str(work)
    with pytest.raises(Usage, match="not a session that an agent can resume") as caught:
        chat.resume()
    assert "claude-code" in caught.value.hint
    with pytest.raises(Usage, match="no session of gemini can be written"):
        chat.resume("gemini")
    moved = Log.open(source(work, "claude-code")).resume("pi", moves=[("/home/ada", str(work.parent))], cwd=str(work))
    assert json.loads(moved.path.read_text().splitlines()[0])["cwd"] == str(work)


def test_moves(work: Path) -> None:
    """What moved is found by the beginning of its path; a folder that is not there is refused before anything is."""
    log = Log.open(source(work, "claude-code"))
    with pytest.raises(Usage, match="/home/ada/shop, in which its session ran") as caught:
        log.resume()
    assert "--cwd" in caught.value.hint
    with pytest.raises(Usage, match="in which it is to continue"):
        log.resume(moves=[("/home/ada", str(work / "none"))])
    assert not (work.parent / "home/.claude").exists()
    (work / "shop").mkdir()
    made = log.resume(moves=[("/home/ada", str(work))])
    assert (made.cwd, made.path.parent.name) == (str(work / "shop"), slug(str(work / "shop")))
    assert made.line == f"cd {work / 'shop'} && claude --resume {made.id}"


def test_ids(work: Path) -> None:
    """One that is asked for decides all others; no session that is there is written over; only a UUID is one."""
    log = Log.open(source(work, "claude-code"), clock=lambda: 1770908400.0)
    first = log.resume(cwd=str(work), id=ID.upper())
    kept = first.path.read_bytes()
    with pytest.raises(CannotCreate, match="has this id already"):
        log.resume(cwd=str(work), id=ID)
    with pytest.raises(CannotCreate, match="has this id already"):
        log.resume(cwd=str(work.parent), id=ID)
    assert first.path.read_bytes() == kept
    first.path.unlink()
    assert log.resume(cwd=str(work), id=ID).path.read_bytes() == kept
    with pytest.raises(Usage, match="not a UUID"):
        log.resume(cwd=str(work), id="mine")


def test_dry_run(work: Path) -> None:
    """Nothing is written, no folder either."""
    log = Log.open(source(work, "pi"))
    log.dry_run = True
    made = log.resume(cwd=str(work))
    assert made.written is not None and list((work.parent / "home").iterdir()) == []


def test_what_cannot_be_written(work: Path) -> None:
    """A file where a folder has to be, a folder that nobody may write in, an empty context."""
    log = Log.open(source(work, "pi"))
    home = work.parent / "home"
    (home / ".pi").write_text("")
    with pytest.raises(CannotCreate, match="nothing was written"):
        log.resume(cwd=str(work))
    (home / ".pi").unlink()
    log.clear()
    with pytest.raises(NothingToSend):
        Log.open(log.opening.path or "").resume(cwd=str(work))


def test_no_permission(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that cannot be made is named."""
    made = Log.open(source(work, "pi")).resume(cwd=str(work))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    shutil.rmtree(made.path.parent)
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(NoPermission, match="sessions"):
        made.write()
    assert issubclass(NoPermission, CtxkitError)
