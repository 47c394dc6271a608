"""A text that is cut at its runs of blanks has the tokens of the whole."""

from __future__ import annotations

import re
import sys

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.tokens import blank_runs, ranks
from tests.tokens.test_encodings import MADE, NAMES

BITS = st.sampled_from(
    [*blank_runs.BLANKS, "   ", " " * 11, "\t\t", "\n", "\r\n", " \n", "\x1c", "\x1f", "\u200b", "\u2060", "word", "Ab",
     "\u0301", ".", "/", "!\n", "12", "漢", "م", "👩\u200d", "'s", "'", "\ud800", "\0"]
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@given(bits=st.lists(BITS, max_size=14), long=st.integers(2, 6))
@example(bits=["x", "\n", " " * 11], long=2)
@example(bits=["\x1c"] * 9 + ["."], long=2)
@example(bits=[" ", "\u3000", " ", " "], long=2)
def test_cutting_changes_no_count(name: str, bits: list[str], long: int) -> None:
    """Wherever the runs stand, whatever they are of, and however short those are that count as long."""
    made, text = MADE[name], "".join(bits)
    assert blank_runs.count(text, made._ordinary, made._piece, long) == made._ordinary(text)


@given(bits=st.lists(BITS, max_size=14), long=st.integers(2, 6))
def test_every_long_run_is_found(bits: list[str], long: int) -> None:
    """As a regular expression finds them that looks at each character."""
    text = "".join(bits)
    expected = [run.span() for run in re.finditer(f"[{blank_runs.BLANKS}]+", text) if len(run[0]) >= long]
    assert list(blank_runs.runs(text, long)) == expected


def test_blanks_are_what_tiktoken_takes_for_them() -> None:
    """Of all characters: an encoding whose pattern is `\\s` has tokens for these, and for line ends."""
    bytewise = {bytes([n]): n for n in range(256)}
    made = tiktoken.Encoding("blanks", pat_str=r"\s", mergeable_ranks=bytewise, special_tokens={})
    every = "".join(chr(n) for n in range(sys.maxunicode + 1) if not 0xD800 <= n < 0xE000)
    assert set(made.decode(made.encode_ordinary(every))) == {*blank_runs.BLANKS, "\r", "\n"}


def test_no_token_reaches_over_the_cut() -> None:
    """What the proof says of cl100k_base: behind the last line break of a token no blank is at its end."""
    tokens = ranks.described("cl100k_base")["mergeable_ranks"]
    starts = b"".join({char.encode()[:1] for char in blank_runs.BLANKS})
    assert len(tokens) > 100_000
    assert not [token for token in tokens if re.search(rb"[\r\n][%s][^\r\n]*\Z" % re.escape(starts), token)]


@pytest.mark.covering("name", "blank", "size", pairs=True)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("blank", blank_runs.BLANKS)
@pytest.mark.parametrize(
    "size", [4 * blank_runs.PERIOD, 5 * blank_runs.PERIOD + 1, 6 * blank_runs.PERIOD + 777, 9 * blank_runs.PERIOD - 1]
)
def test_one_blank_repeats_itself(name: str, blank: str, size: int) -> None:
    """A long run of one blank, alone, between words, and before a line break."""
    made = MADE[name]
    for text in (blank * size, f"x{blank * size}y", f"{blank * size}\n{blank * (size + 3)}\r\nz"):
        assert blank_runs.count(text, made._ordinary, made._piece, 4 * blank_runs.PERIOD) == made._ordinary(text)


def test_short_text_is_not_looked_at() -> None:
    """One call, as it stands."""
    assert blank_runs.count("a  b", lambda text: len(text), lambda text: 0) == 4
