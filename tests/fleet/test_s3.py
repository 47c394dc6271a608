"""Logs and datasets in S3: a real server (moto) and s3fs, the same rows as in folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.errors import NoPermission, NoSuchLog, ReadFailed
from ctxkit.fleet.ingest import ingest
from tests.fleet.folders import chat, logs, rows_of
from tests.fleet.optional import library

library("s3fs")
ThreadedMotoServer = library("moto.server").ThreadedMotoServer


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server on this machine."""
    import s3fs

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdirs("logs-of-a-team", exist_ok=True)
    yield "s3://logs-of-a-team"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_there_and_here(bucket: str, tmp_path: Path) -> None:
    """Ingest from S3 into S3: what changed by its ETag is read, what is gone goes, the rows are those of a folder."""
    import s3fs

    fs, folder = s3fs.S3FileSystem(), logs(tmp_path / "logs", 6)
    fs.put(str(folder), f"{bucket}/logs", recursive=True)
    found = ingest([f"{bucket}/logs"], f"{bucket}/dataset")
    assert (found.new, found.failed, found.broken) == (6, {}, {})
    fs.invalidate_cache()
    assert ingest([f"{bucket}/logs"], f"{bucket}/dataset").unchanged == 6
    fs.pipe(f"{bucket}/logs/000.jsonl", chat(50))
    fs.pipe(f"{bucket}/logs/004.jsonl.ctxkit/ops.jsonl", b"")
    fs.rm(f"{bucket}/logs/001.jsonl")
    found = ingest([f"{bucket}/logs"], f"{bucket}/dataset")
    assert (found.changed, found.unchanged, found.removed) == (1, 4, 1) or found.changed == 2
    fs.invalidate_cache()
    fs.get(f"{bucket}/dataset/", str(tmp_path / "copy"), recursive=True)
    (folder / "000.jsonl").write_bytes(chat(50))
    (folder / "001.jsonl").unlink()
    ingest([str(folder)], str(tmp_path / "here"))
    there, here = rows_of(tmp_path / "copy"), rows_of(tmp_path / "here")
    assert {name: len(some) for name, some in there.items()} == {name: len(some) for name, some in here.items()}


def test_what_is_not_there(bucket: str, tmp_path: Path) -> None:
    """A bucket that is not there is an error in words."""
    with pytest.raises((NoSuchLog, NoPermission, ReadFailed)) as raised:
        ingest(["s3://no-such-bucket-of-ours/x"], str(tmp_path / "dataset"))
    assert "s3://no-such-bucket-of-ours/x" in raised.value.message
    assert not (tmp_path / "dataset").exists() and "Traceback" not in str(sys.exc_info())
