"""What `fleet ingest` says of what it did."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.runner import ctxkit
from tests.fleet.folders import logs


def ingest(folder: Path, *more: str) -> tuple[int, bytes, list[str]]:
    """Exit status, output, and the lines of the report."""
    ran = ctxkit("fleet", "ingest", str(folder), "-o", str(folder.parent / "dataset"), "--jobs", "1", *more)
    return ran.code, ran.out, ran.err.splitlines()


def test_counts(tmp_path: Path) -> None:
    """In words, and as an object."""
    folder = logs(tmp_path / "logs", 3)
    (folder / "note.md").write_text("# hi\n")
    assert ingest(folder, "--dry-run")[2] == ["Dry run, nothing was read. Without it: 4 new."]
    assert ingest(folder)[2] == ["3 new; 1 file that is no log."]
    (folder / "000.jsonl").unlink()
    code, out, _ = ingest(folder, "--json")
    found = json.loads(out)
    assert code == 0 and (found["removed"], found["unchanged"], found["broken"]) == (1, 2, {})


def test_what_has_an_error(tmp_path: Path) -> None:
    """A file that is no log is named, and no failure; one that cannot be read is."""
    folder = logs(tmp_path / "logs", 1)
    (folder / "bad.json").write_text('{"a": 1}')
    code, _, said = ingest(folder)
    assert code == 0 and "bad.json is a row with an error" in said[0]
    (folder / "loose.jsonl").symlink_to("nowhere")
    code, _, said = ingest(folder)
    assert code == 74 and "loose.jsonl could not be read" in said[0]


def test_a_damaged_ledger(tmp_path: Path) -> None:
    """Its shard stays as it is, with the way out; the others are brought up to date."""
    folder = logs(tmp_path / "logs", 6)
    ingest(folder, "--shards", "2")
    (tmp_path / "dataset/ledger/shard-0000.json").write_text("{")
    (folder / "new.jsonl").write_bytes((folder / "000.jsonl").read_bytes())
    code, _, said = ingest(folder)
    assert code == 65 and "shard-0000 is as it was" in said[0]
    (tmp_path / "dataset/ledger/shard-0000.json").unlink()
    assert ingest(folder)[0] == 0


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, and nothing is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, said = ingest(logs(tmp_path / "logs", 1))
    assert code == 2 and said[1] == "hint: pip install 'ctxkit-cli[fleet]'"
    assert not (tmp_path / "dataset").exists()
