"""Whole real sessions after random ops: the first sequences of `python -m tests.whole`, which runs any number."""

from __future__ import annotations

import pytest

from ctxkit.core.messages import Call, Content, Repairs, Result, Text
from tests.effort import part
from tests.whole import CHANGED, FILES, FORMATS, Wrong, drawn, flat, ran, same, sequence, told

FIRST = part(200)
"""Sequences of each format that the tests run; `just whole` runs 2,000."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_sequences(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Ids once, no parent missing, every pair whole, and reading gives the context that was asked for."""
    if not FILES[name]:
        pytest.skip("no real sessions are there (set CTXKIT_SHARED to the folder that holds them)")
    ran.clear()
    for number in range(FIRST):
        sequence(name, number)
    with capsys.disabled():
        print(
            f"\nsequences of ops on whole sessions of {name}: {ran['sequences']}, pairs that were seen: {ran['pairs']}"
        )
    assert ran["sequences"] == FIRST and ran["pairs"] and ran["nothing to send"] < FIRST / 4


def test_the_same_in_every_run() -> None:
    """A sequence that failed can be run again by its number."""
    if not all(FILES.values()):
        pytest.skip("no real sessions are there (set CTXKIT_SHARED to the folder that holds them)")
    assert drawn("pi", 7) == drawn("pi", 7) != drawn("pi", 8)
    assert {command.changed for n in range(40) for command in drawn("codex", n)[1]} == set(CHANGED)


SAID = Content("user", [Text("a")])
CALL = Content("assistant", [Call("c", "Read", {})])
ANSWER = Content("tool", [Result("c", "x")])


@pytest.mark.parametrize(
    "again",
    [[SAID, CALL], [CALL, SAID, ANSWER], [Content("user", [Text("b")]), CALL, ANSWER], [SAID, CALL, ANSWER, SAID]],
)
def test_a_difference_is_seen(again: list[Content]) -> None:
    """What is missing, stands elsewhere, says something else or was not there is found."""
    asked = [SAID, CALL, ANSWER]
    same(asked, asked, Repairs(), set())
    assert len(flat(told(asked))) == 3
    with pytest.raises(Wrong):
        same(asked, again, Repairs(), set())
