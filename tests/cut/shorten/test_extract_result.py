"""One result of a tool, shortened to the lines that keep most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cut.shorten.extract_result import extract_result
from tests.cut.summarize.test_extraction import count

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
    text = extract_result(OUTPUT, 40, count, tool="Bash")
    assert text is not None and count([text])[0] <= 40
    assert "\n".join(FAILURE) in text and "…\n" in text


def test_what_a_query_names() -> None:
    """Lines with its words come before others like them."""
    rows = [f"src/{what}_{n}.go: handles the {what} of page {n}" for n in range(20) for what in ("ledger", "packet")]
    plain, asked = (extract_result("\n".join(rows), 80, count, tool="Grep", query=query) for query in ("", "packet"))
    assert plain is not None and asked is not None
    assert asked.count("packet") > plain.count("packet") and asked.count("ledger") < plain.count("ledger")


def test_what_fits_is_not_shortened() -> None:
    """And where nothing fits there is nothing."""
    assert extract_result("one line", 10, count) is None
    assert extract_result("a line that is far too long for this", 2, count) is None


@given(st.text(st.sampled_from("ab /.:\n✗é"), max_size=300), st.integers(0, 60))
def test_never_more_than_asked(text: str, tokens: int) -> None:
    """Every line of it is one of the result, and the same result gives the same lines."""
    found = extract_result(text, tokens, count, tool="Bash")
    if found is not None:
        assert count([found])[0] <= tokens and found == extract_result(text, tokens, count, tool="Bash")
        assert all(part.strip() in text for row in found.split("\n") for part in row.split("…") if part.strip())


def test_failures_come_before_what_is_new() -> None:
    """In any room that has a line of them."""
    rows = [f"src/row_{n}.go: handles the row {n}" for n in range(60)]
    text = "\n".join([*rows[:30], *FAILURE, *rows[30:]])
    for room in (20, 30, 40, 60, 100):
        made = extract_result(text, room, count, tool="Bash")
        assert made is not None and FAILURE[0] in made


SOURCE = "\n".join(
    f"def handler_{n}(\n    request: Request,\n    retries: int = {n},\n) -> Reply:\n    return reply"
    for n in range(60)
)


@pytest.mark.parametrize("query", ["", "handler request retries"])
@pytest.mark.parametrize("room", [60, 200, 400])
def test_all_of_the_tokens_are_used(room: int, query: str) -> None:
    """Also where few lines say anything, and where a query names nearly all of them."""
    made = extract_result(SOURCE, room, count, tool="Read", query=query)
    assert made is not None and 0.9 * room <= count([made])[0] <= room


def test_a_query_of_all_lines_changes_little() -> None:
    """It decides between lines that are worth the same; it does not rule."""
    plain, asked = (extract_result(SOURCE, 200, count, tool="Read", query=query) for query in ("", "return reply"))
    assert plain is not None and asked is not None
    assert asked.count("def handler") >= 0.9 * plain.count("def handler")


def test_one_line_that_a_query_names() -> None:
    """Also an old one among many new ones."""
    rows = [f"src/row_{n}.go: handles the row {n}" for n in range(60)]
    made = extract_result("\n".join([*rows, "src/ledger.go: sums", *rows]), 60, count, query="ledger")
    assert made is not None and "src/ledger.go: sums" in made


def test_lines_with_nothing_to_keep() -> None:
    """The first of them, as many as fit."""
    made = extract_result("\n".join("ab"[n % 2] * (n % 5 + 1) for n in range(99)), 12, count)
    assert made is not None and made.startswith(("a", "b", "…")) and count([made])[0] <= 12
