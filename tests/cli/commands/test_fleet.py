"""`fleet`: actions, and options that fit them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import ctxkit
from tests.fleet.folders import logs, rows_of


@pytest.mark.parametrize("words", [["ingest"], ["ingest", "x"], ["ingest", "-o", "x"], ["pack", "x"], []])
def test_usage(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    ran = ctxkit("fleet", *words)
    assert (ran.code, ran.out) == (2, b"") and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("null", [False, True])
def test_files_from(tmp_path: Path, *, null: bool) -> None:
    """The sources that a list names, a line each or by NUL bytes, beside those that are named."""
    folder, dataset = logs(tmp_path / "logs", 4), tmp_path / "dataset"
    (folder / "000.jsonl").rename(folder / "a\nb.jsonl" if null else folder / "a b.jsonl")
    one, *others = sorted(map(str, folder.glob("*.jsonl")))
    list_of = "".join(f"{other}\0" if null else f"{other}\n" for other in [one, *others[:2]]).encode()
    flags = ["--files-from", "-", "-q"]
    ran = ctxkit("fleet", "ingest", others[2], *flags, "-o", dataset, "--jobs", "1", stdin=list_of)
    assert ran.code == 0 and len(rows_of(dataset)["transcripts"]) == 4
    (tmp_path / "list").write_bytes(list_of)
    ran = ctxkit("fleet", "map", "status", "--files-from", tmp_path / "list", "-q", "--jobs", "1")
    assert [row["log"] for row in ran.values] == [one, *others[:2]]


def test_an_empty_list(tmp_path: Path) -> None:
    """Nothing to do is said, and that `sql` takes none."""
    for words in (["ingest", "-o", tmp_path / "x"], ["map", "status"]):
        ran = ctxkit("fleet", *words, "--files-from", "-", stdin=b"")
        assert ran.code == 1 and "the list - is empty" in ran.err
    ran = ctxkit("fleet", "sql", "--dataset", "x", "select 1", "--files-from", "y")
    assert ran.code == 2 and "does not apply" in ran.err


def test_ingest(tmp_path: Path) -> None:
    """A dataset, and again nothing to do."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    ran = ctxkit("fleet", "ingest", str(folder), "-o", str(dataset), "--shards", "2", "--jobs", "1")
    assert (ran.code, ran.err) == (0, "3 new.\n")
    assert len(rows_of(dataset)["transcripts"]) == 3
    assert ctxkit("fleet", "ingest", str(folder), "-o", str(dataset)).err == "3 unchanged.\n"
