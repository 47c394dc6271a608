"""Whatever agents delete, the archive still says: the same list, the same contexts, under the same names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import Usage
from ctxkit.search.archive import NOWHERE, archive, items
from tests import homes
from tests.cli.runner import ctxkit, good
from tests.compressed import pack
from tests.damage.sessions import LINES

OWN = (".claude", ".codex", ".pi", ".gemini", ".copilot", ".qwen", ".cursor", ".local", ".continue")
"""What agents have in a home."""


@pytest.fixture
def home() -> Path:
    """The home of this test."""
    return Path(os.environ["HOME"])


def told(*words: str) -> list[dict[str, Any]]:
    """What `sessions --json` prints, but for where it is."""
    values = good("sessions", *words, "--json").values
    sidecars = [{**one, "sidecar": bool(one["sidecar"])} for one in values]
    return [{key: value for key, value in one.items() if key != "path"} for one in sidecars]


def delete(home: Path) -> None:
    """All that the agents have."""
    for name in OWN:
        shutil.rmtree(home / name, ignore_errors=True)


@pytest.mark.parametrize("format", homes.PROGRAMS)
def test_as_if_in_place(format: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every agent: listed with its project, named by `@`, the same bytes and ops, when the original is gone."""
    shop = homes.repository(tmp_path / "shop")
    path = homes.session(home, format, shop)
    assert ctxkit("mark", path, "here").code == 0
    monkeypatch.chdir(shop)
    looks = (["sessions", "--here", "-0"], ["cat", "@"], ["show", "@", "--json"], ["export", "@", "--to", "anthropic"])
    before = told(), told("--here"), [good(*look).out for look in looks[1:]]
    assert ctxkit("sessions", "--archive", tmp_path / "A").code == 0
    good("config", "set", "archive.dir", str(tmp_path / "A"), "--user")
    assert (told(), told("--here")) == before[:2]
    assert good(*looks[0]).out == os.fsencode(path) + b"\0"
    delete(home)
    assert (told(), told("--here"), [good(*look).out for look in looks[1:]]) == before
    copy = tmp_path / "A" / path.relative_to(home)
    assert good(*looks[0]).out == os.fsencode(copy) + b"\0"


@pytest.mark.parametrize("name", [name for name, one in LINES.items() if one.format in homes.PROGRAMS])
def test_ops_go_with_it(name: str, home: Path, tmp_path: Path) -> None:
    """A session of many messages, after ops, snapshots and config; the copy has a life of its own afterwards."""
    path = homes.session(home, LINES[name].format, "/shop")
    path.write_bytes(LINES[name].clean)
    good("forget", path, "3")
    good("snapshot", path, "-m", "kept")
    good("config", path, "set", "limit", "5000")
    looks = ("cat", "show", "log", "snapshots")
    before = [good(look, path, *(["--json"] if look != "cat" else [])).out for look in looks]
    good("sessions", "--archive", tmp_path / "A")
    copy = tmp_path / "A" / path.relative_to(home)
    delete(home)
    after = [good(look, copy, *(["--json"] if look != "cat" else [])).out for look in looks]
    assert [one.replace(os.fsencode(copy), os.fsencode(path)) for one in after] == before
    good("restore", copy, "kept", "--replace")


def test_what_belongs_to_a_session(home: Path, tmp_path: Path) -> None:
    """Its subagents and results that Claude Code keeps in its folder, the history, what names the project."""
    path = homes.session(home, "claude-code", "/shop")
    homes.session(home, "gemini-cli", "/shop")
    homes.session(home, "cursor", "/shop")
    made = [
        path.with_suffix("") / "subagents/agent-1.jsonl", path.with_suffix("") / "tool-results/a.txt",
        home / ".claude/history.jsonl", home / ".gemini/projects.json",
        *(one / ".project_root" for one in (home / ".gemini/tmp").iterdir()),
        home / ".cursor/projects/shop/.workspace-trusted",
    ]  # fmt: skip
    for one in made:
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text("{}\n")
    os.symlink("/etc/passwd", path.with_suffix("") / "link")
    list(archive(tmp_path / "A", os.environ))
    assert [one.read_text() for one in made] == [(tmp_path / "A" / one.relative_to(home)).read_text() for one in made]
    assert not (tmp_path / "A" / path.relative_to(home).with_suffix("") / "link").exists()


def test_sessions_in_one_folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pi may keep all in one: in the archive they are where pi keeps them else."""
    path = homes.session(home, "pi", "/shop")
    flat = tmp_path / "flat"
    flat.mkdir()
    path.rename(flat / path.name)
    (flat / "odd.jsonl").write_bytes(b'{"type":"session","version":3,"id":"x"}\n')
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(flat))
    assert sorted(one.name for one in items(os.environ)) == [
        f".pi/agent/sessions/--shop--/{path.name}", f".pi/agent/sessions/{NOWHERE}/odd.jsonl",
    ]  # fmt: skip
    good("sessions", "--archive", tmp_path / "A")
    good("config", "set", "archive.dir", str(tmp_path / "A"), "--user")
    assert len(told()) == 1
    (flat / path.name).unlink()
    assert [one["project"] for one in told()] == ["/shop"]


def test_an_agents_own_folder_is_no_archive(home: Path) -> None:
    """Nor is the home, nor a folder below it where sessions are."""
    homes.session(home, "claude-code", "/shop")
    for folder in (home, home / ".claude/projects", home / ".claude/projects/mine"):
        with pytest.raises(Usage, match="nothing was copied"):
            list(archive(folder, os.environ))


def test_a_file_that_cannot_be_read(home: Path, tmp_path: Path) -> None:
    """It is named, and the others are copied."""
    path = homes.session(home, "claude-code", "/shop")
    homes.session(home, "codex", "/shop")
    path.unlink()
    path.mkdir()
    (path.with_name("b.jsonl")).symlink_to("b.jsonl")
    assert len(list(archive(tmp_path / "A", os.environ))) == 1


def retire(path: Path) -> Path:
    """What Codex does with a thread that its user archives."""
    there = path.parents[4] / "archived_sessions" / path.name
    there.parent.mkdir(exist_ok=True)
    return path.rename(there)


@pytest.mark.parametrize("how", [(retire,), (pack,), (retire, pack)], ids=lambda how: " ".join(f.__name__ for f in how))
def test_what_codex_puts_away(
    how: tuple[Callable[[Path], Path], ...], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archived and compressed threads are listed and named as before, copied, and found when they are deleted.

    A copy of the time before counts as the same session.
    """
    shop = homes.repository(tmp_path / "shop")
    monkeypatch.chdir(shop)
    path = homes.session(home, "codex", shop)
    good("sessions", "--archive", tmp_path / "A")
    good("config", "set", "archive.dir", str(tmp_path / "A"), "--user")
    shown = good("show", "@", "--json").out
    for step in how:
        path = step(path)
    for words in ((), ("--here",)):
        assert good("sessions", *words, "-0").out == os.fsencode(path) + b"\0"
    assert [good("show", name, "--json").out for name in ("@", "@codex", "@3f2a91c0")] == [shown] * 3
    assert good("recall", "--here", "port").err == "1 hit in 1 exchange, 1 day\n"
    good("sessions", "--archive", tmp_path / "A")
    copy = tmp_path / "A" / path.relative_to(home)
    assert copy.read_bytes() == path.read_bytes()
    delete(home)
    assert good("show", "@", "--json").out == good("show", copy, "--json").out == shown


def test_agents_of_an_agent(home: Path, tmp_path: Path) -> None:
    """They are copied, and are no sessions."""
    path = homes.session(home, "codex", "/shop")
    child = path.with_name(path.name.replace("3f2a91c0", "3f2a91c1"))
    child.write_bytes(path.read_bytes().replace(b'"source":"cli"', b'"source":{"subagent":"review"}'))
    assert [one.session for one in items(os.environ)] == [True, False]
    assert good("sessions", "--archive", tmp_path / "A").err.startswith("1 session: 1 new")
    assert (tmp_path / "A" / child.relative_to(home)).exists()
