"""A rule-made summary can be told again; a model's cannot."""

from __future__ import annotations

import pytest

from ctxkit.core.names import ItemName, Names
from ctxkit.policies.retell import retell
from tests import build


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("strategy=truncate", "[messages 3-4 left out]"),
        ("strategy=truncate model=m", None),
        ("strategy=llm", None),
        ("", None),
    ],
)
def test_retell(fields: str, expected: str | None) -> None:
    """Only by the rule that made it."""
    state = build.state(f"1-6 | compact 2-4 {fields}")
    assert retell(state, state.board.items[ItemName("a1", 1)], Names.parse("3-4")) == expected


def test_a_literal_is_nobodys_rule() -> None:
    """What a person made of a summary cannot be made again."""
    state = build.state("1-6 | compact 2-4 strategy=truncate | edit @1.1:mine")
    assert retell(state, state.board.items[ItemName("a2", 1)], Names.parse("3")) is None
