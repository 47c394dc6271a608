"""The journal: whole lines whoever writes, and nothing but journals is ever written to."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit.errors import WriteFailed
from ctxkit.store import run_journal

ROOT = Path(__file__).resolve().parents[2]
BEGIN = b'{"k":'
LINE = b'{"k":1}'


def test_a_new_file_is_the_users_own(tmp_path: Path) -> None:
    """0600 whatever the umask; then it grows a line at a time, and keeps the mode that it has."""
    path = tmp_path / "j"
    before = os.umask(0)
    try:
        run_journal.add(path, LINE, BEGIN)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    run_journal.add(path, LINE, BEGIN)
    assert path.read_bytes() == (LINE + b"\n") * 2 and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("held", [b"", b"{", b'{"k"', LINE + b"\n", LINE, LINE + b"\n" + LINE[:4]])
def test_what_a_torn_line_left_is_ended(tmp_path: Path, held: bytes) -> None:
    """An empty file is one that begins; a fragment stays a line of its own."""
    path = tmp_path / "j"
    path.write_bytes(held)
    run_journal.add(path, LINE, BEGIN)
    torn = b"\n" if held and not held.endswith(b"\n") else b""
    assert path.read_bytes() == held + torn + LINE + b"\n"


@pytest.mark.parametrize("held", [b"\n", b'{"role":"user"}\n', b"\0" * 9, b"# notes", b'{"kk":1}'])
def test_another_file_is_left_alone(tmp_path: Path, held: bytes) -> None:
    """A log, a config, notes: whatever begins otherwise."""
    path = tmp_path / "j"
    path.write_bytes(held)
    with pytest.raises(WriteFailed, match="holds something else: nothing was added"):
        run_journal.add(path, LINE, BEGIN)
    assert path.read_bytes() == held


def test_files_that_are_named_are_left_alone(tmp_path: Path) -> None:
    """An empty log is still a log; by whatever path, a hard link too."""
    log, other = tmp_path / "log.jsonl", tmp_path / "link"
    log.touch()
    os.link(log, other)
    for path in (log, other):
        with pytest.raises(WriteFailed, match="is the log itself"):
            run_journal.add(path, LINE, BEGIN, [tmp_path / "missing", log])
    assert log.read_bytes() == b""


def test_special_files_are_not_opened(tmp_path: Path) -> None:
    """A pipe without a reader would wait for ever, a device may act on it."""
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "socket"))
    for path, kind in ((tmp_path, "a directory"), (tmp_path / "fifo", "a pipe"), (tmp_path / "socket", "a socket"),
                       (Path(os.devnull), "a device")):  # fmt: skip
        with pytest.raises(WriteFailed, match=f"is {kind}"):
            run_journal.add(path, LINE, BEGIN)


def test_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One's own lead on, also to a file that is not there yet; those of others do not; a circle ends."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "j")
    run_journal.add(link, LINE, BEGIN)
    assert (tmp_path / "j").read_bytes() == LINE + b"\n"
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(WriteFailed, match="nothing was added"):
        run_journal.add(tmp_path / "a", LINE, BEGIN)
    os.lchown(link, 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 12345)
    if os.geteuid() == 0 or link.lstat().st_uid not in (0, 12345):
        with pytest.raises(WriteFailed, match="is a link of another user"):
            run_journal.add(link, LINE, BEGIN)


@pytest.mark.parametrize("name", ["lstat", "open", "fstat", "pread", "write"])
def test_trouble_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whichever call fails, descriptors are closed and the caller is told."""
    path = tmp_path / "j"
    path.write_bytes(LINE + b"\n")
    count = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        with pytest.raises(WriteFailed, match="no space left on device: nothing was added"):
            run_journal.add(path, LINE, BEGIN)
    assert not count or len(os.listdir("/proc/self/fd")) == count
    monkeypatch.setattr(os, "write", lambda *_: 3)
    with pytest.raises(WriteFailed, match="only a part"):
        run_journal.add(path, LINE, BEGIN)


def test_two_writers(tmp_path: Path) -> None:
    """200 lines each, at once, into a file that neither has made: every line is whole."""
    path = tmp_path / "j"
    program = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from ctxkit.store import run_journal
for n in range(200):
    run_journal.add(Path(sys.argv[1]), b'{{"k":"' + sys.argv[2].encode() * 300 + b'%d"}}' % n, b'{{"k":')
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path), who]) for who in "ab"]
    assert [one.wait(timeout=60) for one in writers] == [0, 0]
    wanted = {b'{"k":"' + who * 300 + b'%d"}' % n for who in (b"a", b"b") for n in range(200)}
    found = path.read_bytes().splitlines()
    assert len(found) == 400 and set(found) == wanted
