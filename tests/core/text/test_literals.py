"""What must stand in every match of a regular expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.literals import literals


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("plain words", ["plain words"]), (r"a\.py", ["a.py"]), ("LIFETIME = [0-9]+", ["LIFETIME = "]),
        ("colou?r", ["colo", "r"]), ("ab*c", ["a", "c"]), ("ab+c", ["ab", "c"]), ("ab+?c", ["ab", "c"]),
        ("ab{2,3}c", ["a", "c"]), ("a{}b", ["a{}b"]), ("a{x}b", ["a{x}b"]), ("a{,2}b", ["b"]), ("a{2", ["a{2"]),
        (r"^to\b.the$", ["to", "the"]), ("[Ww]arn[]x]ing", ["arn", "ing"]), (r"a[\]b]c", ["a", "c"]),
        ("[^]a]bc", ["bc"]), ("(a)b", []), ("a|b", []), ("(?i)word", []), (r"\x41b", []), (r"\101b", []), (r"x\n", []),
        ("12.5", ["12", "5"]), ("é+", ["é"]), ("", []), ("a]b}", ["a]b}"]),
        (r"\\\[", ["\\["]),
    ],
)  # fmt: skip
def test_literals(pattern: str, expected: list[str]) -> None:
    """Of a sequence what is not optional; of groups and alternatives nothing."""
    re.compile(pattern)
    assert literals(pattern) == expected


PIECES = ["a", "b", "ab", " ", "\\.", "\\d", "\\w+", "\\b", "[ab]", "[^a]", "[]a]", "x*", "y?", "z+", "{2}", "{,1}",
          "{1,2}?", "{}", "{", "}", "]", ".", "^", "$", "+?", "5", "e", "-", "\\\\", "\\-", "é", "\n"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.data())
def test_they_stand_in_every_match(pattern: str, data: st.DataObject) -> None:
    """Whatever is put together."""
    try:
        sound = re.compile(pattern, re.M)
    except re.error:
        return
    found = literals(pattern)
    text = data.draw(st.one_of(st.from_regex(sound), st.text("ab xyz.5e{}]\\é-\n2,1", max_size=12)))
    match = sound.search(text)
    assert match is None or all(one in match[0] for one in found)
