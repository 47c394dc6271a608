"""The sessions of a project: which folder it is, and what is found of each program."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxkit.errors import NoSuchLog
from ctxkit.search import project_sessions as module
from ctxkit.search.project_sessions import all_files, home_folders, project, project_sessions
from tests.compressed import pack
from tests.homes import PROGRAMS, dashes, repository, rows, session


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and the working folder a project in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    monkeypatch.delenv("PWD", raising=False)
    return tmp_path


def found(*, format: str | None = None, agents: bool = False) -> list[str]:
    """The folders of the project's sessions, newest first."""
    return [one.folder for one in project_sessions(os.environ, project(), format, agents=agents)]


def test_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository that a folder is in, else the folder; a working tree of its own is one; links are seen through."""
    (home / "shop/src/deep").mkdir(parents=True)
    (home / "plain/inner").mkdir(parents=True)
    repository(home / "shop/other")
    os.symlink(home / "shop", home / "link")
    assert project(home / "shop/src/deep").folder == str(home / "shop")
    assert project(home / "shop/src").inside == (str(home / "shop/src"), str(home / "shop"))
    assert project(home / "plain/inner").folder == str(home / "plain/inner")
    assert project(home / "shop/other").folder == str(home / "shop/other")
    linked = project(home / "link/src")
    assert linked.folder == str(home / "shop") and linked.holds(str(home / "link/src"))
    monkeypatch.setenv("PWD", str(home / "link"))
    assert project().spellings == (str(home / "shop"), str(home / "link"))
    held = [str(home / "shop"), f"{home}/shop/src/../src", f"{home}/shop-old", str(home), "", "shop"]
    assert [project().holds(one) for one in held] == [True, True, False, False, False, False]


def test_a_working_folder_that_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no project, and that is said."""
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    with pytest.raises(NoSuchLog):
        project()


@pytest.mark.parametrize("format", PROGRAMS)
def test_each_program(home: Path, format: str) -> None:
    """Its sessions of the project's top are found, and none of a folder beside it or above it."""
    path = session(home, format, home / "shop", at=1)
    for i, beside in enumerate(("shop-old", "shop.old", "sho", "")):
        session(home, format, home / beside, f"9999999{i}-0000-4000-8000-000000000000")
    [one] = project_sessions(os.environ, project())
    assert (one.path, one.format, one.folder) == (str(path), format, str(home / "shop"))
    assert one.id == "3f2a91c0-1111-4222-8333-444455556666"
    assert [one.format for one in project_sessions(os.environ, project(), format)] == [format]
    assert len(list(all_files(os.environ))) == 5


@pytest.mark.parametrize("format", sorted(PROGRAMS.keys() - {"gemini-cli", "cursor"}))
def test_below(home: Path, format: str) -> None:
    """A session that was begun in a folder below the top is the project's."""
    session(home, format, home / "shop/src/a.b")
    assert found() == [f"{home}/shop/src/a.b"]


def test_where_the_folder_alone_says_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gemini CLI and Cursor: by the names of folders from here up, and by what the program noted of others."""
    (home / "shop/src").mkdir()
    for format in ("gemini-cli", "cursor"):
        session(home, format, home / "shop/src")
    assert found() == []
    monkeypatch.chdir(home / "shop/src")
    assert found() == [f"{home}/shop/src"] * 2
    monkeypatch.chdir(home / "shop")
    named, noted, marked = (session(home, "gemini-cli", name).parent.parent for name in ("/a", "/b", "/c"))
    (home / ".gemini/projects.json").write_text(json.dumps({"projects": {f"{home}/shop/noted": noted.name}}))
    (marked / ".project_root").write_text(f"{home}/shop/marked\n")
    trusted = session(home, "cursor", "/elsewhere").parents[2] / ".workspace-trusted"
    trusted.write_text(json.dumps({"workspacePath": f"{home}/shop/trusted"}))
    assert sorted(found()) == [f"{home}/shop/{name}" for name in ("marked", "noted", "trusted")]
    (home / ".gemini/projects.json").write_text("[")
    assert len(found()) == 2 and named.exists()


def test_newest_first_whatever_the_program(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By when a file was written last, and no further than is asked."""
    order = list(PROGRAMS)
    for i, format in enumerate(order):
        session(home, format, home / "shop", at=-i)
    assert [one.format for one in project_sessions(os.environ, project())] == order
    reads: list[str] = []
    real = module.session_head
    monkeypatch.setattr(module, "session_head", lambda one: reads.append(one.format) or real(one))
    assert next(project_sessions(os.environ, project())).format == order[0] and reads == order[:1]


def test_what_is_no_session_of_a_person(home: Path) -> None:
    """Agents of an agent, empty files, files without a message and lists of sessions are left out."""
    path = session(home, "claude-code", home / "shop")
    path.with_name("agent-1.jsonl").write_bytes(path.read_bytes())
    path.with_name("empty.jsonl").write_bytes(b"")
    path.with_name("mode.jsonl").write_bytes(rows({"type": "mode", "mode": "plan", "sessionId": "x"}))
    path.with_name("folder.jsonl").mkdir()
    session(home, "continue", home / "shop").with_name("sessions.json").write_text("[]")
    child = session(home, "codex", home / "shop", "019a0000-0000-7000-8000-000000000001")
    child.write_bytes(child.read_bytes().replace(b'"source":"cli"', b'"source":{"subagent":"review"}'))
    assert sorted(one.format for one in project_sessions(os.environ, project())) == ["claude-code", "continue"]
    assert len(found(agents=True)) == 3


def test_what_only_looks_like_an_agent(home: Path) -> None:
    """An older Claude Code begins a session with a sidechain in it: it is the session of a person."""
    path = session(home, "claude-code", home / "shop")
    side = {"type": "user", "isSidechain": True, "cwd": str(home / "shop"), "uuid": "w", "parentUuid": None}
    path.write_bytes(rows(side) + path.read_bytes())
    assert found() == [str(home / "shop")]
    path.write_bytes(rows(side | {"agentId": "a1"}))
    assert (found(), found(agents=True)) == ([], [str(home / "shop")])


def test_compressed_and_archived(home: Path) -> None:
    """Codex compresses what was not used for long, and puts away what its user archives; the plain file counts."""
    first, second, third = (session(home, "codex", home / "shop", f"019a0000-0000-7000-8000-{i:012}") for i in range(3))
    pack(second)
    (home / ".codex/archived_sessions").mkdir()
    pack(third.rename(home / ".codex/archived_sessions" / third.name))
    first.with_name(first.name + ".zst").write_bytes(b"being written")
    some = {one.id: Path(one.path).name for one in project_sessions(os.environ, project())}
    assert some == {
        f"019a0000-0000-7000-8000-{i:012}": one.name + end
        for i, (one, end) in enumerate([(first, ""), (second, ".zst"), (third, ".zst")])
    }
    assert {one.id for one in all_files(os.environ, "codex")} == set(some)


def test_a_long_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code ends the name of a long folder in a digest: what stands before it is enough."""
    folder = home / ("x" * 120) / ("y" * 120)
    repository(folder)
    for i, begun in enumerate((folder, folder / "a", folder / "inner/a")):
        slug = home / ".claude/projects" / (dashes(str(begun))[:200] + f"-1a2b3c{i}")
        slug.mkdir(parents=True)
        (slug / f"{i}.jsonl").write_bytes(PROGRAMS["claude-code"](home, str(begun), str(i), "hi")[1])
    monkeypatch.chdir(folder)
    assert sorted(found()) == [str(folder), f"{folder}/a", f"{folder}/inner/a"]


def test_one_folder_for_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pi may keep all its sessions in a folder that a variable names: their first rows say whose they are."""
    for i, folder in enumerate(("shop", "other")):
        path = session(home, "pi", home / folder, f"3f2a91c{i}-0000-4000-8000-000000000000")
        (home / "flat").mkdir(exist_ok=True)
        path.rename(home / "flat" / path.name)
    assert found() == []
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(home / "flat"))
    assert found() == [str(home / "shop")]


def test_homes_by_their_variables(tmp_path: Path) -> None:
    """A variable of a program moves its home."""
    env = {"HOME": str(tmp_path), "CODEX_HOME": "/c"}
    assert home_folders(env)["codex"] == Path("/c/sessions") and home_folders(env)["pi"].is_relative_to(tmp_path)
