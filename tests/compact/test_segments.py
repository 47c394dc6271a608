"""Pieces cut into lines that know what they keep."""

from __future__ import annotations

from ctxkit.compact.segments import Fragment, Fragments, fragments
from ctxkit.content.facts import CLASSES, facts
from ctxkit.content.identifiers import Identifier, IdentifierKind
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.derive.files import FileTouch
from tests.content.test_facts import SAID


def test_lines_know_their_facts_as_they_are_counted() -> None:
    found = {fact for one in fragments(SAID) for fact in one.facts if fact[0] in CLASSES}
    whole = {(name, fact) for name, some in facts(SAID).items() for fact in some if not name.startswith("files")}
    assert found == whole


def test_a_line_that_stands_twice_is_one_where_it_stands_last() -> None:
    found = fragments(
        [TextSegment(1, SegmentKind.RESULT, "same line\nother"), TextSegment(2, SegmentKind.RESULT, "  same line")]
    )
    assert [(one.piece, one.text.strip(), one.often) for one in found] == [(0, "other", 1), (1, "same line", 2)]
    assert found[0].at > found[1].at


def test_a_long_line_of_prose_is_its_sentences_and_another_one_is_cut() -> None:
    prose = "This is one sentence of many. " * 12
    assert [one.part for one in fragments([TextSegment(1, SegmentKind.USER, prose + "The end.")])] == [11, 12]
    dump = "".join(f"{n:04}" for n in range(200))
    assert "".join(one.text for one in fragments([TextSegment(1, SegmentKind.RESULT, dump)])) == dump


def test_a_path_that_a_call_names_is_no_line_of_its_own() -> None:
    touch = FileTouch("src/a.py", "edit")
    found = fragments([TextSegment(1, SegmentKind.INPUT, "src/a.py", "Edit", "file_path", touches=(touch,))])
    assert found == []


def test_a_command_is_an_item_too() -> None:
    [one] = fragments([TextSegment(1, SegmentKind.INPUT, "make test", "Bash", "command")])
    assert one.items == (Identifier(IdentifierKind.COMMAND, "make test"),)


def test_what_an_edit_took_away_and_old_lists_of_tasks_are_left_out() -> None:
    def task(name: int, text: str) -> TextSegment:
        return TextSegment(name, SegmentKind.INPUT, text, "TodoWrite", "todos.0")

    said = [
        TextSegment(1, SegmentKind.INPUT, "x = 1", "Edit", "old_string"),
        task(2, "[pending] a"),
        task(3, "[completed] a"),
    ]
    assert [one.text for one in fragments(said)] == ["[completed] a"]


def test_what_stands_around_output_is_no_line() -> None:
    printed = (
        "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n}\n| --- |\n3 passed\nProcess exited with code 1"
    )
    assert [one.text for one in fragments([TextSegment(1, SegmentKind.RESULT, printed, "exec_command")])] == [
        "3 passed", "Process exited with code 1",
    ]  # fmt: skip


def test_lines_of_output_that_differ_in_numbers_alone_keep_the_same() -> None:
    one, two = fragments([TextSegment(1, SegmentKind.RESULT, "error: a.c:12 is bad\nerror: a.c:34 is bad", "Bash")])
    assert one.facts == two.facts


def test_of_too_many_lines_the_better_half_is_held() -> None:
    """Each time that there are more; what is held knows its place among all."""
    said = [TextSegment(n, SegmentKind.RESULT, "\n".join(f"line {n} {k}" for k in range(30))) for n in range(1, 40)]
    most = 0

    def newest(held: Fragments) -> list[Fragment]:
        nonlocal most
        most = max(most, len(held.lines))
        return held.lines[len(held.lines) // 2 :]

    held, whole = Fragments(said, newest, 100), Fragments(said)
    assert most == 101
    assert 50 <= len(held.lines) <= 100
    assert held.lines == whole.lines[-len(held.lines) :]
    assert held.pieces.keys() == {one.piece for one in held.lines}
    assert not any(piece.text for piece in held.pieces.values())


def test_lines_that_stand_again_hold_no_piece_that_was_left() -> None:
    said = [TextSegment(n, SegmentKind.RESULT, "same") for n in range(500)]
    assert Fragments(said, lambda held: held.lines, 10).pieces.keys() == {499}
