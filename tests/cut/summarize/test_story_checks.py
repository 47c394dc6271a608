"""story_checks: what a story names and the log has not, what it calls done and is open, and what it repeats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.cut.summarize.state_header import SessionState
from ctxkit.cut.summarize.story_checks import NOT_THERE, OPEN, StoryChecks, repeats, without_repetition
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from tests.effort import examples

SHA = "4f9c2ab81d03e5f6a7b8c9d0e1f2a3b4c5d6e7f8"
FAILED = f"FAILED tests/test_cart.py::test_total - 1,190 != 1200\n{SHA}\n1 failed"
PIECES = [
    TextSegment(1, SegmentKind.USER, "The cart is wrong by 0.01, see #123 and https://example.org/cart?id=7."),
    TextSegment(2, SegmentKind.INPUT, "pytest -q   tests/test_cart.py", "Bash", "command", call="a"),
    TextSegment(3, SegmentKind.RESULT, FAILED, "Bash", failed=True, call="a"),
    TextSegment(4, SegmentKind.INPUT, "/home/ada/shop/cart.py", "Edit", "file_path"),
    TextSegment(5, SegmentKind.INPUT, "[completed] mend the cart total", "TodoWrite", "todos.0"),
    TextSegment(5, SegmentKind.INPUT, "[in_progress] mend the invoice rounding", "TodoWrite", "todos.1"),
    TextSegment(6, SegmentKind.ASSISTANT, "Decimal in line_total(), as PriceError says. See v2.3.1, with --noEmit."),
]  # fmt: skip


def checks(pieces: list[TextSegment] = PIECES) -> StoryChecks:
    """The checks against these segments."""
    return StoryChecks(pieces, SessionState(pieces), lambda name: f"#{name}")


@pytest.mark.parametrize(
    "text",
    [
        "`pytest -q tests/test_cart.py` failed in #3", "shop/cart.py", "./tests/test_cart.py", "cart.py",
        "tests/test_cart.py::test_total", f"commit {SHA[:8]}", f"commit {SHA}",
        f"commit {SHA[:8].upper()}", "1,190 and 1190", "issue #123",
        "`line_total()` raised PriceError", "version v2.3.1", "0.01", "https://example.org/cart?id=7",
        "five tests and/or 1 failure", "10. the tenth item", "Bash", "it said …[redacted 36]", "Since then, nothing.",
        "`Decimal in`", "PR #1200", "`cart.py:12-14` and line 88", "`pytest … tests/<name>.py`",
        "home\\ada\\shop\\cart.py",
        "`FAILED: test_total`", "`PriceError(Decimal)` and `line_total.PriceError`", "indexed filter/stats/search",
        "`pytest -q tests/test_cart.py && Decimal`", "with --noEmit", "in </summary> it ends",
    ],
)  # fmt: skip
def test_what_stands_in_the_log(text: str) -> None:
    """Names as they are written there, in part or with other blanks, are not marked."""
    assert checks().marked(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("`PriceError(Fraction)` of", "`PriceError(Fraction)`"), ("`pytest … /none.py` is", "`pytest … /none.py`"),
        ("`pytest -q && rm -rf x` is", "`pytest -q && rm -rf x`"), ("`Decimal.total_of` is", "`Decimal.total_of`"),
        ("see `pytest -x tests/test_cart.py` there", "`pytest -x tests/test_cart.py`"),
        ("in shop/basket.py now", "shop/basket.py"), ("in art.py now", "art.py"),
        ("of /home/eve/shop/cart.py", "/home/eve/shop/cart.py"),
        ("test_totals fails", "test_totals"), ("CartTotalTest fails", "CartTotalTest"),
        ("commit 5f9c2ab8 is", "5f9c2ab8"),
        ("commit deadbeef is", "deadbeef"),
        ("HEAD is 5F9C2AB8", "5F9C2AB8"),
        ("commit #5f9c2ab8 is", "5f9c2ab8"),
        ("it was 119 before", "119"), ("in 2031, it", "2031"), ("version v2.3.2 of it", "v2.3.2"),
        ("as #99 says", "#99"),
        ("with --force-all there", "--force-all"), ("with --runInBand there", "--runInBand"),
        ("a ValueError of it", "ValueError"), ("12ms later", "12"),
        ("https://example.org/other is", "https://example.org/other"),
    ],
)  # fmt: skip
def test_what_stands_nowhere(text: str, name: str) -> None:
    """A mark behind it, wherever it occurs; counted once."""
    marked, count = checks().marked(f"{text}; {text}")
    assert (
        count == 1
        and marked.count(f"{name} {NOT_THERE}") == 2
        and marked.replace(f" {NOT_THERE}", "") == f"{text}; {text}"
    )


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        ("State:\n- All tasks are done.", "invoice"), ("Everything has been implemented.", "invoice"),
        ("There are no open tasks.", "invoice"), ("Nothing is left.", "invoice"), ("The task is complete.", "invoice"),
        ("State:\n- The rounding of the invoice was mended.", "invoice"), ("Open:\n- none\nNext: -", "invoice"),
        ("Open: nothing", "invoice"), ("All tests pass.", "pytest -q"), ("State:\n- The tests pass now", "pytest -q"),
        ("Alles ist erledigt.", "invoice"),
    ],
)  # fmt: skip
def test_done_over_an_open_task(text: str, open_: str) -> None:
    """Words that call done what the task list or the last run has as open; the mark stands behind them."""
    [one] = checks().contradictions(text)
    assert open_ in one.open and one.open.startswith("#")
    assert StoryChecks.with_marks(text, [one]) == f"{text[: one.end]} {OPEN}{text[one.end :]}"


@pytest.mark.parametrize(
    "text",
    [
        "The total of the cart was mended.", "Open:\n- mend the invoice rounding\nNext: the invoice",
        "Not all tasks are done.", "The tests do not pass yet.", "It goes on until everything is done.",
        "Open:\n- the invoice rounding must be fixed", "Goal:\n- The invoice rounding is to be mended, and tests pass",
        "The cart tests pass, lint is clean.",
        "Some tests were added for the cart.", "The person said that all tests pass.",
    ],
)  # fmt: skip
def test_no_contradiction(text: str) -> None:
    """What is done, what is said to be open, and what somebody else says."""
    assert checks().contradictions(text) == []


def test_nothing_is_open() -> None:
    """Then all may be done."""
    pieces = [one for one in PIECES if "in_progress" not in one.text and one.call != "a"]
    assert checks(pieces).contradictions("All done. Open: none. All tests pass.") == []


def test_repetition() -> None:
    """A sentence that was said, a line, a run of words that goes on, a letter that goes on; nothing else."""
    text = "Goal:\n- none\n\nState:\n- The cart was mended.\n- none\n- It is Decimal now."
    assert without_repetition(text) == text
    assert without_repetition("The cart was mended. " * 50) == "The cart was mended."
    assert without_repetition("- The cart was mended.\n* the cart  was mended.\n- x") == "- The cart was mended.\n- x"
    assert without_repetition("we ran " + "the same test again and " * 9 + "then left") == (
        "we ran the same test again and then left"
    )
    assert without_repetition("no " * 3 + "go") == "no " * 3 + "go"
    assert without_repetition("a" * 500) == "a" * 8 + "…"
    assert without_repetition("修好了购物车的总价问题了。" * 9) == "修好了购物车的总价问题了。"
    assert repeats("The cart was mended. " * 50) and not repeats(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=400))
def test_any_text(text: str) -> None:
    """Nothing breaks, nothing is added but the marks, and what is done twice is done once."""
    once = without_repetition(text)
    assert len(once) <= len(text) + text.count("\n") + 1
    marked, _ = checks().marked(text)
    assert marked.replace(f" {NOT_THERE}", "") == text.replace(f" {NOT_THERE}", "")
    for one in checks().contradictions(text):
        assert 0 <= one.start <= one.end <= len(text)
