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


def test_ingest(tmp_path: Path) -> None:
    """A dataset, and again nothing to do."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    ran = ctxkit("fleet", "ingest", str(folder), "-o", str(dataset), "--shards", "2", "--jobs", "1")
    assert (ran.code, ran.err) == (0, "3 new.\n")
    assert len(rows_of(dataset)["transcripts"]) == 3
    assert ctxkit("fleet", "ingest", str(folder), "-o", str(dataset)).err == "3 unchanged.\n"
