"""The files of a dataset: replaced as a whole, refused where they are no dataset."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxkit.errors import BadDataset, Locked, NoSuchLog
from ctxkit.fleet import dataset as module
from ctxkit.fleet.dataset import Dataset, DatasetHead, SourceEntry, shard_name, shard_of
from ctxkit.fleet.tables import SCHEMA, TABLES


@pytest.fixture
def made(tmp_path: Path) -> Dataset:
    """A new dataset without rows."""
    found = Dataset(str(tmp_path / "dataset"))
    found.begin(DatasetHead(shards=2))
    return found


def test_head(made: Dataset) -> None:
    """What it was made with is read again; a place without anything has none."""
    assert made.head() == made.opened() == DatasetHead(shards=2)
    assert Dataset(made.place + "x").head() is None
    with pytest.raises(NoSuchLog):
        Dataset(made.place + "x").opened()


def test_another_schema(made: Dataset) -> None:
    """A dataset of another version says what to do; damage and other folders too."""
    place = Path(made.path("ctxkit.json"))
    for text in (json.dumps({"ctxkit_schema": SCHEMA - 1, "shards": 2}), "{", '{"shards": "x", "ctxkit_schema": 1}'):
        place.write_text(text)
        with pytest.raises(BadDataset) as raised:
            made.head()
        assert "nothing was changed" in raised.value.message and raised.value.hint
    place.unlink()
    with pytest.raises(BadDataset):
        made.head()


def test_ledger(made: Dataset) -> None:
    """Entries are kept in order; a damaged one is refused."""
    entries = {name: SourceEntry("s", "d", 3, 1) for name in ("b", "\udcff.jsonl")}  # a name need not be UTF-8
    entries["a"] = SourceEntry("", "", 3, 1, failed=True)
    made.write_ledger(1, entries)
    assert made.ledger(1) == entries and list(made.ledger(1)) == ["a", "b", "\udcff.jsonl"]
    assert made.ledger(0) == {}
    Path(made.path("ledger", "shard-0001.json")).write_text("[")
    with pytest.raises(BadDataset):
        made.ledger(1)


def test_replaced_as_a_whole(made: Dataset) -> None:
    """A file is the old one until the new one is whole; what fails leaves nothing; the mode stays."""
    made.write(b"old", "messages", "x")
    place = Path(made.path("messages", "x"))
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o640)
    with pytest.raises(ZeroDivisionError), made.written("messages", "x") as temporary:
        Path(temporary).write_bytes(b"half")
        assert place.read_bytes() == b"old"
        raise ZeroDivisionError
    assert os.listdir(place.parent) == ["x"]
    made.write(b"new", "messages", "x")
    assert place.read_bytes() == b"new" and place.stat().st_mode & 0o777 == 0o640


def test_alone(made: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer is refused; what a killed one left is removed."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    left = Path(made.path("messages", ".ctxkit-left"))
    left.write_bytes(b"half")
    with made.alone(), pytest.raises(Locked), made.alone():
        pass
    assert not left.exists()


def test_shard_of() -> None:
    """The same for a name at all times, and spread over all."""
    assert [shard_of(name, 64) for name in ("/a.jsonl", "s3://b/c")] == [0, 18]
    assert {shard_of(f"/{k}", 8) for k in range(100)} == set(range(8))
    assert shard_name(7) == "shard-0007"


def test_glob(made: Dataset) -> None:
    """What a query reads; every table has its folder."""
    assert all(Path(made.glob(name)).parent.is_dir() for name in TABLES)
    assert Dataset("s3://b/d/").glob("ops") == "s3://b/d/ops/*.parquet"
