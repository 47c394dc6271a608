"""The summary of a snapshot: two to four sentences, no more than 600 characters, whatever the messages say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.files import FileTouch
from ctxkit.cut.summarize.gist import LONGEST, gist, shortened
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

WORK = [
    TextSegment(1, SegmentKind.USER, "Users are logged out. Find out why!"),
    TextSegment(
        2, SegmentKind.INPUT, "auth/session.py", "Edit", "path", touches=(FileTouch("auth/session.py", "edited"),)
    ),
    TextSegment(3, SegmentKind.INPUT, "pytest -q tests/auth", "Bash", "command"),
    TextSegment(
        4, SegmentKind.ASSISTANT, "I decided to go with minutes, as the settings do. Still open: the clock is a TODO."
    ),
    TextSegment(5, SegmentKind.USER, "Thanks! What is next?"),
]


def test_work() -> None:
    """Done, decided, asked, unfinished."""
    assert gist(WORK, 5) == (
        "5 messages: edited auth/session.py; ran pytest -q tests/auth. Decided: I decided to go with minutes, as the "
        "settings do. Asked last: What is next. Unfinished: Still open: the clock is a TODO."
    )


def test_a_line_is_told_once_and_without_its_marks() -> None:
    """What is decided and unfinished at once is unfinished; Markdown is for pages; a name keeps its underscores."""
    said = gist(
        [TextSegment(1, SegmentKind.ASSISTANT, "- **Decided**: `__init__` stays; still open: the TODO in it.")], 1
    )
    assert (
        said.endswith("Unfinished: Decided: `__init__` stays; still open: the TODO in it.") and said.count("TODO") == 1
    )


def test_talk() -> None:
    """Nothing is made up where nothing was done."""
    talk = [TextSegment(1, SegmentKind.USER, "hello"), TextSegment(2, SegmentKind.ASSISTANT, "hi there")]
    said = "2 messages: no file, command or error. Asked last: hello. Nothing is noted as unfinished."
    assert gist(talk, 2) == said
    assert gist(talk[:1], 1).endswith("The last message has no answer yet.")
    summed = gist([TextSegment("a.1", SegmentKind.SUMMARY, "They spoke.")], 1)  # type: ignore[arg-type]
    assert summed == "1 message: a summary of what came before. Nothing is noted as unfinished."
    assert gist([], 1) == "1 message: no file, command or error. Nothing is noted as unfinished."


@pytest.mark.parametrize(
    ("tool", "argument", "text", "done"),
    [("bash", "command", "ls", "ran ls"), ("Bash", "command", "pwd\nls", "ran pwd"),
     ("shell", "command", "ls -la", "ran ls -la"), ("get_weather", "city", "Rome", "called get_weather")],
)  # fmt: skip
def test_what_was_done_is_said(tool: str, argument: str, text: str, done: str) -> None:
    """Also where it is no fact to keep: nobody reads "no command" after a call."""
    call = TextSegment(2, SegmentKind.INPUT, text, tool, argument)
    assert gist([TextSegment(1, SegmentKind.USER, "hello"), call], 2).startswith(f"2 messages: {done}. ")


@given(st.lists(st.tuples(st.sampled_from(SegmentKind), st.text(max_size=400)), max_size=8))
def test_short(said: list[tuple[SegmentKind, str]]) -> None:
    """Two to four sentences, 600 characters, one line."""
    found = gist([TextSegment(n, kind, text) for n, (kind, text) in enumerate(said, 1)], len(said))
    assert len(found) <= LONGEST and "\n" not in found
    assert 2 <= len(re.findall(r"[.!?](?=\s|$)", found)) <= 4, found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" Two\nlines. ", "Two lines."),
        ("", ""),
        ("A sentence. " * 80, ("A sentence. " * 49 + "A sentence.")),
        ("x" * 700, "x" * 599 + "…"),
    ],
)
def test_somebody_elses(given: str, expected: str) -> None:
    """One line, cut at a sentence's end where there is one."""
    assert shortened(given) == expected and len(shortened(given)) <= LONGEST
