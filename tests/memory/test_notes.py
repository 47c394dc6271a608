"""Which notes stand: against a model that rebuilds a list for every prefix of the file."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.memory.block import by_importance, text_block
from ctxkit.memory.notes import (
    VERSION,
    MemoryChange,
    MemoryNote,
    MemoryRow,
    MemoryUndo,
    NoteSource,
    body,
    in_force,
    numbered,
    once,
    parse,
    to_redo,
    to_undo,
)
from tests.effort import examples

TS = "2026-02-01T10:00:00Z"


def change(id: str, *notes: str, supersedes: tuple[str, ...] = (), kind: str = "note") -> MemoryChange:
    """A change that adds notes whose ids are their texts."""
    return MemoryChange(id, TS, tuple(MemoryNote(one, one, kind) for one in notes), supersedes)


def undo(id: str, op: str) -> MemoryUndo:
    """An undo."""
    return MemoryUndo(id, TS, op)


def states(*rows: MemoryRow) -> list[tuple[str, str, int | None]]:
    """Text, state and successor of each note."""
    return [(one.note.text, one.state, one.by) for one in numbered(rows)]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], []),
        ([change("c1", "a")], [("a", "current", None)]),
        ([change("c1", "a"), change("c2", "b", supersedes=("a",))], [("a", "superseded", 2), ("b", "current", None)]),
        ([change("c1", "a"), change("c2", supersedes=("a",))], [("a", "superseded", None)]),
        ([change("c1", "a"), change("c2", "b", supersedes=("a",)), undo("u1", "c2")],
         [("a", "current", None), ("b", "undone", None)]),
        ([change("c1", "a"), change("c2", "b", supersedes=("a",)), undo("u1", "c2"), undo("u2", "u1")],
         [("a", "superseded", 2), ("b", "current", None)]),
        ([change("c1", "a"), change("c2", "a")], [("a", "current", None), ("a", "repeated", None)]),
        ([change("c1", "a"), undo("u", "c1"), change("c2", "a")], [("a", "undone", None), ("a", "current", None)]),
        ([change("c1", "a"), change("c2", "a", supersedes=("a",))], [("a", "current", None), ("a", "repeated", None)]),
        ([change("c1", supersedes=("a",)), change("c2", "a")], [("a", "current", None)]),
        ([change("c1", "a", "b"), change("c2", "c", "d", supersedes=("a",))],
         [("a", "superseded", None), ("b", "current", None), ("c", "current", None), ("d", "current", None)]),
        ([undo("u", "none"), change("c1", "a")], [("a", "current", None)]),
    ],
)  # fmt: skip
def test_states(rows: list[MemoryRow], found: list[tuple[str, str, int | None]]) -> None:
    """What supersedes, undoes and repeats what."""
    assert states(*rows) == found


def test_undo_walks_back_and_redo_forward() -> None:
    """Several undos take back one change each; redo takes back the newest undo, unless a change came after it."""
    rows: list[MemoryRow] = [change("c1", "a"), change("c2", "b"), change("c3", "c")]
    for expected in ("c3", "c2", "c1"):
        target = to_undo(rows)
        assert target is not None and target.id == expected
        rows.append(undo(f"u{expected}", expected))
    assert to_undo(rows) is None
    for k, expected in enumerate(("uc1", "uc2", "uc3")):
        again = to_redo(rows)
        assert again is not None and again.id == expected
        rows.append(undo(f"r{k}", expected))
        if expected == "uc1":
            assert [one[1] for one in states(*rows)] == ["current", "undone", "undone"]
    assert [one[1] for one in states(*rows)] == ["current"] * 3
    later = [change("c1", "a"), undo("u1", "c1"), change("c2", "b")]
    assert to_redo(later) is None and to_redo([]) is None


class Model:
    """The same by trying: a row is in force unless an undo after it, itself in force, names it."""

    def __init__(self, rows: list[MemoryRow]) -> None:
        self.rows = rows

    def is_in_force(self, place: int) -> bool:
        """Whether the row at a place counts."""
        return not any(
            isinstance(row, MemoryUndo) and row.op == self.rows[place].id and self.is_in_force(later)
            for later, row in enumerate(self.rows)
            if later > place
        )

    def standing(self) -> list[str]:
        """The ids of the notes that stand, in the order in which they came."""
        found: dict[str, bool] = {}
        for place, row in enumerate(self.rows):
            if isinstance(row, MemoryChange) and self.is_in_force(place):
                new = {note.id for note in row.notes}
                for note in row.notes:
                    found.setdefault(note.id, True)
                for old in row.supersedes:
                    if old in found and old not in new:
                        found[old] = False
        return [id for id, stands in found.items() if stands]


@st.composite
def histories(draw: st.DrawFn) -> list[MemoryRow]:
    """Changes with few note ids, and undos of anything that is there or not."""
    rows: list[MemoryRow] = []
    for k in range(draw(st.integers(0, 9))):
        if rows and draw(st.booleans()):
            rows.append(undo(f"u{k}", draw(st.sampled_from([*(row.id for row in rows), "none"]))))
        else:
            notes = draw(st.lists(st.sampled_from("abcde"), max_size=3, unique=True))
            old = draw(st.lists(st.sampled_from("abcde"), max_size=2, unique=True))
            rows.append(change(f"c{k}", *notes, supersedes=tuple(old)))
    return rows


@settings(max_examples=examples(1000))
@given(histories())
def test_against_a_model(rows: list[MemoryRow]) -> None:
    """What stands is what the model says; numbers never change while the file grows."""
    found = numbered(rows)
    assert [one.note.id for one in found if one.is_current] == Model(rows).standing()
    assert [row.id for row in in_force(rows)] == [row.id for k, row in enumerate(rows) if Model(rows).is_in_force(k)]
    for size in range(len(rows)):
        before = numbered(rows[:size])
        assert [(one.number, one.note) for one in before] == [(one.number, one.note) for one in found][: len(before)]


@settings(max_examples=examples(500))
@given(histories())
def test_undo_is_exact(rows: list[MemoryRow]) -> None:
    """After an undo the notes stand as if the change had not been written; after redo as before."""
    target = to_undo(rows)
    if target is None:
        return
    undone = [*rows, undo("new", target.id)]
    standing = [one.note.id for one in numbered(undone) if one.is_current]
    without = [row for row in rows if row.id != target.id]
    assert standing == Model(without).standing()
    again = to_redo(undone)
    assert again is not None and again.id == "new"
    assert Model([*undone, undo("redo", "new")]).standing() == Model(rows).standing()


@settings(max_examples=examples(500))
@given(histories(), st.randoms(use_true_random=False))
def test_repeated_lines_count_once(rows: list[MemoryRow], random: Any) -> None:
    """A line that was appended again changes nothing: a retry is harmless."""
    doubled = list(rows)
    for row in rows:
        if random.random() < 0.5:
            doubled.append(row)
    assert once(doubled) == rows == once(rows)


FULL = MemoryChange(
    "c1", TS, (MemoryNote("n1", "täxt \ud800", "decision", "rules", (NoteSource("/a", "1-3", "d", "s"),)),), ("n0",)
)


@pytest.mark.parametrize("row", [FULL, change("c2", "a"), undo("u1", "c1")])
def test_a_line_is_read_back(row: MemoryRow) -> None:
    """What is written is what is read."""
    assert parse(body(row)) == row


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in body(FULL).items() if name != key}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "no line of a project's notes"),
        ({"ctxkit": "forget"}, "no line of a project's notes"),
        (body(FULL) | {"v": VERSION + 1}, f"of version {VERSION + 1}"),
        (_without("v"), "of version None"),
        (_without("sum"), "its sum does not fit"),
        (body(FULL) | {"ts": "2027-01-01T00:00:00Z"}, "its sum does not fit"),
    ],
)
def test_what_is_no_line(value: Any, said: str) -> None:
    """Each is refused in words; nothing that was changed afterwards counts."""
    with pytest.raises(ValueError, match=said):
        parse(value)


def test_wrong_types() -> None:
    """A line with a right sum and wrong types is refused too."""
    value = copy.deepcopy(body(FULL))
    value["notes"] = 3
    from ctxkit.memory import notes

    value["sum"] = notes._checksum(value)
    with pytest.raises(ValueError, match="notes"):
        parse(value)


def test_names_of_sources() -> None:
    """A session by the beginning of its id, as `@` takes it; another log by its file name."""
    assert NoteSource("/x/y.jsonl", "3", "d", "3f2a91c0-1111").name == "@3f2a91c0-1111#3"
    assert NoteSource("/x/chat.jsonl", "3-5", "d").name == "chat.jsonl#3-5"


def test_a_kind_of_a_later_version() -> None:
    """It is listed and laid out as a note without a kind of its own."""
    row = MemoryChange("c", TS, (MemoryNote("a", "a", "weather"), MemoryNote("b", "b", "open")))
    found = parse(body(row))
    assert isinstance(found, MemoryChange) and [note.kind for note in found.notes] == ["note", "open"]
    assert "- by hand: a" in text_block(by_importance(found.notes), 1000, len)
