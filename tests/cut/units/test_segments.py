"""Pieces cut into lines that know what they keep."""

from __future__ import annotations

import pytest

from ctxkit.core.derive.files import FileTouch
from ctxkit.cut.rank.facts import CLASSES, facts
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind
from ctxkit.cut.units.segments import Fragment, Fragments, fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from tests.cut.rank.test_facts import SAID


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


def test_the_middle_of_a_long_message_is_pasted() -> None:
    lines = [f"This is line {n} of what somebody gave." for n in range(200)]
    found = fragments([TextSegment(1, SegmentKind.USER, "\n".join(lines))])
    asked = [one.text for one in found if ("asked", one.text) in one.facts]
    assert asked[0] == lines[0] and asked[-1] == lines[-1] and lines[100] not in asked
    assert all(("user", one.text) in one.facts for one in found)


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


def _classes(piece: TextSegment) -> dict[str, str]:
    return {text: name for one in fragments([piece]) for name, text in one.facts if name in ("placed", "said")}


def test_the_first_and_the_last_sentence_of_an_answer_count_by_their_place() -> None:
    said = "Wir nehmen ab jetzt SQLite. Ich habe das gelesen. Es ist so. Für Modul 3 fehlt ein Test."
    found = _classes(TextSegment(1, SegmentKind.ASSISTANT, said))
    assert list(found.values()) == ["placed", "said", "said", "placed"]


@pytest.mark.parametrize(
    "first",
    ["The following deferred tools are now available via ToolSearch:", "The following skills are available for use:"],
)
def test_a_notice_that_lists_tools_or_skills_is_one_line(first: str) -> None:
    """What the same message says behind it, in a reminder of its own, is read."""
    text = f"<system-reminder>\n{first}\n\n- one: does this\n- two\n</system-reminder>\nBe brief."
    assert [one.text for one in fragments([TextSegment(1, SegmentKind.NOTICE, text)])] == [first, "Be brief."]
    assert len(fragments([TextSegment(1, SegmentKind.USER, text.replace("<system-reminder>", ""))])) == 5


def test_what_a_program_puts_around_a_report_is_no_line() -> None:
    said = "<task-id>a69</task-id>\n<status>completed</status>\nThe cache is stale.\n<usage><tokens>12</tokens></usage>"
    assert [one.text for one in fragments([TextSegment(1, SegmentKind.NOTICE, said)])] == ["The cache is stale."]


def test_prose_is_cut_by_what_it_says_and_not_by_its_characters() -> None:
    chinese = "模块从现在起把数据存在库里。" * 9
    assert len(chinese) < 300
    assert len({one.text for one in fragments([TextSegment(1, SegmentKind.ASSISTANT, chinese + "还没有测试。")])}) == 2


def test_equal_calls_are_one() -> None:
    """The newest, with its message."""
    said = [
        TextSegment(n, SegmentKind.INPUT, text, "Grep", key, call=f"c{n}")
        for n in (1, 3, 5)
        for key, text in (("pattern", "def load"), ("path", "src/rows"))
    ]
    assert [(one.piece, one.text, one.often) for one in fragments(said)] == [(4, "def load", 3), (5, "src/rows", 3)]
