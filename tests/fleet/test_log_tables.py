"""The tables of a few logs, without a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.errors import NoSuchLog
from ctxkit.fleet.tables import TABLES, table
from tests.cli.runner import FOREIGN, SMALL, good
from tests.fleet.planned import rows_of

pytest.importorskip("pyarrow", reason="the extra `fleet` is not installed")

from ctxkit.fleet.log_tables import log_tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two logs, one with an op, a file that is no log, an empty one, and one that is damaged."""
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    (tmp_path / "below").mkdir()
    (tmp_path / "below/session.jsonl").write_bytes(FOREIGN)
    good("forget", tmp_path / "below/session.jsonl", "1")
    (tmp_path / "note.txt").write_text("no log\n")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    return tmp_path


def test_the_rows_of_each(folder: Path) -> None:
    """A folder gives the rows of every log below it, with the ops of its sidecar."""
    found = log_tables([str(folder)])
    paths = [folder / "below/session.jsonl", folder / "chat.jsonl"]
    for name in TABLES:
        expected = [row for path in paths for row in rows_of(path)[name]]
        both = found.tables[name], table(name, expected)
        assert sorted(map(str, both[0].to_pylist())) == sorted(map(str, both[1].to_pylist()))
    assert found.tables["ops"].num_rows == 1
    assert found.failed == {}
    assert found.named == frozenset()


def test_named_files(folder: Path) -> None:
    """What is named itself and is no log has a row with the reason, and the others are there."""
    found = log_tables([str(folder / "note.txt"), str(folder / "chat.jsonl")])
    assert list(found.failed) == [str(folder / "note.txt")] and "not a log" in found.failed[str(folder / "note.txt")]
    assert [row["source_id"] for row in found.tables["transcripts"].to_pylist()] == ["note", "chat"]
    assert found.named == {str(folder / "note.txt"), str(folder / "chat.jsonl")}


def test_unreadable_below_a_folder(folder: Path) -> None:
    """A log that cannot be read is a row with the reason, also if it was found in a folder."""
    (folder / "below/session.jsonl.ctxkit/ops.jsonl").unlink()
    (folder / "below/session.jsonl.ctxkit/ops.jsonl").symlink_to("/etc/passwd")
    found = log_tables([str(folder)])
    assert list(found.failed) == [str(folder / "below/session.jsonl")]


def test_a_stream() -> None:
    """Bytes are a log too."""
    found = log_tables([], streams=[("-", SMALL)])
    assert found.tables["messages"].num_rows == 11


def test_a_place_that_is_missing(tmp_path: Path) -> None:
    """Nothing is read if a place does not exist."""
    with pytest.raises(NoSuchLog):
        log_tables([str(tmp_path / "none.jsonl")])


def test_redact(tmp_path: Path) -> None:
    """Secrets are taken out."""
    secret = "sk-ant-" + "a1b2" * 8
    (tmp_path / "chat.jsonl").write_text('{"role":"user","content":"' + secret + '"}\n')
    [text] = log_tables([str(tmp_path)], redact=True).tables["messages"].column("text").to_pylist()
    assert secret not in text
