"""A draft is read back as what was printed, and its mistakes are told with their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.edit.draft import Base, DraftBlock, FoldedPart, draft
from ctxkit.edit.parse import DraftMistake, parse
from tests.edit.blocks import BLOCKS, TEXTS

BASE = Base(3, 3, 0, "", "", "1-3", "")
COUNTS = st.integers(0, 10**9)
BASES = st.builds(Base, COUNTS, COUNTS, COUNTS, TEXTS, TEXTS, TEXTS, TEXTS)


@given(TEXTS, BASES, st.lists(BLOCKS, max_size=6))
def test_print_then_parse_is_the_identity(name: str, base: Base, blocks: list[DraftBlock]) -> None:
    """For any messages, and any name of a log; also with what editors do to ends of lines and files."""
    text = draft(name, base, blocks)
    ends = (text.replace("\n", "\r\n"), text.replace("\n", "\r"))
    for given_text in (text, *ends, "\ufeff" + text, text.rstrip("\n"), text + "\n\n"):
        found = parse(given_text)
        assert (found.blocks, found.base, found.mistakes) == (blocks, base, [])


@given(st.lists(BLOCKS, min_size=1, max_size=4))
def test_lines(blocks: list[DraftBlock]) -> None:
    """Each block's line is told."""
    text = draft("chat.jsonl", BASE, blocks)
    found = parse(text)
    assert all("%%" in text.split("\n")[number - 1] for number in found.lines) and len(found.lines) == len(blocks)


@pytest.mark.parametrize("size", [1 << 20])
def test_a_line_of_a_megabyte(size: int) -> None:
    """Text, role, remark and what is told of a part."""
    long = "שx" * (size // 2)
    blocks = [DraftBlock("1", "user", (long, FoldedPart("1", 2, long)), False, "", long)]
    assert parse(draft("x", BASE, blocks)).blocks == blocks


def test_a_number_sign_is_all() -> None:
    """In front of a line %% it takes a message out; without it all its lines are back; in texts it is text."""
    text = "%% 1 user\n# a\n\n#%% 2 user (forgotten by op 1)\n# b\nc\n"
    assert [block.out for block in parse(text).blocks] == [False, True]
    back = parse(text.replace("#%% 2", "%% 2")).blocks
    assert [(block.out, block.pieces) for block in back] == [(False, ("# a",)), (False, ("# b\nc",))]
    assert parse("  # %% 2 user\nx").blocks == parse("#%% 2 user\nx").blocks


def test_a_part_behind_a_number_sign_is_gone() -> None:
    """As a message is."""
    assert parse("%% 1 user\na\n#%%> 1/2 image\nb").blocks[0].pieces == ("a", "b")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("words\nmore\n%% user\nx", 1, "belongs to no message"), ("# a\n\n%%>  1/1\n", 3, "belongs to no message"),
        ("%% user\nx\n%%", 3, "not the beginning"), ("%% 3\nx", 1, "not the beginning"),
        ("# %%\nx", 1, "not the beginning"), ("%% user\n%%-x", 2, "not the beginning"),
        ("%% user\n%%> a", 2, "not a part"),
        ("%%= messages=x\n", 1, "was changed"), ("%%= rows=1", 1, "was changed"),
    ],
)  # fmt: skip
def test_mistakes(text: str, line: int, words: str) -> None:
    """One for each, where it stands."""
    (found,) = parse(text).mistakes
    assert isinstance(found, DraftMistake) and found.line == line and words in found.text


def test_what_is_told_of_a_mistake_is_no_text() -> None:
    """The line that the editor shows above it goes when the draft is read again."""
    assert parse("%% user\na\n%%! line 3: no\nb").blocks[0].pieces == ("a\nb",)
