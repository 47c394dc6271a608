"""The board: what leaves, comes back, is told in other words, is flagged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.board import Board, ContextItem, Exclusion, LeftOut, is_of
from ctxkit.core.item_names import ItemName, Names

S = ItemName("c1", 1)


def names(text: str) -> Names:
    """Short for Names.parse."""
    return Names.parse(text)


def summary(tells: str) -> ContextItem:
    """A summary of op 1."""
    return ContextItem(S, 1, "user", {"role": "user", "content": "old"}, tells=names(tells), summary=True)


def test_out_and_recall() -> None:
    """A recall lifts every reason but a boundary; what only hides does not make absent."""
    board = Board()
    for source, kind, boundary in ((1, "forget", False), (2, "clear", True), (3, "trim", False)):
        board.take_out(Exclusion(source, kind, names("1-3"), boundary=boundary))
    board.take_out(Exclusion(4, "compact", names("9")))
    assert (str(board.absent()), str(board.hidden())) == ("1-3", "1-3,9")
    board.recall(names("2,9"))
    assert [out.kind for out in board.outs if 1 in out.names] == ["forget", "clear", "trim"]
    assert [out.kind for out in board.outs if 2 in out.names] == ["clear"]
    assert str(board.hidden()) == "1-3"


def test_enter_lifts_everything() -> None:
    """What an edit or restore puts in is in, in full, whatever took it out."""
    board = Board()
    board.take_out(Exclusion(1, "clear", names("1-3"), boundary=True))
    board.stubs[2] = "[cut]"
    board.enter([2], [(3, 2, 1, 0)], 5.0)
    assert str(board.hidden()) == "1,3"
    assert (board.keys, board.effective, board.stubs) == ({2: (3, 2, 1, 0)}, {2: 5.0}, {})


def test_place_moves_only() -> None:
    """A message that its program moved is in or out as before."""
    board = Board()
    board.take_out(Exclusion(1, "forget", names("2")))
    board.place([2], [(3, 2, 1, 0)])
    assert str(board.hidden()) == "2"


def test_summaries() -> None:
    """Told again without a part, or dropped: then what its compact replaced is back."""
    board = Board()
    board.take_out(Exclusion(1, "compact", names("2-4")))
    board.take_out(Exclusion(2, "compact", names("7")))
    board.bring(summary("2-4"))
    board.retell(S, "new", names("3"))
    assert (str(board.items[S].tells), board.items[S].message["content"]) == ("2,4", "new")
    board.drop(S)
    assert (board.items, board.telling, str(board.hidden())) == ({}, {}, "7")


def test_a_literal_that_is_dropped_brings_nothing_back() -> None:
    """Only a compact's own summary stands for what the compact replaced."""
    board = Board()
    board.take_out(Exclusion(1, "compact", names("2-4")))
    board.bring(ContextItem(S, 1, "user", {}, tells=names("2")))
    board.drop(S)
    assert str(board.hidden()) == "2-4"


@given(st.lists(st.tuples(st.sets(st.integers(1, 8)), st.booleans(), st.booleans())))
def test_flags(flags: list[tuple[set[int], bool, bool]]) -> None:
    """The newest flag of a name counts, however many there are, and however often somebody looks."""
    board = Board()
    expected: dict[int, bool] = {}
    for numbers, protected, look in flags:
        board.flag(Names.of(numbers), protected=protected)
        expected.update(dict.fromkeys(numbers, protected))
        if look:
            assert board.protected == Names.of(n for n, flag in expected.items() if flag)
    assert board.protected == Names.of(n for n, flag in expected.items() if flag)
    assert board.unprotected == Names.of(n for n, flag in expected.items() if not flag)


def test_a_summary_told_again_is_shown_as_it_is_told() -> None:
    """What it was shortened to may have what was forgotten; it stays only if the new text has all of it."""
    for text, shown in (("a\nb\nc", "a\n…\nc"), ("a\nc", "a\n…\nc"), ("a\nb", None)):
        for held in ("a\n…\nc", LeftOut((0,), "a\n…\nc")):
            board = Board()
            board.bring(summary("1-3"))
            board.stubs[S] = held
            board.retell(S, text, names("2"))
            stub = board.stubs.get(S)
            assert (stub.stub if isinstance(stub, LeftOut) else stub) == shown


LINES = st.lists(st.text("ab …\t", max_size=4), max_size=6)


@given(LINES, LINES)
def test_what_is_of_a_summary(text: list[str], other: list[str]) -> None:
    """Lines of it in their order, and marks between; no part of a message that it does not have."""
    whole = "\n".join(text)
    assert is_of("\n…\n".join(text[::2]), whole)
    assert not is_of("\n".join([*other, "x"]), whole)
    assert not is_of([{"type": "text", "text": "a"}], whole)
