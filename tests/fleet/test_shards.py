"""One shard: its old rows are kept as they are, a killed process leaves what the next one puts right."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from ctxkit.fleet import shards as module
from ctxkit.fleet.dataset import Dataset, DatasetHead
from ctxkit.fleet.rows import transcript_id
from ctxkit.fleet.shards import ShardTask, write_shard
from ctxkit.fleet.sources import listed
from ctxkit.fleet.tables import SCHEMA_KEY, TABLES
from tests.fleet.folders import bytes_of, chat, logs, rows_of


def task(folder: Path, dataset: Path) -> ShardTask:
    """All logs of a folder in one shard."""
    head = DatasetHead(shards=1)
    if not dataset.exists():
        Dataset(str(dataset)).begin(head)
    return ShardTask(str(dataset), 0, head, list(listed([str(folder)])), [str(folder)])


def test_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are in the order of the transcripts, in groups that end between sources, however they came."""
    monkeypatch.setattr(module, "GROUP", 500)  # rows hold paths, so how many groups there are depends on the folder
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    write_shard(task(folder, dataset))
    with pyarrow.parquet.ParquetFile(dataset / "messages/shard-0000.parquet") as file:
        assert file.num_row_groups > 3
        groups = [set(file.read_row_group(k)["transcript_id"].to_pylist()) for k in range(file.num_row_groups)]
        ids = file.read()["transcript_id"].to_pylist()
        assert file.schema_arrow.metadata[SCHEMA_KEY.encode()]
    assert ids == sorted(ids) and sum(map(len, groups)) == len(set.union(*groups)) == 12
    (folder / "003.jsonl").write_bytes(chat(60, 9))
    (folder / "new.jsonl").write_bytes(chat(61, 9))
    (folder / "005.jsonl").unlink()
    report = write_shard(task(folder, dataset))
    assert (report.new, report.changed, report.unchanged, report.removed) == (1, 1, 10, 1)
    write_shard(task(folder, tmp_path / "fresh"))
    assert bytes_of(dataset) == bytes_of(tmp_path / "fresh")


def test_many_conversations(tmp_path: Path) -> None:
    """All transcripts of a file are kept together, and replaced together."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    one = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}'
    (folder / "many.json").write_text(f"[{', '.join([one] * 12)}]")
    write_shard(task(folder, dataset))
    (folder / "000.jsonl").write_bytes(chat(9))
    write_shard(task(folder, dataset))
    key = transcript_id(str(folder / "many.json"))
    assert sum(f'"{key}-' in row for row in rows_of(dataset)["transcripts"]) == 12
    write_shard(task(folder, tmp_path / "fresh"))
    assert bytes_of(dataset) == bytes_of(tmp_path / "fresh")


@pytest.mark.parametrize("table", TABLES)
def test_an_error_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """If the new rows of any table cannot be made, all tables are as they were, and the next run reads again."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    write_shard(task(folder, dataset))
    before = bytes_of(dataset)
    (folder / "003.jsonl").write_bytes(chat(60, 9))
    real = module.table

    def broken(name: str, rows: list[dict[str, object]]) -> object:
        if name == table:
            raise MemoryError
        return real(name, rows)

    with monkeypatch.context() as patch:
        patch.setattr(module, "table", broken)
        with pytest.raises(MemoryError):
            write_shard(task(folder, dataset))
    assert bytes_of(dataset) == before
    report = write_shard(task(folder, dataset))
    assert (report.changed, report.unchanged) == (1, 11)
    write_shard(task(folder, tmp_path / "fresh"))
    assert bytes_of(dataset) == bytes_of(tmp_path / "fresh")
