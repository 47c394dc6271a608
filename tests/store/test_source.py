"""The bytes of a log: files, streams, memory."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import NoSuchLog, ReadFailed, UpdatedElsewhere, WriteFailed
from ctxkit.store import compressed
from ctxkit.store import source as module
from ctxkit.store.source import TAIL, GrowingSource, ReadWindow, Source, open_log, plain_bytes, spool, start_of
from tests.compressed import packed

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of 256,000 bytes."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(CONTENT)
    return path


def copied(source: Source) -> bytes:
    """All of it, in pieces."""
    return b"".join(source.chunks())


def pipe_of(content: bytes) -> io.BufferedReader:
    """A pipe that somebody writes to."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with open(writing, "wb") as end:
            end.write(content)
        os._exit(0)
    os.close(writing)
    return open(reading, "rb")


def test_all_kinds_give_the_same_bytes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any offset, in pieces, and copied out whole."""
    monkeypatch.setattr(module, "IN_MEMORY", 1000)
    monkeypatch.setattr(module, "CHUNK", 999)
    sources = [open_log(file), Source("memory", CONTENT), spool(pipe_of(CONTENT)), spool(file.open("rb"))]
    sources.append(spool(io.BytesIO(CONTENT)))
    for source in sources:
        assert source.size == len(CONTENT)
        for offset, size in ((0, 10), (1234, 5678), (255_990, 100), (256_000, 1), (300_000, 1), (0, 0)):
            assert source.read(offset, size) == CONTENT[offset : offset + size]
        assert b"".join(source.chunks(10, 777)) == CONTENT[10:777]
        assert copied(source) == CONTENT
        source.close()
        source.close()


def test_small_streams_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No temporary file where none is needed."""
    monkeypatch.setattr(module, "_unnamed", lambda: pytest.fail("a file was made"))
    assert spool(pipe_of(CONTENT)).read(5, 5) == CONTENT[5:10]
    assert spool(io.BytesIO(b"")).size == 0


def test_large_streams_leave_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has no name from the start, so that no crash leaves it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(module, "IN_MEMORY", 10)
    source = spool(pipe_of(CONTENT))
    assert list(tmp_path.iterdir()) == []
    assert source.read(0, len(CONTENT)) == CONTENT


def test_a_full_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 74 with a way out."""
    monkeypatch.setattr(module, "IN_MEMORY", 10)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteFailed, match="no space left") as failed:
        spool(io.BytesIO(CONTENT))
    assert "TMPDIR" in failed.value.hint


def test_a_file_on_standard_input_is_not_copied(file: Path) -> None:
    """It is read in place, and stands at its end for whoever shares it."""
    with file.open("rb") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_pieces", lambda *_: pytest.fail("it is copied"))
        source = spool(stream)
        assert os.lseek(stream.fileno(), 0, os.SEEK_CUR) == len(CONTENT)
    assert source.read(7, 3) == CONTENT[7:10]
    with file.open("rb") as stream:
        stream.seek(100)
        assert spool(stream).read(0, 5) == CONTENT[100:105]


class Directory(io.BytesIO):
    """Python itself refuses to open a directory as a stream; a shell does not."""

    def fileno(self) -> int:
        """Of a directory."""
        return self.fd

    fd = -1


def test_a_directory_on_standard_input(tmp_path: Path) -> None:
    """Refused by name."""
    stream = Directory()
    stream.fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(NoSuchLog, match="directory"):
        spool(stream)
    os.close(stream.fd)


def test_growth_is_not_part_of_it(file: Path) -> None:
    """A consistent cut at the size it had."""
    source = open_log(file)
    with file.open("ab") as more:
        more.write(b"more")
    assert source.size == len(CONTENT)
    assert b"".join(source.chunks()) == CONTENT
    assert source.read(len(CONTENT) - 2, 100) == CONTENT[-2:]


def test_a_file_cut_while_it_is_read(file: Path) -> None:
    """Said, not taken for its end."""
    source = open_log(file)
    os.truncate(file, 1000)
    with pytest.raises(UpdatedElsewhere, match="cut to 1000 bytes"):
        list(source.chunks())


def test_an_error_names_the_range(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 74."""
    source = open_log(file)

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(ReadFailed, match="bytes 100 to 150: input/output error"):
        source.read(100, 50)


def test_seen_tells_a_log_from_another(file: Path) -> None:
    """Its place, its size and its last 64 KiB; streams and memory have none."""
    first, again = open_log(file).seen, open_log(file).seen
    assert first == again
    assert first is not None
    changed = bytearray(CONTENT)
    changed[-TAIL] ^= 1
    file.write_bytes(bytes(changed))
    second = open_log(file).seen
    assert second is not None
    assert first.digest != second.digest
    assert Source("memory", b"x").seen is None
    assert spool(file.open("rb")).seen is None


def test_the_real_path_of_a_link(file: Path, tmp_path: Path) -> None:
    """`name` is what was typed, `path` the target."""
    link = tmp_path / "link"
    link.symlink_to(file)
    source = open_log(link)
    assert (source.name, source.path) == (str(link), file)


def test_reading_into_a_buffer(tmp_path: Path) -> None:
    """As much as there is, from a file and from memory; a file that was cut meanwhile is noticed."""
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    buffer = bytearray(6)
    for source in (Source("log", b"0123456789"), open_log(path)):
        assert (source.read_into(buffer, 2), bytes(buffer)) == (6, b"234567")
        assert (source.read_into(buffer, 7), bytes(buffer[:3])) == (3, b"789")
        assert source.read_into(buffer, 10) == 0
    path.write_bytes(b"0123")
    with pytest.raises(UpdatedElsewhere):
        source.read_into(buffer, 2)


def test_progress_of_a_stream() -> None:
    """Every piece is told of as it comes, without an end that nobody knows; the bytes are the same."""
    told: list[tuple[int, int]] = []
    source = spool(pipe_of(CONTENT), progress=lambda done, total: told.append((done, total)))
    assert source.read(0, source.size) == CONTENT
    assert told and told == sorted(told) and told[-1] == (len(CONTENT), 0)


@given(st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 100_000)), max_size=20))
def test_a_window_gives_what_the_source_gives(reads: list[tuple[int, int]]) -> None:
    """In any order, of any size, over the end too."""
    source = Source("log", bytes(range(256)) * 1000)
    window = ReadWindow(source)
    for offset, size in reads:
        assert window.read(offset, size) == source.read(offset, size)


def test_a_window_reads_neighbours_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record at a time from the start to the end: a read for each piece, not for each record."""
    source = Source("log", b"0123456789" * 20_000)
    seen: list[int] = []
    plain = source.read
    monkeypatch.setattr(source, "read", lambda offset, size: seen.append(offset) or plain(offset, size))
    window = ReadWindow(source)
    assert b"".join(window.read(at, 10) for at in range(0, source.size, 10)) == plain(0, source.size)
    assert len(seen) < 5


def test_growing() -> None:
    """Lines that are appended belong to the next look, as those of a file that grew."""
    source = GrowingSource("memory")
    source.append(b"one")
    now = source.now()
    now.append(b"two")
    assert (source.size, now.size, now.now().size) == (0, 4, 8)
    assert (source.read(0, 9), now.read(0, 9), now.now().read(2, 9)) == (b"", b"one\n", b"e\ntwo\n")
    buffer = bytearray(3)
    assert now.now().read_into(buffer, 4) == 3 and bytes(buffer) == b"two"


def test_compressed_bytes(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files, pipes and memory come the unpacked bytes, held like those of streams; `seen` is the file on disk."""
    content = b'{"a": 1}\n' * 30_000
    raw = packed(content)
    there = tmp_path / "log.jsonl.zst"
    there.write_bytes(raw)
    for in_memory in (1 << 20, 1000):
        monkeypatch.setattr(module, "IN_MEMORY", in_memory)
        sources = [open_log(there), spool(pipe_of(raw)), spool(there.open("rb")), spool(io.BytesIO(raw))]
        assert [copied(source) for source in sources] == [content] * 4
        assert [source.compressed for source in (*sources, open_log(file))] == [True] * 4 + [False]
        seen = sources[0].seen
        assert seen is not None and (seen.ino, seen.size) == (there.stat().st_ino, len(raw))
    assert plain_bytes(raw, "s3://x") == content == plain_bytes(content, "s3://x")


def test_only_what_is_asked_for_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log its start, where that is enough; of what is no log no more than tells so."""
    there = tmp_path / "a.zst"
    monkeypatch.setattr(compressed, "LARGEST", 4 << 20)
    for content in (b'{"a": 1}\n' * (1 << 20), b"no log\n" * (1 << 20)):
        there.write_bytes(packed(content))
        assert start_of(there, 100) == content[:100]
    assert copied(open_log(there)) == content[: 1 << 20]
    there.write_bytes(content)
    assert start_of(there, 100) == content[:100]
    there.write_bytes(packed(b"{}"))
    assert start_of(there, 100) == b"{}"
