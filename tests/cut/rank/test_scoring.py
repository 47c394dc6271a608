"""What lines are worth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxkit.core.derive.files import FileTouch
from ctxkit.cut.rank.scoring import EASE, LineScores, SessionCourse, repeat_odds
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind
from ctxkit.cut.units.segments import Fragment, fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.cut.units.touched_files import File, touched


def line(text: str, at: float) -> Fragment:
    return Fragment(0, 0, 0, text, at)


CODE = "    return compute_the_sum(of, these)"


def weighed(said: Sequence[TextSegment], files: Sequence[File] = (), share: float = EASE) -> LineScores:
    """All lines of these pieces."""
    return LineScores(dict(enumerate(said)), fragments(said), files, SessionCourse(files), share)


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
    assert worth.of(("decisions", "I decided it.")) == 1
    assert worth.of(("code", "def a():")) == pytest.approx(1 / 3)


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
    assert SessionCourse([], focus).is_focused(text) is is_focused
