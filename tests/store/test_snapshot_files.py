"""The files of snapshots: written once, listed by their heads, found by what is in them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import Snapshot, SnapshotHead, SnapshotMessage, digests, identity, sealed
from ctxkit.errors import BadSnapshot, CannotCreate, NoPermission, WriteFailed
from ctxkit.store import atomic, snapshot_files
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import FIRST, SPLIT, Snapshots, looked_at, parsed, pieces, read


def made(text: str = "hi", minute: int = 0, description: str = "") -> Snapshot:
    """A snapshot of one message."""
    messages, held = [{"role": "user", "content": text}], [SnapshotMessage(n=1)]
    words, digest = digests(messages, held)
    head = SnapshotHead(
        session_id=identity(words, None, description), timestamp=f"2026-02-12T14:{minute:02}:00Z", message_count=1,
        at=LogPosition(messages=1), digest=digest, description=description,
    )  # fmt: skip
    return Snapshot(head, sealed(head), messages, held)


def shelf(folder: Path, conversation: int | None = None) -> Snapshots:
    """The snapshots of a log in `folder`."""
    (folder / "log.jsonl").touch()
    sidecar = Sidecar(folder / "log.jsonl")
    sidecar.conversation = conversation
    return Snapshots(sidecar)


def add(some: Snapshots, kept: Snapshot) -> tuple[Path, bool]:
    """Store it."""
    return some.add(pieces(kept.body, kept), kept.head)


def test_a_file(tmp_path: Path) -> None:
    """JSON whose first line is all but the messages; private, in a private folder; read back as it was."""
    kept = made("line\n\u2028 end", 30)
    path, new = add(shelf(tmp_path), kept)
    assert new and path.name == f"20260212T143000Z-{kept.head.session_id[:8]}.json"
    first = path.read_bytes().split(b"\n")[0]
    assert b"messages" not in first.replace(b'"messages":1', b"") and json.loads(first.rstrip(b",") + b"}")["v"] == 1
    assert json.loads(path.read_bytes())["messages"] == list(kept.messages)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)] == [0o600, 0o700]
    assert read(path) == kept


@pytest.mark.parametrize("byte", [b" ", b",", b"\n", b""])
def test_line_by_line_is_read_what_the_whole_says(tmp_path: Path, byte: bytes) -> None:
    """Whatever single byte is another one, or gone: the same snapshot, or the same words for what is wrong."""
    messages, held = (
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [SnapshotMessage(n=1), SnapshotMessage(n=2)],
    )
    words, digest = digests(messages, held)
    head = msgspec.structs.replace(
        made().head, session_id=identity(words, None, ""), at=LogPosition(messages=2), message_count=2, digest=digest
    )
    kept = Snapshot(head, sealed(head), messages, held)
    whole, path = b"".join(pieces(kept.body, kept)), tmp_path / "kept.json"
    for place in range(whole.index(SPLIT), len(whole)):
        raw = whole[:place] + byte + whole[place + 1 :]
        path.write_bytes(raw)
        found = []
        for take in (lambda: read(path), lambda: parsed(raw, str(path))):  # noqa: B023  # called at once
            try:
                found.append(take())
            except BadSnapshot as error:
                found.append(error.message)
        assert found[0] == found[1], place


def test_again(tmp_path: Path) -> None:
    """The same id is there already, whenever it was taken."""
    some = shelf(tmp_path)
    path, _ = add(some, made(minute=1))
    before = path.read_bytes()
    assert add(some, made(minute=2)) == (path, False)
    assert (path.read_bytes(), len(some.found())) == (before, 1)


def test_newest_first(tmp_path: Path) -> None:
    """By the time in the head; what has none by its name."""
    some = shelf(tmp_path)
    for minute in (5, 9, 1):
        add(some, made(str(minute), minute))
    (some.folder / "20260212T140700Z-damaged.json").write_bytes(b"{")
    found = [one.head.timestamp[14:16] if one.head else one.fault for one in some.found()]
    assert found == ["09", "it is not a snapshot: it is not JSON", "05", "01"]


def test_ids_that_begin_alike(tmp_path: Path) -> None:
    """Two within a second get names that differ."""
    some, kept = shelf(tmp_path), made()
    path, _ = add(some, kept)
    os.rename(path, path.with_name("moved.json"))
    path.write_bytes(b"something else")
    assert add(some, made("other")) != (path, False)
    (tmp_path / "log.jsonl.ctxkit/snapshots/moved.json").unlink()
    assert add(some, kept)[0].name == f"20260212T140000Z-{kept.head.session_id}.json"


def test_only_heads_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large file a few kilobytes; a head that is longer is read whole; a file that was laid out anew, too."""
    some = shelf(tmp_path)
    large, _ = add(some, made("x" * 3_000_000, 1))
    wordy, _ = add(some, made("y" * 3_000_000, 2, "d" * 3 * FIRST))
    sizes: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: sizes.append(size) or pread(fd, size, at))
    assert looked_at(large).head is not None and sum(sizes) == FIRST
    found = looked_at(wordy).head
    assert found is not None and len(found.description) == 3 * FIRST and sum(sizes) < 40 * FIRST
    large.write_text(json.dumps(json.loads(large.read_text()), indent=2))
    found = looked_at(large).head
    assert found is not None and read(large).head == found


def test_a_gigabyte_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that has no head of its own, however it begins; one that another program laid out anew is read."""
    some, kept = shelf(tmp_path), made()
    path, _ = add(some, kept)
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=2))
    assert [one.head for one in some.found()] == [kept.head]
    sizes: list[int] = []
    reading = os.pread

    def counted(fd: int, size: int, at: int) -> bytes:
        sizes.append(size)
        return reading(fd, size, at)

    monkeypatch.setattr(os, "pread", counted)
    for start in (b"", b'{"v":1,"kind":"snapshot","session_id":"'):
        path.write_bytes(start)
        os.truncate(path, 1 << 30)
        [found] = some.found()
        assert found.fault == "it has 1,073,741,824 bytes, and no head that stands alone"
    assert sum(sizes) < 1 << 22


def test_removed_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another process: it is not there, and nothing is damaged."""
    some = shelf(tmp_path)
    add(some, made("one"))
    path, _ = add(some, made("two", 1))
    looking = snapshot_files.looked_at

    def late(one: Path) -> snapshot_files.SnapshotFile:
        if one == path:
            path.unlink()
        return looking(one)

    monkeypatch.setattr(snapshot_files, "looked_at", late)
    assert [one.fault for one in some.found()] == [""]


@pytest.mark.parametrize("cut", [0, 1, 50, 400, -30, -1])
def test_a_part_is_no_snapshot(cut: int, tmp_path: Path) -> None:
    """Cut anywhere: the list says so or has a whole head, and reading refuses."""
    path, _ = add(shelf(tmp_path), made("x" * 300))
    raw = path.read_bytes()[: cut if cut != -1 else -2]
    path.write_bytes(raw)
    found = looked_at(path)
    assert bool(found.fault) != bool(found.head)
    with pytest.raises(BadSnapshot, match="nothing was changed"):
        read(path)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"{}", b'{"v":1}', b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"\0" * 50]
)
def test_anything(raw: bytes, tmp_path: Path) -> None:
    """Is refused in words."""
    with pytest.raises(BadSnapshot, match=r"it is not a snapshot"):
        parsed(raw, "x")
    (tmp_path / "x.json").write_bytes(raw)
    assert "it is not a snapshot" in looked_at(tmp_path / "x.json").fault


def test_every_flipped_bit_shows(tmp_path: Path) -> None:
    """Wherever it is, reading refuses; or what is read is the same."""
    kept = made("some words")
    raw = b"".join(pieces(kept.body, kept))
    for place in range(len(raw)):
        flipped = bytearray(raw)
        flipped[place] ^= 1 << place % 8
        try:
            assert parsed(bytes(flipped), "x") == kept, place
        except BadSnapshot:
            continue


def test_links(tmp_path: Path) -> None:
    """A link in the folder is none of our files; a folder that leads out is not followed."""
    some = shelf(tmp_path)
    path, _ = add(some, made())
    (some.folder / "link.json").symlink_to(path)
    (some.folder / "pipe.json").mkdir()
    (some.folder / ".hidden.json").write_bytes(b"{")
    assert len(some.found()) == 1
    other = tmp_path / "other"
    other.mkdir()
    (other / "elsewhere").mkdir()
    (other / "log.jsonl.ctxkit").mkdir()
    (tmp_path / "out").mkdir()
    (other / "log.jsonl.ctxkit" / "snapshots").symlink_to(tmp_path / "out")
    some = shelf(other)
    for act in (some.found, lambda: add(some, made()), lambda: some.remove([])):
        with pytest.raises(NoPermission, match="leads out"):
            act()
    assert list((tmp_path / "out").iterdir()) == []


def test_remove(tmp_path: Path) -> None:
    """Those that are named; one that is gone already is no failure; nothing outside the folder."""
    some = shelf(tmp_path)
    paths = [add(some, made(str(n), n))[0] for n in range(3)]
    (tmp_path / paths[2].name).write_bytes(b"outside")
    some.remove([paths[0], tmp_path / paths[1].name])
    some.remove([paths[0]])
    assert [one.path for one in some.found()] == [paths[2]]
    assert (tmp_path / paths[2].name).read_bytes() == b"outside"


def test_remove_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a file that another process was faster with; what failed is named, and what is gone is not said to stay."""
    some = shelf(tmp_path)
    paths = [add(some, made(f"number {n}", n))[0] for n in range(3)]
    paths[0].unlink()
    some.remove(paths[:2])
    assert [one.path for one in some.found()] == [paths[2]]

    def fail(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", fail)
        with pytest.raises(NoPermission, match=f"{paths[2].name}: permission denied: it was not deleted"):
            some.remove([paths[2]])
    monkeypatch.setattr("ctxkit.store.snapshot_files.sync_folder", fail)
    with pytest.raises(WriteFailed, match="deleted, but perhaps not on disk"):
        some.remove([paths[2]])
    assert some.found() == []


def test_conversations_have_their_own(tmp_path: Path) -> None:
    """Those of one are not those of another."""
    add(shelf(tmp_path, 2), made())
    assert [len(shelf(tmp_path, which).found()) for which in (None, 1, 2)] == [0, 0, 1]


def test_a_file_in_the_folders_place(tmp_path: Path) -> None:
    """Is told, and stays."""
    some = shelf(tmp_path)
    some.sidecar.folder.mkdir()
    some.folder.write_bytes(b"mine")
    assert some.found() == []
    with pytest.raises(CannotCreate, match="not a folder"):
        add(some, made())
    assert some.folder.read_bytes() == b"mine"


def test_a_head_alone() -> None:
    """A checkpoint is one line."""
    head = SnapshotHead(kind="checkpoint", session_id="0" * 16, timestamp="t", at=LogPosition(messages=0))
    kept = Snapshot(head, sealed(head))
    raw = b"".join(pieces(kept.body, kept))
    assert raw.count(b"\n") == 1 and parsed(raw, "x") == kept
    found: dict[str, Any] = json.loads(raw)
    assert found == kept.body


def test_files_of_the_same_moment(tmp_path: Path) -> None:
    """The clock of a file system stands still for milliseconds: then the one that reached further is the newer one."""
    some = shelf(tmp_path)
    for reached in range(1, 9):
        kept = made(f"text {reached}")
        head = msgspec.structs.replace(kept.head, at=LogPosition(messages=reached))
        path, _ = add(some, Snapshot(head, sealed(head), kept.messages, kept.held))
        os.utime(path, ns=(1, 1))
    assert [one.head.at.messages for one in some.found() if one.head is not None] == [8, 7, 6, 5, 4, 3, 2, 1]


def test_one_after_the_other_in_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that reach as far each is newer than the ones of its second, whatever the clock says."""
    some, still = shelf(tmp_path), (1_770_000_000_000_000_000,) * 2
    real = atomic.create

    def create(path: Path, *rest: Any) -> None:
        real(path, *rest)
        os.utime(path, ns=still)  # the clock of the file system stands still

    monkeypatch.setattr(atomic, "create", create)
    names = [add(some, made(f"text {n}"))[0] for n in range(9)]
    assert [one.path for one in some.found()] == names[::-1]


def test_what_messages_are_is_read_one_by_one(tmp_path: Path) -> None:
    """Also where a text in it looks like the place between two: the file is taken as a whole then."""
    messages, held = [{"role": "user", "content": "a"}] * 2, [SnapshotMessage(n=1, ts='},{"n":1'), SnapshotMessage(n=2)]
    words, digest = digests(messages, held)
    head = msgspec.structs.replace(
        made().head, session_id=identity(words, None, ""), at=LogPosition(messages=2), message_count=2, digest=digest
    )
    path, _ = add(shelf(tmp_path), Snapshot(head, sealed(head), messages, held))
    assert list(read(path).held) == held
