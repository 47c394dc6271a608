"""The folder beside a log."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.errors import CannotCreate, Locked, NoPermission, UpdatedElsewhere
from ctxkit.store import sidecar as module
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type":"user"}\n')
    return path


def test_nothing_is_created_by_looking(log: Path) -> None:
    """Paths only."""
    sidecar = Sidecar(log)
    assert sidecar.folder == log.with_name("session.jsonl.ctxkit")
    assert sidecar.ops_path.name == "ops.jsonl"
    assert sidecar.config_path.name == "config.toml"
    assert not sidecar.folder.exists()
    assert sidecar.notices == []


def test_the_root_folder_has_a_place_too() -> None:
    """`ctxkit snapshots /` says that it is a folder."""
    assert Sidecar(Path("/")).folder == Path("/.ctxkit")


def test_it_is_beside_the_target_of_a_link(log: Path, tmp_path: Path) -> None:
    """One log, one sidecar, by whatever path."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    link = other / "link.jsonl"
    link.symlink_to(log)
    assert Sidecar(link).folder == Sidecar(log).folder
    assert Sidecar(link, other).folder == other
    assert Sidecar(None, other).ops_path == other / "ops.jsonl"


def test_ops_are_appended_and_private(log: Path) -> None:
    """The folder 0700, the file 0600, created by the first op; the log itself is not touched."""
    before = log.read_bytes(), log.stat().st_mtime_ns
    sidecar = Sidecar(log)
    sidecar.append(b'{"ctxkit":"mark"}')
    sidecar.append(b'{"ctxkit":"undo"}')
    assert sidecar.ops_path.read_bytes() == b'{"ctxkit":"mark"}\n{"ctxkit":"undo"}\n'
    assert sidecar.folder.stat().st_mode & 0o777 == 0o700
    assert sidecar.ops_path.stat().st_mode & 0o777 == 0o600
    assert (log.read_bytes(), log.stat().st_mtime_ns) == before


def test_the_first_op_makes_its_folder_durable(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where whoever made folder and file was killed before their names were on the disk."""
    synced: list[Path] = []
    monkeypatch.setattr(module, "sync_folder", synced.append)
    sidecar = Sidecar(log)
    sidecar.folder.mkdir()
    sidecar.ops_path.touch()
    sidecar.append(b"{}")
    assert synced == [sidecar.folder, log.parent]
    sidecar.append(b"{}")
    assert len(synced) == 2


def test_an_op_on_a_log_that_changed_is_refused(log: Path) -> None:
    """The log is the other program's, but the op was decided on what it held."""
    sidecar = Sidecar(log)
    with open_log(log) as source:
        seen = source.seen
    with log.open("ab") as more:
        more.write(b'{"type":"assistant"}\n')
    sidecar.append(b"{}", log, seen)
    log.write_bytes(b"")
    with pytest.raises(UpdatedElsewhere):
        sidecar.append(b"{}", log, seen)
    assert sidecar.ops_path.read_bytes() == b"{}\n"


def test_a_first_op_that_fails_leaves_no_file(log: Path) -> None:
    """But what another process appended to the new file stays."""
    sidecar = Sidecar(log)
    with open_log(log) as source:
        seen = source.seen
    with log.open("ab") as more:
        more.write(b'{"type":"assistant"}\n')

    def refuse(ops: bool) -> None:
        assert sidecar.ops_path.exists()
        raise Locked("refused")

    def refuse_after_another(ops: bool) -> None:
        sidecar.ops_path.write_bytes(b"{}\n")
        raise Locked("refused")

    with pytest.raises(Locked):
        sidecar.append(b"{}", log, seen, recheck=refuse)
    assert not sidecar.ops_path.exists()
    with pytest.raises(Locked):
        sidecar.append(b"{}", log, seen, recheck=refuse_after_another)
    assert sidecar.ops_path.read_bytes() == b"{}\n"


def test_ops_that_go_while_an_op_is_appended(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that created the file failed and removed it: the command can be tried again."""
    sidecar = Sidecar(log)
    plain = module.append_line

    def gone(path: Path, *rest: object, **more: object) -> None:
        path.unlink()
        plain(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "append_line", gone)
    with pytest.raises(UpdatedElsewhere):
        sidecar.append(b"{}")
    monkeypatch.undo()
    sidecar.append(b"{}")


def test_an_op_sweeps_what_a_killed_process_left(log: Path) -> None:
    """The next writing command does, whatever it writes."""
    sidecar = Sidecar(log)
    sidecar.append(b"{}")
    (sidecar.folder / ".ctxkit-left").touch()
    sidecar.append(b"{}")
    assert [path.name for path in sidecar.folder.iterdir()] == ["ops.jsonl"]


def test_another_user_s_folder_is_ignored(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that came with somebody's files must not act: its files are not found, and nothing is written."""
    Sidecar(log).write_config("[window]\n")
    folder, real = Sidecar(log).folder, os.stat
    stranger = SimpleNamespace(st_uid=4711)
    monkeypatch.setattr(module.os, "stat", lambda path, **more: stranger if path == folder else real(path, **more))
    sidecar = Sidecar(log)
    monkeypatch.setattr(module.os, "stat", real)
    assert sidecar.ignored
    assert "belongs to another user" in sidecar.notices[0]
    assert not sidecar.config_path.exists()
    assert not sidecar.ops_path.exists()
    for write in (lambda: sidecar.append(b"{}"), lambda: sidecar.write_config("")):
        with pytest.raises(NoPermission, match="nothing was written"):
            write()


def test_a_file_in_the_way(log: Path) -> None:
    """Exit 73, with another place to put it."""
    log.with_name("session.jsonl.ctxkit").touch()
    with pytest.raises(CannotCreate, match="is not a folder"):
        Sidecar(log).append(b"{}")
    long = log.with_name("n" * 250)
    long.touch()
    with pytest.raises(CannotCreate) as failed:
        Sidecar(long).append(b"{}")
    assert "--sidecar" in failed.value.hint


def test_a_change_is_made_under_the_lock(log: Path) -> None:
    """Two that read, change and replace at once: the second one waits."""
    first, second = Sidecar(log), Sidecar(log)
    with first.locked(), pytest.raises(Locked), second.locked(0.01):
        pytest.fail("both hold it")
    with second.locked():
        second.write_config("a = 1\n")
    assert second.config_path.read_text() == "a = 1\n"


def test_a_stranger_s_folder_may_hold_ops(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None where there is is not a folder or no ops in it; one that cannot be read may hold some."""
    sidecar = Sidecar(log)
    assert not sidecar.may_hold_ops()
    sidecar.write_config("")
    assert not sidecar.may_hold_ops()
    sidecar.append(b"{}")
    assert sidecar.may_hold_ops()

    def refused(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(module.os, "listdir", refused)
    assert sidecar.may_hold_ops()


@pytest.mark.parametrize("exists", [True, False])
def test_a_planted_link_is_not_written_through(log: Path, tmp_path: Path, exists: bool) -> None:
    """A cloned folder cannot have ctxkit write to a file elsewhere; a link inside the folder counts."""
    inside = tmp_path / "clone"
    inside.mkdir()
    log = log.rename(inside / "session.jsonl")
    victim = tmp_path / ".bashrc"
    if exists:
        victim.write_text("alias ll=ls\n")
    sidecar = Sidecar(log)
    sidecar.folder.mkdir()
    sidecar.ops_path.symlink_to(victim)
    sidecar.config_path.symlink_to(victim)
    for write in (lambda: sidecar.append(b"{}"), lambda: sidecar.write_config("a = 1\n")):
        with pytest.raises(NoPermission, match="a link that leads out of"):
            write()
    assert (victim.read_text() == "alias ll=ls\n") if exists else not victim.exists()
    sidecar.ops_path.unlink()
    sidecar.ops_path.symlink_to("../ops.jsonl")
    (inside / "ops.jsonl").touch()
    sidecar.append(b"{}")
    assert (inside / "ops.jsonl").read_bytes() == b"{}\n"


def test_a_folder_that_is_a_link_out_is_ignored(log: Path, tmp_path: Path) -> None:
    """A cloned folder must not have ctxkit read or write elsewhere: neither ops nor config; --sidecar names it all the
    same. A link to a folder beside the log is followed."""
    inside = tmp_path / "logs"
    inside.mkdir()
    path = log.rename(inside / "session.jsonl")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "ops.jsonl").write_bytes(b"{}\n")
    link = inside / "session.jsonl.ctxkit"
    link.symlink_to(elsewhere)
    sidecar = Sidecar(path)
    assert sidecar.notices == [f"{link} is a link that leads out of {inside}: ignored"]
    assert sidecar.ops_size() is None and sidecar.may_hold_ops() and not sidecar.config_path.exists()
    for write in (lambda: sidecar.append(b"{}"), lambda: sidecar.write_config("")):
        with pytest.raises(NoPermission, match=r"leads out of .*: nothing was written"):
            write()
    assert Sidecar(path, link).ops_size() == 3
    link.unlink()
    (inside / "beside").mkdir()
    link.symlink_to("beside")
    Sidecar(path).append(b"{}")
    assert (inside / "beside/ops.jsonl").read_bytes() == b"{}\n"
    (inside / "beside/ops.jsonl").unlink()
    (inside / "beside/ops.jsonl").symlink_to(elsewhere / "ops.jsonl")
    with pytest.raises(NoPermission, match=r"ops.jsonl: a link that leads out of .*: not followed"):
        Sidecar(path).ops_size()
    assert (elsewhere / "ops.jsonl").read_bytes() == b"{}\n"
