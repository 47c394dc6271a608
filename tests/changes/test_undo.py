"""undo and redo: which op is voided. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.undo import redo, undo
from ctxkit.core.ledger import build as build_ledger
from ctxkit.errors import NoSuchOp
from tests import build


def decided(spec: str, command: str, name: str | None = None) -> tuple[str, str]:
    """The op that is voided, and what is said."""
    records = build.log(spec)
    ledger, at = build_ledger(build.transcript(records)), build.here(records)
    decision = undo(ledger, at, name) if command == "undo" else redo(ledger, at)
    assert decision.op is not None
    return getattr(decision.op, "op", ""), decision.said


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        ("1 | mark | forget 1", None, ("a2", "Undid op 2 (forget).")),
        ("1 | mark | forget 1 | undo @2", None, ("a1", "Undid op 1 (mark).")),
        ("1 | mark | undo @1 | undo @2", None, ("a1", "Undid op 1 (mark).")),
        ("1 | mark | forget 1", "1", ("a1", "Undid op 1 (mark).")),
        ("1 | mark | undo @1", "2", ("a2", "Undid op 2 (undo).")),
        ("1 | frobnicate ids=1", None, ("a1", "Undid op 1 (frobnicate).")),
        ("1 | forget 1 at=9", "1", ("a1", "Undid op 1 (forget).")),
        ("1 | mark | interrupted id=none", None, ("a1", "Undid op 1 (mark).")),
    ],
)
def test_undo(spec: str, name: str | None, expected: tuple[str, str]) -> None:
    """The newest in force that is no undo, or the one that is named, whatever it is."""
    assert decided(spec, "undo", name) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("1 | mark | undo @1", ("a2", "Redid op 1 (mark).")),
        ("1 | mark | forget 1 | undo @2 | undo @1", ("a4", "Redid op 1 (mark).")),
        ("1 | mark | forget 1 | undo @2 | undo @1 | undo @4", ("a3", "Redid op 2 (forget).")),
        ("1 | mark | undo @1 | forget 1", ("a2", "Redid op 1 (mark).")),
        ("1 | mark | undo @1 | undo @2 | undo @1", ("a4", "Redid op 1 (mark).")),
    ],
)
def test_redo(spec: str, expected: tuple[str, str]) -> None:
    """The newest undo in force that is not itself a redo (replay 44)."""
    assert decided(spec, "redo") == expected


@pytest.mark.parametrize(
    ("spec", "command", "name", "words"),
    [
        ("1", "undo", None, "nothing to undo"),
        ("1 | mark | undo @1", "undo", None, "nothing to undo"),
        ("1 | mark | undo @1", "undo", "1", "op 1 (mark) is undone already, by op 2"),
        ("1 | mark", "undo", "7", "no op 7"),
        ("1 | interrupted id=none", "undo", "1", "has no id"),
        ("1 | mark", "redo", None, "nothing to redo"),
        ("1 | mark | undo @1 | undo @2", "redo", None, "nothing to redo"),
    ],
)
def test_refused(spec: str, command: str, name: str | None, words: str) -> None:
    """And why."""
    with pytest.raises(NoSuchOp) as caught:
        decided(spec, command, name)
    assert words in caught.value.message
