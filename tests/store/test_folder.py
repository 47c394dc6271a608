"""The files below a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit.store.folder import (
    entry_of,
    file_name,
    logs_of,
    may_be_log,
    named,
    orphans,
    sidecar_name,
    walk,
    without_sidecars,
)


def files_below(folder: Path) -> list[Path]:
    return [entry.path for entry in walk(folder) if not entry.sidecar]


def test_order_links_and_sidecars(tmp_path: Path) -> None:
    """By name, each once; loops end, sidecars and what is no file are passed over."""
    for name in ("b/2.jsonl", "b/1.jsonl", "a.jsonl", "a.jsonl.ctxkit/ops.jsonl", ".hidden/x.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    os.symlink(tmp_path, tmp_path / "b" / "loop")
    os.symlink(tmp_path / "a.jsonl", tmp_path / "z.jsonl")
    os.mkfifo(tmp_path / "fifo")
    names = [str(path.relative_to(tmp_path)) for path in files_below(tmp_path)]
    assert names == [".hidden/x.jsonl", "a.jsonl", "b/1.jsonl", "b/2.jsonl"]


def test_what_cannot_be_looked_at(tmp_path: Path) -> None:
    """Is given to whoever opens it, who says why; a folder that is not there is an error."""
    os.symlink("nowhere", tmp_path / "dangling")
    assert files_below(tmp_path) == [tmp_path / "dangling"]
    with pytest.raises(OSError):
        files_below(tmp_path / "none")


@pytest.mark.parametrize(
    ("start", "expected"),
    [(b'{"role"', True), (b"[\n", True), (b"\xef\xbb\xbf{", True), (b"torn\n{", True), (b"\0\0{", True), (b"", False),
     (b"buy milk\n", False), (b"\x89PNG", False)],
)  # fmt: skip
def test_may_be_log(start: bytes, expected: bool) -> None:
    """A line begins with an object or an array."""
    assert may_be_log(start) == expected


def test_named(tmp_path: Path) -> None:
    """Regular files by the middle of their names; nothing through a link, and nothing where there is no folder."""
    folder = tmp_path / "log/agents"
    folder.mkdir(parents=True)
    for name in ("agent-b.jsonl", "agent-a.jsonl", "agent-.jsonl", "other-c.jsonl", "agent-d.txt"):
        (folder / name).touch()
    (folder / "agent-e.jsonl").mkdir()
    (folder / "agent-f.jsonl").symlink_to(folder / "agent-a.jsonl")
    (folder / "workflows/wf_1").mkdir(parents=True)
    (folder / "workflows/wf_1/agent-w.jsonl").touch()
    assert named(folder, "agent-", ".jsonl") == {
        "a": folder / "agent-a.jsonl", "b": folder / "agent-b.jsonl", "w": folder / "workflows/wf_1/agent-w.jsonl",
    }  # fmt: skip
    assert named(tmp_path / "none", "agent-", ".jsonl") == {}
    (tmp_path / "link").symlink_to(tmp_path / "log")
    (tmp_path / "straight").symlink_to(folder)
    assert named(tmp_path / "link/agents", "agent-", ".jsonl") == {}
    assert named(tmp_path / "straight", "agent-", ".jsonl") == {}


def test_without_sidecars(tmp_path: Path) -> None:
    """What is in the sidecar of a log that is there is left out, unless there is nothing else."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(b"{}\n")
    inside = [f"{log}.ctxkit", f"{log}.ctxkit/", f"{log}.ctxkit/ops.jsonl", f"{log}.ctxkit/snapshots/x.json"]
    gone = f"{tmp_path}/b.jsonl.ctxkit/ops.jsonl"
    assert without_sidecars([str(log), *inside, gone, "-"]) == [str(log), gone, "-"]
    assert without_sidecars(inside) == inside
    assert without_sidecars(["", ".", "/", ".ctxkit/x", ".ctxkit"]) == ["", ".", "/", ".ctxkit/x", ".ctxkit"]


def test_file_name() -> None:
    """A path, which no command takes for standard input or a session."""
    assert [file_name(Path(one)) for one in ("-", "@2", "x/-", "-x")] == ["./-", "./@2", "x/-", "-x"]


def test_compressed_logs(tmp_path: Path) -> None:
    """Plain and compressed are one log: it is found once, and has one sidecar, which is not an orphan."""
    for name in ("a.jsonl", "a.jsonl.zst", "b.jsonl.zst", "gone.jsonl.ctxkit/x", "b.jsonl.ctxkit/ops.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in files_below(tmp_path)] == ["a.jsonl", "b.jsonl.zst"]
    assert {entry.path.name: entry.alone for entry in walk(tmp_path) if not entry.sidecar} == {
        "a.jsonl": True, "b.jsonl.zst": False,
    }  # fmt: skip
    assert orphans(tmp_path) == [tmp_path / "gone.jsonl.ctxkit"]
    assert sidecar_name("d/b.jsonl.zst") == sidecar_name("d/b.jsonl") == "d/b.jsonl.ctxkit"
    assert logs_of("d/b.jsonl.ctxkit") == ("d/b.jsonl", "d/b.jsonl.zst")
    log = str(tmp_path / "b.jsonl.zst")
    assert without_sidecars([log, str(tmp_path / "b.jsonl.ctxkit/ops.jsonl")]) == [log]


def test_entry_of(tmp_path: Path) -> None:
    """One file is what a walk finds: alone, beside a sidecar, behind a link; or it is gone."""
    for name in ("alone.jsonl", "beside.jsonl"):
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "beside.jsonl.ctxkit").mkdir()
    walked = [one for one in walk(tmp_path) if not one.sidecar]
    assert [one.alone for one in walked] == [True, False]
    assert [entry_of(one.path) for one in walked] == walked
    (tmp_path / "link.jsonl").symlink_to("alone.jsonl")
    assert not entry_of(tmp_path / "link.jsonl").alone
    gone = entry_of(tmp_path / "gone.jsonl")
    assert gone.found is None and isinstance(gone.error, FileNotFoundError)
