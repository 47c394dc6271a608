"""What lines are worth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxkit.content.identifiers import Identifier, IdentifierKind
from ctxkit.content.scoring import CLASSES, EASE, LineScores, SessionCourse, repeat_odds
from ctxkit.content.segments import Fragment, fragments
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.content.touched_files import File, touched
from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import Names


def line(text: str, at: float) -> Fragment:
    return Fragment(0, 0, 0, text, at)


CODE = "    return compute_the_sum(of, these)"


def weighed(said: Sequence[TextSegment], files: Sequence[File] = (), share: float = EASE) -> LineScores:
    """All lines of these pieces."""
    return LineScores(dict(enumerate(said)), fragments(said), files, SessionCourse(said, files), share)


def test_code_that_was_written_lately_is_written_again_sooner_than_what_was_printed() -> None:
    edit = TextSegment(1, SegmentKind.INPUT, CODE, "Edit", "new_string")
    read = TextSegment(1, SegmentKind.RESULT, CODE, "Read", touches=(FileTouch("a.py", "read"),))
    printed = TextSegment(1, SegmentKind.RESULT, CODE, "Bash")
    new, old = line(CODE, 0), line(CODE, 0.9)
    assert repeat_odds(edit, new) > repeat_odds(edit, old) > repeat_odds(read, old) > repeat_odds(printed, old) > 0
    assert repeat_odds(edit, line("}", 0)) == 0


def test_a_file_that_was_touched_lately_counts_more() -> None:
    def edit(name: int, path: str, words: str) -> list[TextSegment]:
        touch = FileTouch(path, "edit")
        return [
            TextSegment(name, SegmentKind.INPUT, path, "Edit", "file_path", touches=(touch,), call=f"c{name}"),
            TextSegment(name, SegmentKind.INPUT, words, "Edit", "new_string", call=f"c{name}"),
        ]

    rest = [TextSegment(n, SegmentKind.RESULT, "words") for n in range(3, 9)]
    said = [*edit(1, "one.py", "one_name"), *edit(2, "two.py", "two_name"), *rest, *edit(9, "one.py", "x")]
    worth = weighed(said, touched(said))
    assert worth.of(Identifier(IdentifierKind.IDENTIFIER, "one_name")) > worth.of(
        Identifier(IdentifierKind.IDENTIFIER, "two_name")
    )


def test_a_class_of_few_facts_is_worth_as_much_as_one_of_many() -> None:
    said = [TextSegment(1, SegmentKind.INPUT, "def a():\ndef b():\ndef c():", "Write", "content"),
            TextSegment(2, SegmentKind.ASSISTANT, "I decided it."),]  # fmt: skip
    worth = weighed(said)
    assert worth.of(("decisions", "I decided it.")) == CLASSES["decisions"]
    assert worth.of(("code", "def a():")) == CLASSES["code"] / 3


def test_an_item_that_a_person_named_is_worth_more_than_one_that_was_printed() -> None:
    said = [TextSegment(1, SegmentKind.RESULT, "see printed_name"), TextSegment(2, SegmentKind.USER, "use typed_name")]
    worth = weighed(said)
    typed, printed = (worth.of(Identifier(IdentifierKind.IDENTIFIER, name)) for name in ("typed_name", "printed_name"))
    assert typed > printed > 0
    assert worth.of("nothing") == 0


def test_a_shorter_summary_tells_what_happened_first() -> None:
    said = [TextSegment(1, SegmentKind.ASSISTANT, "I look at it."),
            TextSegment(2, SegmentKind.RESULT, "see printed_name", "Bash"),
            TextSegment(3, SegmentKind.INPUT, "use called_name", "Edit", "new_string")]  # fmt: skip
    short, long = (weighed(said, share=share) for share in (0.05, 0.5))
    words, printed, called = (
        ("placed", "I look at it."),
        *(Identifier(IdentifierKind.IDENTIFIER, f"{one}_name") for one in ("printed", "called")),
    )
    assert short.of(words) > long.of(words)
    assert short.of(printed) / short.of(called) < long.of(printed) / long.of(called)
    assert short.words[2] < long.words[2] or not long.words[2]


def test_what_was_asked_last_counts_most() -> None:
    said = [
        TextSegment(1, SegmentKind.USER, "First do this."),
        TextSegment(2, SegmentKind.USER, "And then that."),
        TextSegment(3, SegmentKind.ASSISTANT, "Done."),
        TextSegment(4, SegmentKind.USER, "Now do more."),
        TextSegment(5, SegmentKind.ASSISTANT, "I do it now."),
        TextSegment(6, SegmentKind.ASSISTANT, "Well."),
    ]
    worth = weighed(said)
    first, then, last = (worth.of(("asked", one.text)) for one in said if one.kind == SegmentKind.USER)
    assert last > first > then > 0
    done, now = (worth.of(("said", one)) / len(one) for one in ("Done.", "I do it now."))
    assert done > now  # the last words before somebody asks again


def test_a_name_in_a_long_list_that_was_printed_counts_less() -> None:
    names = "\n".join(f"listed_name_{n}" for n in range(200))
    said = [
        TextSegment(1, SegmentKind.RESULT, names, "Bash"),
        TextSegment(2, SegmentKind.RESULT, "printed_name", "Bash"),
    ]
    worth = weighed(said)
    listed, printed = (
        worth.of(Identifier(IdentifierKind.IDENTIFIER, name)) for name in ("listed_name_199", "printed_name")
    )
    assert printed > 1.5 * listed > 0


def test_a_line_of_what_is_spoken_of_counts_more() -> None:
    printed = TextSegment(
        1, SegmentKind.RESULT, "value of spoken_name is 1 here\nvalue of other_name is 1 here", "Bash"
    )
    said = [
        printed,
        TextSegment(2, SegmentKind.USER, "x" * 200),
        TextSegment(3, SegmentKind.USER, "what is spoken_name?"),
    ]
    spoken, other, *_ = weighed(said).words
    assert spoken > 1.5 * other


def test_a_definition_that_is_named_counts_more() -> None:
    """By the model or the user, among those that a file shows."""
    read = (FileTouch("a.py", "read"),)
    shown = "def merge_rows(rows):\ndef print_rows(rows):"
    said = [
        TextSegment(1, SegmentKind.RESULT, shown, "Read", touches=read, call="c", file="a.py"),
        TextSegment(2, SegmentKind.ASSISTANT, "The fault is in merge_rows."),
    ]
    worth = weighed(said)
    named, other = (("signatures", text) for text in shown.split("\n"))
    assert worth.of(named) == 2 * worth.of(other) > 0


def test_the_shortest_summaries_favour_what_is_written_again() -> None:
    """A third more below 15 % of what they replace."""
    said = [TextSegment(1, SegmentKind.INPUT, "rows = merge(rows, others)", "Edit", "new_string")]
    few, some, many = (sum(weighed(said, share=share).words) for share in (0.1, 0.2, 0.5))
    assert few == pytest.approx(1.3 * many) and many < some < few


def test_what_the_program_took_out_counts_half() -> None:
    """All of it together, as a share of what came after."""
    texts = [f"The row {n} is merged into page {n}." for n in range(8)]
    said = [TextSegment(n, SegmentKind.ASSISTANT, text) for n, text in enumerate(texts, 1)]
    course = SessionCourse(said, [], before=Names.parse("1-6"))
    assert course.past(7) == 1.0 and course.past(1) == pytest.approx(0.5 * 2 / 6, rel=0.05)
    assert SessionCourse(said, []).past(1) == 1.0


@pytest.mark.parametrize(
    ("focus", "text", "is_focused"),
    [
        ("sdk", "the SDK of it", True), ("sdk", "the skd of it", False), ("the sdk", "the rest", False),
        ("CI of the parser", "ci fails", True), ("CI of the parser", "of the rest", False),
        ("CI of the parser", "the Parser", True), ("v2", "as v2 has it", True), ("", "anything", False),
    ],
)  # fmt: skip
def test_a_short_word_is_a_focus_too(focus: str, text: str, is_focused: bool) -> None:
    """Alone, or if it has capitals or digits; articles are none."""
    assert SessionCourse([], [], focus=focus).is_focused(text) is is_focused
