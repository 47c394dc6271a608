"""The op of an edit: what was kept, what is new, and between them what was not offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.ops import Edit, LogPosition
from ctxkit.edit.decide import UNCHANGED, EditOffer, compared, decide, live, mistakes
from ctxkit.edit.draft import DraftBlock, FoldedPart
from ctxkit.edit.parse import Parsed
from tests import build

NEW = DraftBlock("", "user", ("new",))


def offer(shown: Sequence[int], context: Sequence[int] = range(1, 7)) -> EditOffer:
    """Messages 1 to 6, of which `context` are in and `shown` are offered."""
    blocks = {str(n): DraftBlock(str(n), "user", (f"m{n}",), n not in context) for n in shown}
    return EditOffer(blocks, {str(n): n for n in shown}, context, range(1, 7))


def literal(name: Name | None, block: DraftBlock | None) -> dict[str, Any]:
    """What a block says, as a record."""
    return {"role": "user", "content": "".join(map(str, block.pieces)) if block else f"as it was: {name}"}


def blocks(found: EditOffer, words: str) -> list[DraftBlock]:
    """`3 1 new 2=changed`: the blocks of the offer in this order, none of them commented out."""
    made = []
    for word in words.split():
        label, _, text = word.partition("=")
        block = NEW if label == "new" else msgspec.structs.replace(found.blocks[label], out=False)
        made.append(msgspec.structs.replace(block, pieces=(text,)) if text else block)
    return made


@pytest.mark.parametrize(
    ("shown", "context", "kept", "items"),
    [
        ("123456", "123456", "1 2 4 5 6", "1 2 4 5 6"), ("123456", "123456", "6 1", "6 1"),
        ("123456", "12", "1 2 5", "1 2 5"), ("24", "123456", "2 new 4", "1 2 new 3 4 5 6"),
        ("24", "123456", "4", "1 3 4 5 6"), ("24", "123456", "4 2", "1 3 4 2 5 6"), ("24", "1356", "2", "1 2 3 5 6"),
        ("6", "123456", "new 6", "new 1 2 3 4 5 6"),
        ("123456", "123456", "1 2=two 3 4 5 6", "1 2! 3 4 5 6"),
    ],
)  # fmt: skip
def test_items(shown: str, context: str, kept: str, items: str) -> None:
    """In order; what was not offered stands before the first that came after it."""
    state, at = build.state("1-6"), LogPosition(messages=6)
    found = offer([*map(int, shown)], [*map(int, context)])
    op = decide(state, at, found, blocks(found, kept), literal).op
    assert isinstance(op, Edit)
    said = [str(item.n) if item.n else f"{item.origin}!" if item.origin else "new" for item in op.items]
    assert " ".join(said) == items


def test_words_of_a_part() -> None:
    """They tell what it stands for; whoever changes them is told that nothing becomes of it, blanks apart."""
    state, at = build.state("1-6"), LogPosition(messages=6)
    block = DraftBlock("2", "user", (FoldedPart("2", 1, "result (4 characters) a  b"),))
    found = EditOffer({"2": block}, {"2": 2}, range(1, 7), range(1, 7))
    for words, notes in (("result (4 characters) a b", 0), ("result (4 characters) c", 1), ("", 1)):
        made = decide(state, at, found, [DraftBlock("2", "user", (FoldedPart("2", 1, words),))], literal)
        assert made.op is None and len(made.notes) == notes and all("%%> 2/1" in note for note in made.notes)


def test_unchanged() -> None:
    """No op; nor where a window has slid since, and the draft is as it was printed."""
    state, at, found = build.state("1-6"), LogPosition(messages=6), offer(range(1, 7))
    assert decide(state, at, found, list(found.blocks.values()), literal).said == UNCHANGED
    slid = offer(range(1, 7), [5, 6])
    assert (
        decide(
            state,
            at,
            slid,
            list(found.blocks.values()),
            literal,
            live(one.label for one in found.blocks.values() if not one.out),
        ).op
        is None
    )
    assert decide(state, at, slid, list(found.blocks.values()), literal, slid.live).op is not None


def test_figures() -> None:
    """Each change once."""
    found = offer(range(1, 7), [1, 2, 3, 4])
    change = compared(found, blocks(found, "2 1=one new 6"))
    assert change.words == "2 left out, 1 brought back, 1 changed, 1 new, other order"
    assert not compared(found, blocks(found, "1 2 3 4"))


def test_original_times() -> None:
    """Of what is a literal; a summary has none."""
    state = build.state("1-6 | compact 2-3 text=told")
    names: list[Name] = [1, ItemName("a1", 1), 6]
    labels = {state.label(name): name for name in names}
    shown = {label: DraftBlock(label, "user", (label,)) for label in labels}
    kept = [msgspec.structs.replace(block, pieces=("x",)) for block in shown.values()]
    op = decide(state, LogPosition(messages=6), EditOffer(shown, labels, names, names), kept, literal).op
    assert isinstance(op, Edit)
    assert [item.ts for item in op.items] == ["2026-02-01T10:01:00Z", None, "2026-02-01T10:06:00Z"]


def test_a_step_in_part() -> None:
    """Is said, where the context had it whole; not where a part was out before."""
    state, at = build.state("1-2 | 3 call=x | 4 result=x | 5-6"), LogPosition(messages=6)
    found = offer(range(1, 7))
    assert "left out: 4;" in decide(state, at, found, blocks(found, "1 2 3 5 6"), literal).notes[0]
    found = offer(range(1, 7), [1, 2, 3, 5, 6])
    assert decide(state, at, found, blocks(found, "1 2 3 5"), literal).notes == []


def test_a_number_stands_once() -> None:
    """A second one is a mistake, unless it is commented out."""
    found = offer(range(1, 7))
    twice = [found.blocks["2"], found.blocks["2"]]
    (wrong,) = mistakes(Parsed(twice, [4, 9]), found.blocks)
    assert wrong.line == 9 and "also at line 4" in wrong.text
    assert mistakes(Parsed([twice[0], msgspec.structs.replace(twice[1], out=True)], [4, 9]), found.blocks) == []
