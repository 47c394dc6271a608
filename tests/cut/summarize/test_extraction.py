"""A summary by rules."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import Names
from ctxkit.cut.rank.facts import facts, kept
from ctxkit.cut.summarize.extraction import Extraction, extract
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from tests.cut.rank.test_facts import SAID

NOISE = [
    TextSegment(n, SegmentKind.RESULT, "\n".join(f"line {n} {k} of plain output" for k in range(20)), "Bash")
    for n in range(9, 60)
]


def count(texts: Sequence[str]) -> list[int]:
    """A token each four characters."""
    return [(len(text) + 3) // 4 for text in texts]


def test_it_keeps_the_facts_and_lets_the_noise_go() -> None:
    text = extract([*SAID, *NOISE], 400, count)
    assert text is not None
    assert count([text])[0] <= 400
    assert all(have == of for have, of in kept(facts(SAID), text).values())


def test_the_same_pieces_give_the_same_text() -> None:
    assert extract([*SAID, *NOISE], 300, count) == extract([*SAID, *NOISE], 300, count)


def test_messages_are_named_as_the_caller_says() -> None:
    text = extract(SAID, 400, count, label=lambda name: f"9.{name}")
    assert text is not None
    assert "#9.5 Bash $ make test" in text


def test_what_stays_beside_it_is_not_said_again() -> None:
    said = [
        TextSegment(1, SegmentKind.USER, "set max_depth in the config"),
        TextSegment(2, SegmentKind.USER, "then max_depth is as it is"),
    ]
    alone, beside = (extract(said, 100, count, covered=Names.of(told)) for told in ({1, 2}, {1}))
    assert alone is not None
    assert beside is not None
    assert "as it is" in alone
    assert "as it is" not in beside
    assert beside.startswith("[messages 1 in short")


def test_nothing_fits_nothing() -> None:
    assert extract(SAID, 10, count) is None
    assert extract([], 100, count) is None


def test_a_path_that_is_both_read_and_edited_is_listed_once() -> None:
    """With the newest message that touches it alone: each number costs as much as half a path."""
    call = TextSegment(1, SegmentKind.INPUT, "a/b.py", "Edit", "file_path", touches=(FileTouch("a/b.py", "edit"),))
    read = TextSegment(2, SegmentKind.INPUT, "a/b.py", "Read", "file_path", touches=(FileTouch("a/b.py", "read"),))
    text = extract([call, read, *NOISE], 200, count)
    assert text is not None
    assert text.count("a/b.py") == 1
    assert "a/b.py #1\n" in text


texts = st.text(st.sampled_from("abc /._-\n:é\t😀"), max_size=400)
some_pieces = st.lists(
    st.builds(TextSegment, st.integers(1, 30), st.sampled_from(SegmentKind), texts,
              st.sampled_from(["", "Bash", "Edit"]),
              st.sampled_from(["", "command", "new_string"]), st.booleans()),
    max_size=12,
)  # fmt: skip


@given(some_pieces, st.integers(0, 500))
def test_never_more_than_its_budget(pieces: list[TextSegment], budget: int) -> None:
    text = extract(sorted(pieces, key=lambda one: str(one.name)), budget, count)
    assert text is None or count([text])[0] <= budget


class Read(Sequence[TextSegment]):
    """Pieces that are made when they are asked for, each of 40 lines that no other has."""

    def __init__(self, many: int) -> None:
        self.many = many

    def __len__(self) -> int:
        return self.many

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < self.many:
            raise IndexError
        words = "\n".join(f"I decided to use mod_{place}_{k}.py rather than the other one of them" for k in range(40))
        return TextSegment(place + 1, SegmentKind.ASSISTANT, words)


@pytest.mark.full("memory growth")
def test_memory_does_not_grow_with_the_lines() -> None:
    """What is held of four times as many lines is no more; a summary of them is told all the same."""
    peaks = []
    for many in (25, 100):
        tracemalloc.start()
        text = Extraction(Read(many), count, most=500).text(400)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert text is not None and f"mod_{many - 1}_" in text
    assert peaks[1] < 1.3 * peaks[0]


def test_a_focus_counts_more() -> None:
    """Lines with its longer words are taken before others like them."""
    said = [
        TextSegment(n, SegmentKind.ASSISTANT, f"I decided to keep the {what} in its own module number {n}.")
        for n, what in enumerate(["ledger", "window", "packet", "cursor", "branch", "report"] * 4, 1)
    ]
    plain, focused = (extract(said, 130, count, focus=focus) for focus in ("", "about the Packets: packet"))
    assert plain is not None and focused is not None and plain != focused
    assert focused.count("packet") > plain.count("packet")
