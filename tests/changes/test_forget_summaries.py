"""A rule-made summary can be told again; a model's cannot."""

from __future__ import annotations

import pytest

from ctxkit.changes.forget import rewritten
from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.ops import Compact, Resummarized
from tests import build

ANEW = Resummarized(op="a1", text="anew", short="new")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("strategy=truncate", "truncate 3-4 2"),
        ("strategy=truncate model=m", None),
        ("strategy=llm model=m", None),
        ("strategy=extract", "extract 3-4 2"),
    ],
)
def test_rewritten(fields: str, expected: str | None) -> None:
    """Only by the rule that made it, which is asked."""
    state = build.state(f"1-6 | compact 2-4 {fields}")
    item, told, leave = state.board.items[ItemName("a1", 1)], Names.parse("3-4"), Names.parse("2")

    def again(op: Compact, *names: Names) -> Resummarized:
        return Resummarized(op=op.id, text=" ".join([op.strategy, *map(str, names)]))

    found = rewritten(state, item, told, leave, again)
    assert (found and found.text) == expected
    assert rewritten(state, item, told, leave) is None, "nobody reads the messages"


def test_a_literal_is_nobodys_rule() -> None:
    """What a person made of a summary cannot be made again."""
    state = build.state("1-6 | compact 2-4 strategy=truncate | edit @1.1:mine")
    assert rewritten(state, state.board.items[ItemName("a2", 1)], Names.parse("3"), Names(), lambda *_: ANEW) is None


def test_what_reads_the_messages_is_asked() -> None:
    """For the op, the messages that it still tells, and those that leave."""
    state = build.state("1-6 | compact 2-4 strategy=extract")
    asked: list[str] = []

    def again(op: Compact, told: Names, leave: Names) -> Resummarized:
        asked.append(f"{op.id} {told} {leave}")
        return ANEW

    item = state.board.items[ItemName("a1", 1)]
    assert rewritten(state, item, Names.parse("3-4"), Names.parse("2"), again) == ANEW
    assert asked == ["a1 3-4 2"]
