"""Markdown and code in lines of spans: recognisable, never wider than asked for, and nothing left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cli.terminal.markdown_view import LARGEST, code, lines
from ctxkit.cli.terminal.safe_text import cells, safe
from ctxkit.cli.terminal.style import STYLES, Styled

Spans = list[str | Styled]


def plain(spans: Spans) -> str:
    """A line without its styles."""
    return "".join(span if isinstance(span, str) else span.text for span in spans).rstrip()


def shown(text: str, width: int = 60) -> list[str]:
    """The lines of a text."""
    return [plain(line) for line in lines(text, width)]


def style_of(word: str, text: str) -> str:
    """The style of the span that holds a word."""
    spans = [span for line in lines(text, 60) for span in line if isinstance(span, Styled)]
    return next((span.style for span in spans if word in span.text), "")


@pytest.mark.parametrize(
    ("text", "word", "style"),
    [
        ("## Why", "Why", "bold"), ("a **strong** word", "strong", "bold"), ("an *odd* word", "odd", "italic"),
        ("run `make`", "make", "cyan"), ("~~gone~~", "gone", "strike"), ("> said", "said", "dim"),
        ("```python\nreturn 1\n```", "return", "magenta"), ("```python\nreturn 1\n```", "```python", "dim"),
        ("```diff\n-a\n+b\n```", "-a", "red"), ("| a | b |\n|---|---|\n| 1 | 2 |", "a", "bold"),
    ],
)  # fmt: skip
def test_styles(text: str, word: str, style: str) -> None:
    """What Markdown marks has a style of ours."""
    assert style_of(word, text) == style


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\ntwo", ["# One", "", "two"]),
        ("one\ntwo", ["one", "two"]),
        ("**a**\nb  \nc", ["a", "b", "c"]),
        ("- a\n  - b\n- c", [" • a", "    • b", " • c"]),
        ("`a` __init__ and _b_", ["a __init__ and _b_"]),
        ("`a` <b>x</b> &amp; \\*", ["a <b>x</b> &amp; \\*"]),
        ("`a`\n\n<div>\nx\n</div>", ["a", "", "<div>", "x", "</div>"]),
        ("[a](http://b.c/d)", ["a (http://b.c/d)"]),
        ("[a]: http://b.c\n\n`x`", ["[a]: http://b.c", "", "x"]),
        ("```\na\n  b\n\nc\n```", ["```", "a", "  b", "", "c", "```"]),
        ("`a`\n\n    no code", ["a", "", "no code"]),
    ],
)
def test_lines(text: str, expected: list[str]) -> None:
    """Lines stay lines, and what Markdown would leave out stays as it is written."""
    assert shown(text) == expected


def test_wrapped() -> None:
    """At words, with the indent of a list and of code."""
    assert shown("- one two three four five", 14) == [" • one two", "   three four", "   five"]
    assert shown("```python\nif x:\n    return alpha + beta + gamma\n```", 20) == [
        "```python", "if x:", "    return alpha +", "    beta + gamma", "```",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [16, 36, 76])
def test_tables(width: int) -> None:
    """No column is lost, at any width."""
    text = "| name | what it is | n |\n|---|---|---|\n| alpha | a long description of it | 1 |\n| b | c | 22 |"
    found = "".join(shown(text, width))
    assert all(word in re.sub(r"\s", "", found) for word in ("name", "alpha", "22", "|" if width < 24 else "─"))
    assert "description" in re.sub(r"[\s|─]", "", found) or "descr" in found


MARKS = st.sampled_from(
    ["# ", "- ", "1. ", "> ", "```", "```py\n", "`", "**", "_", "[", "](", ")", "|", "|---|", "\n", "    ", "<b>",
     "&#0;", "\\", "~~", "![", "深", "e\u0301", "word", "\x1b[1m", "\u202e", "[red]", "---\n", ":--", "\t"]
)  # fmt: skip


@given(st.lists(MARKS, max_size=40).map("".join), st.sampled_from([16, 36, 76]))
def test_anything(text: str, width: int) -> None:
    """Whatever is written is laid out: no wider than asked for, in our styles alone, without control characters."""
    for line in lines(safe(text), width):
        assert cells(plain(line)) <= width or "\t" in text, plain(line)
        for span in line:
            assert isinstance(span, str) or set(span.style.split()) <= STYLES.keys()
            words = span if isinstance(span, str) else span.text
            assert safe(words) == words and "\n" not in words


@given(st.lists(MARKS, max_size=40).map("".join))
def test_no_word_is_lost(text: str) -> None:
    """Every letter of the text is in what is laid out."""
    letters = [re.sub(r"[\W_]", "", words) for words in ("".join(shown(safe(text))), safe(text))]
    assert len(letters[0]) >= len(letters[1])


@pytest.mark.parametrize(
    "text",
    ["> " * 99 + "deep", "- " * 99 + "deep", "| a | b |\n|---|---|\n| 1 | 2 | deep |", '[a](http://b.c "deep")'],
)
def test_what_markdown_drops(text: str) -> None:
    """Too deep in quotes and lists, in a column too many, in the title of a link: it is shown as it is written."""
    assert "deep" in "".join(shown(text))


def test_languages() -> None:
    """One that is not known, and code that is too large or has long lines, comes without colours."""
    for text, language in (
        ("return 1", "nope"),
        ("return 1", ""),
        ("x = 1\n" * LARGEST, "python"),
        ("x" * 2000, "python"),
    ):
        assert not any(isinstance(span, Styled) for line in code(text, language, 3000) for span in line)
    assert any(isinstance(span, Styled) for line in code("return 1", "Python", 80) for span in line)


def test_a_large_text() -> None:
    """Is wrapped, and no more."""
    text = "**a** " * LARGEST
    assert max(map(len, shown(text, 80))) <= 80 and "**a**" in shown(text, 80)[0]
