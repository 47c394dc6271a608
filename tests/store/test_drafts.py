"""Drafts on disk: private, whole, and gone with all that an editor left beside them."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from ctxkit.errors import CannotCreate, NoPermission
from ctxkit.store.drafts import FOLDER, NAME, Draft, discard, left
from ctxkit.store.sidecar import Sidecar


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    (tmp_path / "chat.jsonl").touch()
    return Sidecar(tmp_path / "chat.jsonl")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private(sidecar: Sidecar) -> None:
    """Whatever the umask is: a file of 0600 in folders of 0700; after it was written again, too."""
    before = os.umask(0)
    try:
        draft = Draft(sidecar, "words\n")
        draft.write("other words\n")
    finally:
        os.umask(before)
    assert draft.read() == b"other words\n" and mode(draft.path) == 0o600
    assert [mode(folder) for folder in list(draft.path.parents)[:3]] == [0o700] * 3
    assert draft.path.name == NAME and draft.path.parents[1].name == FOLDER


def test_it_goes(sidecar: Sidecar) -> None:
    """With swap files and backups, and the sidecar that was made for it; what else is there stays."""
    draft, other = Draft(sidecar, "one"), Draft(sidecar, "two")
    (draft.path.parent / ".draft.txt.swp").write_text("one")
    (draft.path.parent / "backup").mkdir()
    assert sorted(left(sidecar)) == sorted([draft.path, other.path])
    draft.remove()
    assert left(sidecar) == [other.path] and not draft.path.parent.exists()
    other.remove()
    assert sidecar.folder.is_dir() and list(sidecar.folder.iterdir()) == []
    sidecar.folder.rmdir()
    only = Draft(sidecar, "three")
    only.remove()
    assert not sidecar.folder.exists()


def test_removed_by_its_editor(sidecar: Sidecar) -> None:
    """Reads as nothing."""
    draft = Draft(sidecar, "one")
    draft.path.unlink()
    assert draft.read() == b""


def test_discard(sidecar: Sidecar, tmp_path: Path) -> None:
    """Only drafts of this log, by whatever path they are named."""
    draft = Draft(sidecar, "one")
    (tmp_path / NAME).write_text("mine")
    (tmp_path / "link").symlink_to(draft.path)
    assert not discard(sidecar, tmp_path / NAME) and (tmp_path / NAME).exists()
    assert discard(sidecar, tmp_path / "link") and left(sidecar) == []


def test_what_was_killed_before_it_was_written_is_swept(sidecar: Sidecar) -> None:
    """After an hour; a link leads nowhere."""
    kept = Draft(sidecar, "one")
    within = kept.path.parents[1]
    for name in ("old", "young"):
        (within / name).mkdir()
        (within / name / ".ctxkit-x").touch()
    (within / "link").symlink_to(sidecar.folder.parent)
    past = time.time() - 4000
    for path in (within / "old", kept.path.parent):
        os.utime(path, (past, past))
    os.utime(within / "link", (past, past), follow_symlinks=False)
    draft = Draft(sidecar, "two")
    assert not (within / "old").exists() and (within / "young").exists() and kept.path.exists()
    assert (sidecar.folder.parent / "chat.jsonl").exists() and draft.path.exists()


def test_no_link_leads_out(sidecar: Sidecar, tmp_path: Path) -> None:
    """A cloned folder must not have drafts written elsewhere, nor read from there."""
    sidecar.folder.mkdir()
    (tmp_path / "base").mkdir()
    inner = Sidecar(tmp_path / "base" / "chat.jsonl")
    inner.folder.mkdir()
    (inner.folder / FOLDER).symlink_to(sidecar.folder)
    with pytest.raises(NoPermission, match="leads out"):
        Draft(inner, "one")
    (sidecar.folder / "x").mkdir()
    (sidecar.folder / "x" / NAME).touch()
    assert left(inner) == [] and left(Sidecar(tmp_path / "none.jsonl")) == []


def test_cannot_be_written(sidecar: Sidecar) -> None:
    """Said, and nothing is left."""
    sidecar.folder.write_text("is not a folder")
    with pytest.raises(CannotCreate):
        Draft(sidecar, "one")
    sidecar.folder.unlink()
    sidecar.folder.mkdir()
    (sidecar.folder / FOLDER).touch()
    with pytest.raises(CannotCreate, match="is not a folder"):
        Draft(sidecar, "one")


def test_one_that_may_be_lost_is_none(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is edited that a power cut may take with it: it goes, and nothing is left."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("ctxkit.store.atomic.sync_folder", fail)
    with pytest.raises(CannotCreate, match="cannot create: input/output error: nothing was changed"):
        Draft(sidecar, "words")
    assert left(sidecar) == [] and not sidecar.folder.exists()
