"""The ledger: order, numbers, repeated ids, and which ops an undo voids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.ledger import Ledger
from ctxkit.core.ledger import build as build_ledger
from ctxkit.core.ops import Undo
from ctxkit.errors import NoSuchOp
from tests import build


def ledger(spec: str) -> Ledger:
    """The ledger of a spec's log."""
    return build_ledger(build.transcript(build.log(spec)))


def outline(found: Ledger) -> str:
    """Numbers, void ones in brackets."""
    return " ".join(f"({e.number})" if e.void else str(e.number) for e in found.entries)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("1 | mark", "1"),
        ("1 | mark | undo @1", "(1) 2"),
        ("1 | mark | undo @1 | undo @2", "1 (2) 3"),
        ("1 | mark | undo @1 | undo @2 | undo @3", "(1) 2 (3) 4"),
        ("1 | mark | undo @1 | undo @1", "(1) 2 3"),
        ("1 | mark | mark | undo @1 | undo @2 | undo @3", "1 (2) (3) 4 5"),
        ("1 | undo @2 | mark", "1 2"),
        ("1 | undo @1", "1"),
    ],
)
def test_undone(spec: str, expected: str) -> None:
    """Undos are read from the newest back; one that is itself undone is void; none reaches forward or itself."""
    assert outline(ledger(spec)) == expected


def test_voided_by() -> None:
    """A void op names the undo that counts, the newest."""
    assert ledger("1 | mark | undo @1 | undo @1").entries[0].voided_by == 3


@given(st.lists(st.integers(0, 20), max_size=12))
def test_undone_as_by_hand(targets: list[int]) -> None:
    """The pass from the newest back equals the definition: in force unless an undo in force, later, names it."""
    parts = ["1"] + [f"undo @{t}" if 0 < t <= i else "mark" for i, t in enumerate(targets)]
    found = ledger(" | ".join(parts))

    def in_force(number: int) -> bool:
        later = found.entries[number:]
        me = found.entries[number - 1].id
        return not any(isinstance(e.op, Undo) and e.op.op == me and in_force(e.number) for e in later)

    assert [not e.void for e in found.entries] == [in_force(e.number) for e in found.entries]


def test_order_of_a_sidecar() -> None:
    """Each op of a sidecar after the row that it names; at the same row the stream's go first (replay 21)."""
    early = "~forget 2 at=2 rows=3 | ~forget 1 at=2 rows=9 | ~forget 4 at=2 rows=1"
    found = ledger(f"1-2 | row | 3-4 | ~forget 3 | mark | {early}")
    assert [(e.id, e.place) for e in found.entries] == [("a4", 2), ("a5", 2), ("a3", 3), ("a2", 5), ("a1", 5)]


def test_a_sidecar_that_says_nonsense_goes_last() -> None:
    """Where `at` names nothing, the op stands behind everything and is refused there."""
    records = [*build.log("1-3"), {"ctxkit": "mark", "id": "x", "at": "?", "~": True}]
    assert build_ledger(build.transcript(records)).entries[0].place == 3


def test_repeated_ids() -> None:
    """The same line twice is one op; the same id with another body is damage, and the first counts."""
    found = ledger("1-3 | forget 1 id=x | forget 1 id=x | forget 2 id=x | mark")
    assert outline(found) == "1 2"
    assert found.entries[0].body["ids"] == "1"
    assert [(d.code, d.line) for d in found.damage] == [("op-conflict", 6)]


def test_ops_without_an_id_are_all_counted() -> None:
    """Two of them are two."""
    assert outline(ledger("1-3 | interrupted id=none | interrupted id=none")) == "1 2"


def test_faults_and_unknown_ones() -> None:
    """What cannot be read says why; what is not known is listed, unless it is void."""
    found = ledger("1 | forget x | frobnicate ids=1 | frobnicate ids=1 | undo @3")
    assert [bool(e.fault) for e in found.entries] == [True, False, False, False]
    assert [e.number for e in found.unknown] == [2]


def test_find() -> None:
    """By number, id, or unique prefix of an id."""
    found = ledger("1 | mark id=beef1 | mark id=beef2 | mark id=cafe")
    assert [found.find(name).number for name in ("1", "beef2", "c")] == [1, 2, 3]
    for name in ("", "0", "4", "beef", "d", "²"):
        with pytest.raises(NoSuchOp):
            found.find(name)


def test_upto() -> None:
    """The past knows nothing of later undos, and the ledger itself is not touched."""
    found = ledger("1 | mark | undo @1 | undo @2")
    assert [outline(found.upto(n)) for n in (1, 2, 3)] == ["1", "(1) 2", "1 (2) 3"]
    assert outline(found) == "1 (2) 3"
    assert found.upto(1).by_id.keys() == {"a1"}
