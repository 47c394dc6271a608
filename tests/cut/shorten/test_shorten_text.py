"""A text in so many tokens: both ends and lines between them, or lines alone; how a length is searched."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.board import LEFT_OUT as GAP
from ctxkit.cut.shorten.shorten_text import BEGUN, NOTE, abridged, lines_of
from ctxkit.cut.units.text_segments import SegmentKind
from tests.cut.summarize.test_extraction import count as words_of


def count(texts: Sequence[str]) -> list[int]:
    """Words and signs."""
    return [len(re.findall(r"\w{1,6}|[^\w\s]", text)) for text in texts]


LINES = "\n".join(f"line {n} of cart_{n % 7}.py says nothing new" for n in range(400))
LONG = f"{LINES}\nERROR: the port 8080 is taken, see /etc/shop/ports.yaml\n{LINES[::-1]}"


@pytest.mark.parametrize("tokens", [48, 100, 500, 2000, 5000])
def test_full_and_no_more(tokens: int) -> None:
    """The head and the tail, to the letter, and nearly all of the tokens used."""
    made = abridged(LONG, tokens, count)
    assert made is not None and 0.97 * tokens < count([made])[0] <= tokens
    head, _, rest = made.partition("\n[shortened: ")
    assert head and LONG.startswith(head) and LONG.endswith(rest.rpartition(GAP)[2].strip("\n"))
    assert "characters are left out" in rest


@pytest.mark.parametrize("tokens", [6, 24, 30, 47])
def test_a_few_tokens_are_the_beginning(tokens: int) -> None:
    """The line that says how much is left out would take most of them."""
    made = abridged(LONG, tokens, count)
    assert made is not None and 0.8 * tokens < count([made])[0] <= tokens
    assert made.endswith(" […]") and LONG.startswith(made.removesuffix(" […]"))


def test_the_lines_that_keep_most() -> None:
    """What is worth more than its neighbours is kept from between."""
    same = "\n".join(f"nothing new here, says step {n}" for n in range(400))
    text = f"{same}\nValueError: the port 8080 is taken, see /etc/shop/ports.yaml\n{same} once more"
    made = abridged(text, 400, count, SegmentKind.RESULT)
    assert made is not None and "the port 8080 is taken" in made


def test_nothing_to_shorten() -> None:
    """A text that fits, and room for nothing but the mark."""
    assert abridged("short", 100, count) is None
    assert abridged(LONG, 2, count) is None
    assert abridged("", 0, count) is None


def test_room_for_less_than_the_note() -> None:
    """The beginning, and a mark that something is left out."""
    made = abridged(LONG, NOTE - 1, count)
    assert made is not None and made.endswith(f" {BEGUN}") and LONG.startswith(made.removesuffix(f" {BEGUN}"))
    assert 0.8 * NOTE < count([made])[0] < NOTE


@given(st.text(max_size=400), st.integers(0, 120))
def test_any_text(text: str, tokens: int) -> None:
    """Never more than was asked for, whatever it is made of."""
    made = abridged(text, tokens, count)
    assert made is None or count([made])[0] <= tokens < count([text])[0]


FAILURE = ["--- FAIL: TestMerge (0.00s)", "    merge_test.go:12: got 1, want 2"]
OUTPUT = "\n".join(
    [
        *(f"=== RUN   Test{n:03}" for n in range(80)),
        *FAILURE,
        *(f"=== RUN   Test{n:03}" for n in range(80, 160)),
        "FAIL",
    ]
)


def test_failures_first() -> None:
    """What failed, in order, with marks for what is left out."""
    text = lines_of(OUTPUT, 40, words_of, tool="Bash")
    assert text is not None and words_of([text])[0] <= 40
    assert "\n".join(FAILURE) in text and "…\n" in text


def test_what_a_query_names() -> None:
    """Lines with its words come before others like them."""
    rows = [f"src/{what}_{n}.go: handles the {what} of page {n}" for n in range(20) for what in ("ledger", "packet")]
    plain, asked = (lines_of("\n".join(rows), 80, words_of, tool="Grep", query=query) for query in ("", "packet"))
    assert plain is not None and asked is not None
    assert asked.count("packet") > plain.count("packet") and asked.count("ledger") < plain.count("ledger")


def test_what_fits_is_not_shortened() -> None:
    """And where nothing fits there is nothing."""
    assert lines_of("one line", 10, words_of) is None
    assert lines_of("a line that is far too long for this", 2, words_of) is None


@given(st.text(st.sampled_from("ab /.:\n✗é"), max_size=300), st.integers(0, 60))
def test_never_more_than_asked(text: str, tokens: int) -> None:
    """Every line of it is one of the result, and the same result gives the same lines."""
    found = lines_of(text, tokens, words_of, tool="Bash")
    if found is not None:
        assert words_of([found])[0] <= tokens and found == lines_of(text, tokens, words_of, tool="Bash")
        assert all(part.strip() in text for row in found.split("\n") for part in row.split("…") if part.strip())


def test_failures_come_before_what_is_new() -> None:
    """In any room that has a line of them."""
    rows = [f"src/row_{n}.go: handles the row {n}" for n in range(60)]
    text = "\n".join([*rows[:30], *FAILURE, *rows[30:]])
    for room in (20, 30, 40, 60, 100):
        made = lines_of(text, room, words_of, tool="Bash")
        assert made is not None and FAILURE[0] in made


SOURCE = "\n".join(
    f"def handler_{n}(\n    request: Request,\n    retries: int = {n},\n) -> Reply:\n    return reply"
    for n in range(60)
)


@pytest.mark.parametrize("query", ["", "handler request retries"])
@pytest.mark.parametrize("room", [60, 200, 400])
def test_all_of_the_tokens_are_used(room: int, query: str) -> None:
    """Also where few lines say anything, and where a query names nearly all of them."""
    made = lines_of(SOURCE, room, words_of, tool="Read", query=query)
    assert made is not None and 0.9 * room <= words_of([made])[0] <= room


def test_a_query_of_all_lines_changes_little() -> None:
    """It decides between lines that are worth the same; it does not rule."""
    plain, asked = (lines_of(SOURCE, 200, words_of, tool="Read", query=query) for query in ("", "return reply"))
    assert plain is not None and asked is not None
    assert asked.count("def handler") >= 0.9 * plain.count("def handler")


def test_one_line_that_a_query_names() -> None:
    """Also an old one among many new ones."""
    rows = [f"src/row_{n}.go: handles the row {n}" for n in range(60)]
    made = lines_of("\n".join([*rows, "src/ledger.go: sums", *rows]), 60, words_of, query="ledger")
    assert made is not None and "src/ledger.go: sums" in made


def test_lines_with_nothing_to_keep() -> None:
    """The first of them, as many as fit."""
    made = lines_of("\n".join("ab"[n % 2] * (n % 5 + 1) for n in range(99)), 12, words_of)
    assert made is not None and made.startswith(("a", "b", "…")) and words_of([made])[0] <= 12
