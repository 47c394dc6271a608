"""DatasetParts: which rows count, what is written, folded and removed."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from ctxkit.fleet import parts as module
from ctxkit.fleet.dataset import Dataset, DatasetHead, Part, SourceEntry
from ctxkit.fleet.parts import DatasetParts, PartReport, PartTask, fold, partition, write_part
from ctxkit.fleet.rows import transcript_id
from ctxkit.fleet.sources import listed
from ctxkit.fleet.tables import SCHEMA_KEY
from tests.fleet.folders import bytes_of, chat, logs, rows_of


def write(folder: Path, dataset: Path, name: str = "00000001-00001") -> PartReport:
    """All logs of a folder that are new or changed, as a part."""
    target = Dataset(str(dataset))
    if not dataset.exists():
        target.begin(DatasetHead())
    known = DatasetParts(target.parts()).entries()
    return write_part(PartTask(target.place, name, DatasetHead(), list(listed([str(folder)])), known))


def entry(size: int = 1, transcripts: int = 1) -> SourceEntry:
    """A source."""
    return SourceEntry("s", "d", size, transcripts)


def test_which_counts() -> None:
    """The newest part that names a source; what is gone does not; a file with many conversations has many ids."""
    parts = DatasetParts({
        "2": Part({"b": entry(), "c": entry(transcripts=0), "d": SourceEntry(gone=True)}),
        "1": Part({"a": entry(), "b": entry(transcripts=2), "c": entry(), "d": entry(transcripts=0)}),
    })  # fmt: skip
    assert parts.entries() == {"a": entry(), "b": entry(), "c": entry(transcripts=0)}
    assert parts.live("1") == {"a": entry()} and set(parts.live("2")) == {"b", "c", "d"}
    assert parts.dead_ids("2") == []
    ids = [transcript_id("b"), transcript_id("b", 1), transcript_id("b", 2), transcript_id("c")]
    dead = parts.dead_ids("1")
    assert set(ids) <= set(dead) and not any(one.startswith(transcript_id("a")) for one in dead)


def test_what_is_removed(tmp_path: Path) -> None:
    """Parts of which nothing counts; one that says what is gone stays as long as an older one has rows of it."""
    dataset = Dataset(str(tmp_path / "dataset"))
    dataset.begin(DatasetHead())
    for name, part in {
        "00000001-00001": Part({"a": entry(), "b": entry()}), "00000002-00001": Part({"c": entry()}),
        "00000003-00001": Part({"c": entry(), "a": SourceEntry(gone=True)}), "00000004-00001": Part({"c": entry()}),
    }.items():  # fmt: skip
        dataset.write_part(name, part)
    parts = DatasetParts(dataset.parts())
    parts.tidy(dataset, list(parts.all))
    assert [name[:8] for name in sorted(dataset.parts())] == ["00000001", "00000003", "00000004"]
    dataset.write_part("00000005-00001", Part({"b": entry()}))
    parts = DatasetParts(dataset.parts())
    parts.tidy(dataset, list(parts.all))
    assert [name[:8] for name in sorted(dataset.parts())] == ["00000004", "00000005"]
    assert set(DatasetParts(dataset.parts()).entries()) == {"b", "c"}


def test_what_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is dead for the most part; all with dead rows, if asked; small ones, if they are many."""
    monkeypatch.setattr(module, "SMALL_PARTS", 2)
    monkeypatch.setattr(module, "GROUP", 10)
    most, some = Part({"a": entry(30), "b": entry(20)}), Part({"c": entry(20), "d": entry(30)})
    parts = DatasetParts({"1": most, "2": some, "3": Part({"a": entry(), "c": entry()})})
    assert parts.to_fold(["1", "2", "3"], every=False) == [["1"]]
    assert parts.to_fold(["1", "2", "3"], every=True) == [["1"], ["2"]]
    small = {f"{k}": Part({f"{k}": entry()}) for k in range(4, 7)}
    parts = DatasetParts({**parts.all, **small})
    assert parts.to_fold(list(parts.all), every=False) == [["3", "4", "5", "6"], ["1"]]
    assert parts.to_fold(["3", "4"], every=False) == []


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part has a file for each table, month and format with rows, however often they were put aside."""
    monkeypatch.setattr(module, "GROUP", 500)
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    write(folder, dataset)
    [path] = (dataset / partition("messages", "2026-02", "chat")).iterdir()
    with pyarrow.parquet.ParquetFile(path) as file:
        assert len(set(file.read()["transcript_id"].to_pylist())) == 10
        assert file.schema_arrow.metadata[SCHEMA_KEY.encode()]
    assert not (dataset / "ops").exists()


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """The second part has the rows of what is new or changed; folded, both are one, and the rows are the same."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    write(folder, dataset)
    before = bytes_of(dataset)
    (folder / "003.jsonl").write_bytes(chat(60, 9))
    (folder / "new.jsonl").write_bytes(chat(61, 9))
    report = write(folder, dataset, "00000002-00001")
    assert (report.new, report.changed, report.unchanged) == (1, 1, 11)
    after = bytes_of(dataset)
    assert before.items() <= after.items()
    assert {name.rpartition("/")[2] for name in after.keys() - before.keys()} == {"00000002-00001.parquet"}
    wanted, target = rows_of(dataset), Dataset(str(dataset))
    fold(target, DatasetParts(target.parts()), ["00000001-00001", "00000002-00001"], "00000002-00002")
    parts = DatasetParts(target.parts())
    assert rows_of(dataset) == wanted
    parts.tidy(target, list(parts.all))
    assert list(target.parts()) == ["00000002-00002"] and rows_of(dataset) == wanted


def test_many_conversations(tmp_path: Path) -> None:
    """All transcripts of a file are kept together, and replaced together."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    one = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}'
    (folder / "many.json").write_text(f"[{', '.join([one] * 12)}]")
    write(folder, dataset)
    key = transcript_id(str(folder / "many.json"))
    assert sum(f'"{key}-' in row for row in rows_of(dataset)["transcripts"]) == 12
    (folder / "many.json").write_text(f"[{', '.join([one] * 5)}]")
    write(folder, dataset, "00000002-00001")
    write(folder, tmp_path / "fresh")
    assert rows_of(dataset) == rows_of(tmp_path / "fresh")


@pytest.mark.parametrize("table", ["transcripts", "messages", "files"])
def test_an_error_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """If the new rows of any table cannot be made, all files are as they were, and the next run reads again."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    write(folder, dataset)
    before = bytes_of(dataset)
    (folder / "004.jsonl").write_bytes((folder / "004.jsonl").read_bytes() + b"\n")
    real = module.table

    def broken(name: str, rows: list[dict[str, object]]) -> object:
        if name == table:
            raise MemoryError
        return real(name, rows)

    with monkeypatch.context() as patch:
        patch.setattr(module, "table", broken)
        with pytest.raises(MemoryError):
            write(folder, dataset, "00000002-00001")
    assert bytes_of(dataset) == before
    report = write(folder, dataset, "00000002-00001")
    assert (report.changed, report.unchanged) == (1, 11)
