"""The choke point between text and terminal."""

from __future__ import annotations

import unicodedata

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.cli.terminal.safe_text import MARKS_PER_CELL, cells, clip, safe, uncoloured

FORBIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
ZWJ, ZWNJ, VS15, VS16 = "\u200d", "\u200c", "\ufe0e", "\ufe0f"


def forbidden(text: str) -> list[str]:
    """Code points that may not reach a terminal; joiners are judged by their own tests."""
    return [c for c in text if unicodedata.category(c) in FORBIDDEN and c not in "\n\t" + ZWJ + ZWNJ]


FAMILIES = [
    pytest.param("\x1b[31mred\x1b[2J", "␛[31mred␛[2J", id="CSI"),
    pytest.param("\x1b]0;title\x07x", "␛]0;title␇x", id="OSC 0 title"),
    pytest.param("\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "␛]8;;http://evil␛\\x␛]8;;␛\\", id="OSC 8 link"),
    pytest.param("\x1b]52;c;cm0gLXJm\x07", "␛]52;c;cm0gLXJm␇", id="OSC 52 clipboard"),
    pytest.param("\x1bPq#0\x1b\\", "␛Pq#0␛\\", id="DCS"),
    pytest.param("\x1b_Ga=T\x1b\\", "␛_Ga=T␛\\", id="APC"),
    pytest.param("\x9b31m\x9d0;t\x9c", "\\u{9b}31m\\u{9d}0;t\\u{9c}", id="C1 in 8 bits"),
    pytest.param("a\x1bcb", "a␛cb", id="ESC c reset"),
    pytest.param("\x1b[6n", "␛[6n", id="CSI 6n answers on stdin"),
    pytest.param("\x1b]0;all of the rest", "␛]0;all of the rest", id="unterminated OSC"),
    pytest.param("good\rbad\r\nx", "good␍bad␍\nx", id="CR"),
    pytest.param("rm\x08\x08ls", "rm␈␈ls", id="BS"),
    pytest.param("a\x7fb", "a␡b", id="DEL"),
    pytest.param("a\x00b", "a␀b", id="NUL"),
    pytest.param("\u202eabc\u2066d\u2069", "\\u{202e}abc\\u{2066}d\\u{2069}", id="bidi"),
    pytest.param("a\U000e0041\U000e007f", "a\\u{e0041}\\u{e007f}", id="tags"),
    pytest.param("a\u200bb\ufeffc\u2060d\xade", "a\\u{200b}b\\u{feff}c\\u{2060}d\\u{ad}e", id="zero width"),
    pytest.param("a\ud83db", "a\\u{d83d}b", id="lone surrogate"),
    pytest.param("a\u2028b\u2029\x85c", "a\\u{2028}b\\u{2029}\\u{85}c", id="line separators"),
    pytest.param("\x0b\x0c\x1f", "␋␌␟", id="other C0"),
    pytest.param("\u0600\u180e\U000110bd", "\\u{600}\\u{180e}\\u{110bd}", id="format characters of scripts"),
]


@pytest.mark.parametrize(("text", "shown"), FAMILIES)
def test_families(text: str, shown: str) -> None:
    """Every family of sequence that a terminal obeys, or that hides text, is made visible."""
    assert safe(text) == shown
    assert not forbidden(safe(text))


@pytest.mark.parametrize(("text", "shown"), FAMILIES)
def test_families_on_a_terminal(text: str, shown: str) -> None:
    """A terminal shows it as text: no title, no colour, no answer, the cursor goes on."""
    screen = pyte.Screen(120, 5)
    answers: list[str] = []
    screen.write_process_input = answers.append
    pyte.Stream(screen).feed(safe(text, keep_newlines=False) + " end")
    assert screen.title == ""
    assert answers == []
    assert screen.cursor.y == 0
    assert screen.display[0].rstrip().endswith(" end")
    assert all(cell.fg == "default" for cell in screen.buffer[0].values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text",
        "two\nlines\tand a tab",
        "naïve café 漢字 हिन्दी العربية",
        "e\u0301",  # a mark on its letter
        "\ue0b0 \U000f0001",  # private use: prompts and icons
        f"👩{ZWJ}🔬 🏳{VS16}{ZWJ}🌈 ❤{VS16}{ZWJ}🔥 👩🏽{ZWJ}🚀 🙂{ZWJ}↔{VS16}",
        f"क्{ZWJ}ष می{ZWNJ}خواهم",
        f"1{VS16}\u20e3 ☎{VS15} 葛\U000e0100",
        "[red]x[/red] **bold**",
        "␛ \\u{9b}",
    ],
)
def test_stays_as_it_is(text: str) -> None:
    """Text that a terminal only shows is not touched."""
    assert safe(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ZWJ, "\\u{200d}"),
        (f"a{ZWJ}", "a\\u{200d}"),
        (f"{ZWNJ}a", "\\u{200c}a"),
        (f"a {ZWJ}b", "a \\u{200d}b"),
        (f"1{ZWJ}2", "1\\u{200d}2"),
        (f"a{ZWJ}{ZWJ}b", "a\\u{200d}\\u{200d}b"),
        (f"$ {ZWJ}$", "$ \\u{200d}$"),
        (VS16, "\\u{fe0f}"),
        (f"\n{VS16}", "\n\\u{fe0f}"),
        (f" {VS16}", " \\u{fe0f}"),
        (f"a{VS16}{VS15}", f"a{VS16}\\u{{fe0e}}"),
        (f"{VS16}{ZWJ}a", "\\u{fe0f}\\u{200d}a"),
        ("x\U000e0100\U000e0101", "x\U000e0100\\u{e0101}"),
    ],
)
def test_joiners_and_selectors_out_of_place(text: str, shown: str) -> None:
    """A joiner that joins nothing, or a selector that varies nothing, carries hidden data: shown."""
    assert safe(text) == shown


def test_one_line() -> None:
    """Without newlines the result is one line of plain cells."""
    assert safe("a\nb\tc\r\x1b", keep_newlines=False) == "a␊b c␍␛"
    assert safe("é\nb\tc", keep_newlines=False) == "é␊b c"


SUSPECTS = "\x1b\x9b\r\n\t\x00\x7f\u202e\u200b\ufeff\ud800\U000e0041\u0301e1 漢😀क्\u180e" + ZWJ + ZWNJ + VS15 + VS16
TEXTS = st.one_of(st.text(st.characters()), st.text(st.sampled_from(SUSPECTS)), st.text())


@given(TEXTS)
@example(f"\x1b{VS16}{ZWJ}a")
def test_nothing_forbidden_is_left(text: str) -> None:
    """For any text: no forbidden code point, encodable, and a second pass changes nothing."""
    for keep in (True, False):
        once = safe(text, keep_newlines=keep)
        assert forbidden(once) == []
        assert safe(once, keep_newlines=keep) == once
        once.encode("utf-8")
        assert keep or not {"\n", "\t"} & set(once)


@given(TEXTS)
def test_only_the_suspect_is_changed(text: str) -> None:
    """Characters that are no suspects come through in number and order."""
    kept = [c for c in text if c.isprintable() and "VARIATION SELECTOR" not in unicodedata.name(c, "")]
    rest = iter(safe(text))
    assert all(c in rest for c in kept)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("漢字", 4),
        ("e\u0301", 1),
        ("ｆ", 2),
        ("é", 1),
        ("😀", 2),
        ("a\u0301\u0302b", 2),
        ("a\tb", 10),
    ],
)
def test_cells(text: str, width: int) -> None:
    """Wide characters take two cells, marks none."""
    assert cells(text) == width


@pytest.mark.parametrize(
    ("text", "width", "clipped"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("", 0, ""),
        ("漢字", 4, "漢字"),
        ("漢字", 3, "漢…"),
        ("漢字", 2, "…"),
        ("漢字", 1, "…"),
        ("e\u0301bc", 2, "e\u0301…"),
        (f"👩{ZWJ}🔬x", 4, "👩…"),
        ("a" + "\u0301" * 9 + "b", 2, "a" + "\u0301" * MARKS_PER_CELL + "b"),
    ],
)
def test_clip(text: str, width: int, clipped: str) -> None:
    """Cut by cells, never within a wide character, with an ellipsis in the width."""
    assert clip(text, width) == clipped


@given(TEXTS, st.integers(min_value=0, max_value=30))
def test_clip_fits(text: str, width: int) -> None:
    """For any text: what is clipped fits, and is as safe as before."""
    clipped = clip(safe(text, keep_newlines=False), width)
    assert cells(clipped) <= width
    assert safe(clipped, keep_newlines=False) == clipped


def test_a_million_marks() -> None:
    """A million combining marks take linear time and end as one cell."""
    text = "a" + "\u0301" * 1_000_000
    assert safe(text) == text
    assert cells(text) == 1
    assert len(clip(text, 80)) == 1 + MARKS_PER_CELL


def test_uncoloured() -> None:
    """Colours and line ends of others are left out, and nothing else; what was overwritten is shown."""
    assert uncoloured("a\x1b[1;38;5;9mb\x1b[0m\x1b[K\r\nc\r\r\n\x1b(Bd\re") == "ab\nc\nd\ne"
    for text in ("\x1b[2J", "\x1b]0;x\x07", "\x1b[?25l", "plain\tü"):
        assert uncoloured(text) == text


def test_common_characters_are_narrow() -> None:
    """What is taken for narrow without a look into the table is narrow there; new wide ones are wide."""
    from wcwidth import wcwidth

    from ctxkit.cli.terminal.safe_text import _NARROW

    found = [chr(i) for i in range(0x20, 0x3000) if _NARROW.fullmatch(chr(i))]
    assert len(found) > 1500 and {wcwidth(c) for c in found} == {1}
    assert (cells("☰"), cells("\U0001faea"), cells("→"), cells("🔒")) == (2, 2, 1, 2)
