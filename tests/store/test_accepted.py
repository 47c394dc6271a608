"""Breaks of the chain of ops that somebody accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.store.accepted import NAME, accept, accepted
from ctxkit.store.sidecar import Sidecar


def test_accepted(tmp_path: Path) -> None:
    """What was noted is known, and is added to; a stream has none."""
    beside = Sidecar(tmp_path / "log.jsonl")
    assert accepted(None) == accepted(beside) == frozenset()
    accept(beside, ["a", "b"])
    accept(beside, ["b", "c"])
    assert accepted(beside) == {"a", "b", "c"}


@pytest.mark.parametrize("text", ["", "[", "[]", '{"breaks":1}', '{"breaks":[1]}'])
def test_damaged(text: str, tmp_path: Path) -> None:
    """A damaged file accepts nothing: the breaks are told again."""
    beside = Sidecar(tmp_path / "log.jsonl")
    beside.folder.mkdir()
    (beside.folder / NAME).write_text(text)
    assert accepted(beside) == frozenset()
