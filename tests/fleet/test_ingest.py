"""A dataset is what its sources are: whatever was there before, however many processes work."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.errors import BadDataset, CannotCreate, NoSuchLog
from ctxkit.fleet.ingest import Ingest, Ingested, SourceShare, ingest
from ctxkit.fleet.rows import transcript_id
from ctxkit.fleet.tables import TABLES
from tests.effort import examples
from tests.fleet.folders import SESSION, bytes_of, chat, logs, rows_of
from tests.formats.codex import pages
from tests.formats.codex.logs import raw as codex


def run(folder: Path, dataset: Path, jobs: int = 1, **asked: Any) -> Ingested:
    """Ingest a folder."""
    return ingest([str(folder)], str(dataset), Ingest(**asked), jobs=jobs)


def counts(found: Ingested) -> tuple[int, int, int, int]:
    """New, changed, unchanged, removed."""
    return found.new, found.changed, found.unchanged, found.removed


def old(folder: Path) -> None:
    """Let the files be older than the clock's tick: only then are their times trusted."""
    for k, path in enumerate(sorted(folder.rglob("*"))):
        if path.is_file():
            os.utime(path, (1_700_000_000 + k, 1_700_000_000 + k))


def test_new_and_again(tmp_path: Path) -> None:
    """The first run reads all, the second nothing: not a byte of a table changes."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    assert counts(run(folder, dataset)) == (12, 0, 0, 0)
    before = bytes_of(dataset)
    assert {name.partition("/")[0] for name in before} == set(TABLES)
    again = run(folder, dataset)
    assert counts(again) == (0, 0, 12, 0) and again.bytes == 0
    assert bytes_of(dataset) == before


def test_processes_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, or three with a part for each log: the same rows."""
    monkeypatch.setattr("ctxkit.fleet.ingest.SMALLEST", 1)
    monkeypatch.setattr("ctxkit.fleet.ingest.LARGEST", 1)
    folder = logs(tmp_path / "logs")
    run(folder, tmp_path / "one")
    run(folder, tmp_path / "three", jobs=3)
    assert len(list((tmp_path / "three/ledger").iterdir())) == 12
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "three")


STEPS = st.lists(
    st.tuples(st.sampled_from(["grow", "change", "add", "remove", "op", "touch"]), st.integers(0, 9)), max_size=6
)


@settings(max_examples=examples(100), deadline=None)
@given(STEPS)
def test_as_a_fresh_one(tmp_path_factory: pytest.TempPathFactory, steps: Sequence[tuple[str, int]]) -> None:
    """Law: after any changes of the sources, the rows are those of a fresh ingest; once folded, in the files too."""
    root = tmp_path_factory.mktemp("law")
    folder = logs(root / "logs", 8)
    run(folder, root / "dataset")
    for what, k in steps:
        path = folder / f"{k:03}.jsonl"
        if what == "add":
            (folder / f"x{k}.jsonl").write_bytes(chat(k + 100))
        elif not path.exists():
            continue
        elif what == "grow":
            path.write_bytes(path.read_bytes() + chat(k, 1))
        elif what == "change":
            path.write_bytes(chat(k + 1, 5))
        elif what == "remove":
            path.unlink()
            shutil.rmtree(f"{path}.ctxkit", ignore_errors=True)
        elif what == "touch":
            os.utime(path, (1_600_000_000 + k, 1_600_000_000 + k))
        elif len(Log.open(path).messages) > 2:
            Log.open(path).mark(f"{k}")
        run(folder, root / "dataset")
    run(folder, root / "fresh")
    fresh = rows_of(root / "fresh")
    assert rows_of(root / "dataset") == fresh
    run(folder, root / "dataset", fold=True)
    assert rows_of(root / "dataset") == fresh
    for name, rows in fresh.items():
        whole = [pyarrow.parquet.ParquetFile(file) for file in (root / "dataset" / name).rglob("*.parquet")]
        assert sum(file.metadata.num_rows for file in whole) == len(rows)


def test_what_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source whose size and time are as they were is not opened; one with the same bytes is not parsed."""
    hour = 3600 * 10**9  # by the time of the bytes alone: all these files were made just now
    monkeypatch.setattr("ctxkit.fleet.parts.settled", lambda found: found.st_mtime_ns < time.time_ns() - hour)
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    old(folder)
    os.utime(folder / "000.jsonl")  # changed just now: not trusted yet
    run(folder, dataset)
    (folder / "001.jsonl").chmod(0)
    found = run(folder, dataset)
    assert counts(found) == (0, 0, 12, 0) and not found.failed
    (folder / "001.jsonl").chmod(0o600)
    os.utime(folder / "002.jsonl")
    found = run(folder, dataset)
    assert counts(found) == (0, 0, 12, 0) and found.transcripts == 0


def test_same_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change right after the first run, which size and time of the file do not show, is seen."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 3600 * 10**9)  # however slow the first run was
    folder, dataset = logs(tmp_path / "logs", 1), tmp_path / "dataset"
    path = folder / "000.jsonl"
    run(folder, dataset)
    found = os.stat(path)
    path.write_bytes(path.read_bytes().replace(b"word", b"work"))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert counts(run(folder, dataset)) == (0, 1, 0, 0)


def test_a_sidecar_counts(tmp_path: Path) -> None:
    """A new op of a session of another program is a change, and its messages are out."""
    folder, dataset = logs(tmp_path / "logs", 5), tmp_path / "dataset"
    run(folder, dataset)
    Log.open(folder / "004.jsonl").forget([4, 5])
    assert counts(run(folder, dataset)) == (0, 1, 4, 0)
    assert sum('"out_by_op": 1' in row for row in rows_of(dataset)["messages"]) >= 2


def test_the_file_before_a_fork_counts(tmp_path: Path) -> None:
    """A fork is read again when the file in which its history begins goes, comes back or changes, and not before."""
    folder, dataset = tmp_path / "logs", tmp_path / "dataset"
    session = [json.loads(line) for line in codex("user:one | say:first | user:two | say:second").splitlines()]
    child = pages.write(folder, session, [2])
    parent, away = folder / pages.name(0), tmp_path / "away"
    old(tmp_path)
    run(folder, dataset)

    def texts() -> list[str]:
        found = [json.loads(row) for row in rows_of(dataset)["messages"]]
        own = [row for row in found if row["transcript_id"] == transcript_id(str(child))]
        return [row["text"] for row in sorted(own, key=lambda row: row["n"])]

    def again(changed: int, *wanted: str) -> None:
        assert counts(run(child, dataset)) == (0, changed, 1 - changed, 0)
        assert texts() == [*wanted]

    again(0, "one", "first", "two", "second")
    parent.rename(away)
    again(1)
    again(0)
    away.rename(parent)
    again(1, "one", "first", "two", "second")
    parent.write_bytes(parent.read_bytes().replace(b'"one"', b'"ONE"'))
    again(1, "ONE", "first", "two", "second")
    again(0, "ONE", "first", "two", "second")


def test_what_is_gone(tmp_path: Path) -> None:
    """Rows of sources that are gone go, unless they are to be kept; those of other places stay."""
    a, b, dataset = logs(tmp_path / "a", 3), logs(tmp_path / "b", 3), tmp_path / "dataset"
    run(a, dataset)
    run(b, dataset)
    (a / "001.jsonl").unlink()
    assert counts(run(b, dataset)) == (0, 0, 3, 0)
    assert counts(run(a, dataset, keep_missing=True)) == (0, 0, 2, 0)
    assert len(rows_of(dataset)["transcripts"]) == 6
    assert counts(run(a, dataset)) == (0, 0, 2, 1)
    assert len(rows_of(dataset)["transcripts"]) == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    """What is below it is not gone."""
    folder, dataset = logs(tmp_path / "logs", 2), tmp_path / "dataset"
    logs(folder / "below", 3)
    run(folder, dataset)
    (folder / "below").chmod(0)
    try:
        found = run(folder, dataset)
    finally:
        (folder / "below").chmod(0o700)
    assert found.removed == 0 and len(found.failed) == 1


def test_unseen_folders_keep_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, with a listing that says so."""
    from ctxkit.fleet import ingest as module
    from ctxkit.fleet.sources import SourceFile, listed

    folder, dataset = logs(tmp_path / "logs", 2), tmp_path / "dataset"
    logs(folder / "below", 3)
    run(folder, dataset)

    def blind(places: Sequence[str]) -> list[SourceFile]:
        seen = [one for one in listed(places) if "/below/" not in one.name]
        return [*seen, SourceFile(str(folder / "below"), error="cannot be read")]

    monkeypatch.setattr(module, "listed", blind)
    found = run(folder, dataset)
    assert found.removed == 0 and list(found.failed) == [str(folder / "below")]
    assert len(rows_of(dataset)["transcripts"]) == 6


def test_bad_files(tmp_path: Path) -> None:
    """A file that is no log has a row that says why if it is called JSON, else it is skipped."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    (folder / "bad.json").write_bytes(b'{"nothing": "of ours"}')
    (folder / "cut.jsonl").write_bytes(b"nothing of JSON\n")
    (folder / "note.md").write_bytes(b"# A page\n{not a log}\n")
    (folder / "torn.jsonl").write_bytes(SESSION[:-300])
    found = run(folder, dataset)
    assert (found.new, found.skipped, sorted(found.refused)) == (
        6,
        1,
        [str(folder / "bad.json"), str(folder / "cut.jsonl")],
    )
    rows = rows_of(dataset)["transcripts"]
    assert len(rows) == 6 and sum('"error": null' in row for row in rows) == 4
    again = run(folder, dataset)
    assert (counts(again), again.skipped) == ((0, 0, 6, 0), 1)


def test_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    """It has a row with the reason, and is tried again."""
    folder, dataset = logs(tmp_path / "logs", 2), tmp_path / "dataset"
    (folder / "loose.jsonl").symlink_to(tmp_path / "later")
    assert "loose.jsonl" in str(run(folder, dataset).failed)
    (tmp_path / "later").write_bytes(chat(7))
    found = run(folder, dataset)
    assert counts(found) == (0, 1, 2, 0) and not found.failed
    assert all('"error": null' in row for row in rows_of(dataset)["transcripts"])


def test_redact(tmp_path: Path) -> None:
    """No table has the secret; a dataset is made with it or without."""
    secret = "sk-ant-" + "a1b2" * 8
    folder, dataset = logs(tmp_path / "logs", 2), tmp_path / "dataset"
    (folder / "s.jsonl").write_bytes(chat(1).replace(b"word", secret.encode()))
    run(folder, dataset, redact=True)
    assert secret not in str(rows_of(dataset))
    with pytest.raises(BadDataset):
        run(folder, dataset)
    with pytest.raises(BadDataset):
        run(folder, dataset, redact=True, scout=True)


def test_dry_run(tmp_path: Path) -> None:
    """It counts, and writes nothing."""
    folder, dataset = logs(tmp_path / "logs", 2), tmp_path / "dataset"
    assert counts(run(folder, dataset, dry_run=True)) == (2, 0, 0, 0)
    assert not dataset.exists()


def test_nothing_there(tmp_path: Path) -> None:
    """A place that is not there makes no dataset; a folder without logs one without rows."""
    with pytest.raises(NoSuchLog):
        run(tmp_path / "no", tmp_path / "dataset")
    assert not (tmp_path / "dataset").exists()
    (tmp_path / "empty").mkdir()
    run(tmp_path / "empty", tmp_path / "dataset")
    assert rows_of(tmp_path / "dataset") == {name: [] for name in TABLES}
    assert all(list((tmp_path / "dataset" / name).rglob("*.parquet")) for name in TABLES)


def test_the_dataset_below_the_logs(tmp_path: Path) -> None:
    """Its own files are no sources."""
    folder = logs(tmp_path / "logs", 2)
    run(folder, folder / "dataset")
    assert counts(run(folder, folder / "dataset")) == (0, 0, 2, 0)


def test_shares(tmp_path: Path) -> None:
    """Runs for shares of the sources, also side by side, make the rows of one run; each removes what is gone of its."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    found = [run(folder, dataset, share=SourceShare(k, 3)) for k in (1, 2, 3)]
    assert sum(one.new for one in found) == 12 and all(one.new < 12 for one in found)
    run(folder, tmp_path / "one")
    assert rows_of(dataset) == rows_of(tmp_path / "one")
    (folder / "001.jsonl").unlink()
    (folder / "002.jsonl").write_bytes(chat(70))
    found = [run(folder, dataset, share=SourceShare(k, 2)) for k in (1, 2)]
    assert (sum(one.removed for one in found), sum(one.changed for one in found)) == (1, 1)
    assert counts(run(folder, dataset)) == (0, 0, 11, 0)
    run(folder, tmp_path / "two")
    assert rows_of(dataset) == rows_of(tmp_path / "two")


def test_many_runs_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts become one once they are many, and those of which most is dead are written again."""
    monkeypatch.setattr("ctxkit.fleet.parts.SMALL_PARTS", 4)
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    most = 0
    for k in range(9):
        (folder / f"{k:03}.jsonl").write_bytes(chat(k + 80, 4))
        run(folder, dataset)
        most = max(most, len(list((dataset / "ledger").iterdir())))
    assert most == 4
    run(folder, tmp_path / "fresh")
    assert rows_of(dataset) == rows_of(tmp_path / "fresh")


def test_a_table_for_scout(tmp_path: Path) -> None:
    """Only if it is asked for when the dataset is made; its files have no rows that count no more."""
    folder, dataset = logs(tmp_path / "logs"), tmp_path / "dataset"
    run(folder, dataset, scout=True)
    (folder / "003.jsonl").write_bytes(chat(60, 9))
    run(folder, dataset)
    found = [row for file in (dataset / "scout").iterdir() for row in pyarrow.parquet.read_table(file).to_pylist()]
    assert len({row["transcript_id"] for row in found}) == len(found) == 12
    assert sum("60: " in row["messages"] for row in found) == 1
    run(folder, tmp_path / "plain")
    assert not (tmp_path / "plain/scout").exists()


def test_stores(tmp_path: Path) -> None:
    """Sources and datasets in a store of fsspec are as in folders: the same rows but for the names."""
    fs = fsspec.filesystem("memory")
    folder = logs(tmp_path / "logs", 6)
    fs.pipe({f"/store/logs/{path.name}": path.read_bytes() for path in folder.iterdir()})
    found = ingest(["memory://store/logs"], "memory://store/dataset")
    assert counts(found) == (6, 0, 0, 0)
    fs.pipe("/store/logs/000.jsonl", chat(50))
    found = ingest(["memory://store/logs"], "memory://store/dataset")
    assert counts(found) == (0, 1, 5, 0)
    fs.get("/store/dataset", str(tmp_path / "copy"), recursive=True)
    (folder / "000.jsonl").write_bytes(chat(50))
    run(folder, tmp_path / "here")
    there, here = rows_of(tmp_path / "copy"), rows_of(tmp_path / "here")
    assert {name: len(some) for name, some in there.items()} == {name: len(some) for name, some in here.items()}
    assert len(there["messages"]) > 20


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    """Its rows come, stay and go as those of any other."""
    folder, dataset = tmp_path / "logs", tmp_path / "dataset"
    folder.mkdir()
    odd = folder / os.fsdecode(b"\xff.jsonl")
    odd.write_bytes(chat(3))
    assert counts(run(folder, dataset)) == (1, 0, 0, 0)
    assert counts(run(folder, dataset)) == (0, 0, 1, 0)
    [row] = rows_of(dataset)["transcripts"]
    assert json.loads(row)["source_uri"].endswith("/�.jsonl")
    odd.unlink()
    assert counts(run(folder, dataset)) == (0, 0, 0, 1)


@pytest.mark.parametrize("name", ["", "messages", "ledger"])
def test_a_link_in_a_dataset_s_place(name: str, tmp_path: Path) -> None:
    """Refused, before and after the dataset is made; nothing is written where it leads."""
    folder, dataset, elsewhere = logs(tmp_path / "logs"), tmp_path / "dataset", tmp_path / "elsewhere"
    if name:
        run(folder, dataset)
        (dataset / name).rename(tmp_path / "old")
    elsewhere.mkdir()
    (dataset / name).symlink_to(elsewhere)
    with pytest.raises(CannotCreate, match="a link"):
        run(folder, dataset)
    assert list(elsewhere.iterdir()) == []
