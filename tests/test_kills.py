"""A part of the matrix of kills, of each command; `just kills` strikes at every call (`tests/kills.py`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from ctxkit.errors import CannotCreate
from ctxkit.snapshots import make_checkpoint
from ctxkit.store import atomic
from tests.kills import CASES, KILL, Tally, matrix, table

pytestmark = pytest.mark.torture

EVERY = 101
"""Of some 500 points a command."""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that fails is tried again at once: there is nobody to wait for."""
    monkeypatch.setattr(make_checkpoint, "PAUSES", (0.0, 0.0))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_old_or_new(case: object, tmp_path: Path) -> None:
    """Whatever strikes, and wherever: old or new, never half; no private text elsewhere; errors in words."""
    found = matrix(case, tmp_path, every=EVERY)  # type: ignore[arg-type]
    assert found.violations == []
    assert found.half == 0 and found.killed + found.failed >= 3


def naive(path: str | Path, pieces: Iterable[bytes]) -> None:
    """What everybody writes first: a file in the system's folder for temporary ones, copied to its place."""
    try:
        fd, made = tempfile.mkstemp()
        for piece in pieces:
            os.write(fd, piece)
        os.close(fd)
        there = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(there, Path(made).read_bytes())
        os.close(there)
        os.unlink(made)
    except OSError as error:
        raise CannotCreate(f"{path}: nothing was written") from error


@pytest.mark.full("the harness itself")
def test_a_naive_writer_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise no run above would prove anything: halves, private text left over, files that others can read."""
    monkeypatch.setattr(atomic, "create", naive)
    found = matrix(CASES[0], tmp_path, kinds=[KILL], only="write")
    said = " ".join(found.violations)
    assert found.half and "private text in" in said and "has the mode 644" in said and "cannot be looked at" in said


def test_table() -> None:
    """A line for each command."""
    head, row = table([Tally("edit", calls=7, killed=8, old=9)])
    assert head.split() == ["command", "calls", "killed", "failed", "old", "new", "half", "violations"]
    assert row.split() == ["edit", "7", "8", "0", "9", "0", "0", "0"]
