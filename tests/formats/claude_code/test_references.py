"""References to blocks answer what the blocks themselves would, where that decides what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Content, Repairs
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.formats.claude_code.blocks import is_blank, pieces_of
from ctxkit.formats.claude_code.references import ReferencedBlocks, places_of, referred

BLOCKS: dict[str, list[dict[str, Any]]] = {
    "assistant": [
        {"type": "text", "text": "so"},
        {"type": "text", "text": " \n"},
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "redacted_thinking", "data": "D"},
        {"type": "tool_use", "id": "A", "name": "Read", "input": {"tool_use_id": "no"}},
    ],
    "user": [
        {"type": "tool_result", "tool_use_id": "A", "content": "done"},
        {"type": "tool_result", "tool_use_id": "B", "content": [{"type": "tool_reference", "tool_name": "Grep"}]},
        {"type": "image", "source": {"data": "x"}},
        {"type": "text", "text": "and"},
    ],
}
ROWS = [{"type": role, "message": {"id": "m", "content": blocks}} for role, blocks in BLOCKS.items()]
CONTENTS = [Content(row["type"], [], rows=[row]) for row in ROWS]


@pytest.mark.parametrize("key", ["type", "id", "tool_use_id"])
def test_a_reference_says_what_its_block_says(key: str) -> None:
    """Of the keys that merging and pairing ask for."""
    plain, found = (make(CONTENTS, "", Repairs()) for make in (pieces_of, referred))
    assert [(b.get(key) or "") for p in found for b in p.blocks] == [b.get(key, "") for p in plain for b in p.blocks]


def test_blank_and_signed() -> None:
    """Whether words are blank, and thinking is signed; the words themselves are not held."""
    plain, found = (make(CONTENTS, "", Repairs()) for make in (pieces_of, referred))
    for ref, block in zip((b for p in found for b in p.blocks), (b for p in plain for b in p.blocks), strict=True):
        assert is_blank(ref) == is_blank(block)
        assert bool(ref.get("signature")) == bool(block.get("signature"))
        assert ref.tools == (("Grep",) if block.get("tool_use_id") == "B" else ())
    assert all(piece.row is None for piece in found)


def test_a_block_is_read_again() -> None:
    """From the content that it stands in; a seam is a newline behind its text."""
    reads: list[int] = []
    contents = LazySequence(2, lambda at: reads.append(at) or CONTENTS[at])
    found = referred(CONTENTS, "", Repairs())
    blocks = ReferencedBlocks(contents, "")
    assert [blocks.block(ref) for piece in found for ref in piece.blocks] == [*BLOCKS["assistant"], *BLOCKS["user"]]
    assert reads == [0, 1]
    last = found[1].blocks[-1]
    last.seam = True
    assert blocks.block(last)["text"] == "and\n"


def test_places_of_pieces() -> None:
    """Each by its content."""
    assert places_of(referred([CONTENTS[1], CONTENTS[0], CONTENTS[0]], "", Repairs())) == {0: {0}, 1: {0}, 2: {0}}
