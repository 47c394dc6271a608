"""The comparison sees what is missing, added, changed or moved, and what a rule takes out does not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.resume.blocks import Block
from tests.resume.compare import compared, cut, of_the_source

ASK = Block("user", "text", "list the files")
CALL = Block("assistant", "tool_use", "t1", "ls{}")
RESULT = Block("user", "tool_result", "t1", "a b")
SAYS = Block("assistant", "text", "two")
HISTORY = [ASK, CALL, RESULT, SAYS]


@pytest.mark.parametrize(
    ("ours", "first"),
    [
        (HISTORY, ""),
        (HISTORY[:-1], "block 3: agent assistant text, ctxkit the end (4 and 3 blocks)"),
        ([*HISTORY, ASK], "block 4: agent the end, ctxkit user text (4 and 5 blocks)"),
        ([ASK, CALL, SAYS, RESULT], "block 2: agent user tool_result, ctxkit assistant text (4 blocks)"),
        ([replace(ASK, key="list files"), *HISTORY[1:]], "block 0: agent user text, ctxkit user text (4 blocks)"),
        ([ASK, CALL, replace(RESULT, body="a"), SAYS], "block 2: agent user tool_result, ctxkit user tool_result"),
    ],
)
def test_any_difference_is_seen(ours: list[Block], first: str) -> None:
    """The first one is named by place and kind, never by its words."""
    found = compared(HISTORY, ours)
    assert found.first.startswith(first) and bool(found.first) == bool(first)


def test_what_a_rule_takes_out_is_counted_and_not_compared() -> None:
    """On either side."""
    today = Block("system", "text", "today", rule="reminder")
    found = compared([*HISTORY, today, Block("user", "text", "ping", rule="prompt")], [today, today, *HISTORY])
    assert found.first == ""
    assert found.ruled == {"agent: reminder": 1, "agent: prompt": 1, "ctxkit: reminder": 2}


def test_made_up_results_answer_the_same_calls() -> None:
    """Their words and places are each side's own, but not whom they answer."""
    theirs = replace(RESULT, body="aborted", rule="made up")
    ours = replace(RESULT, body="[no result recorded]", rule="made up")
    assert compared([ASK, CALL, theirs, SAYS], [ASK, CALL, SAYS, ours]).first == ""
    assert compared([ASK, CALL, theirs], [ASK, CALL]).first == "made up results: agent 1, ctxkit 0, or of other calls"


def test_unpaired_results_are_the_agents_alone() -> None:
    """A result without a call and a second one: sent by some agents, taken by no provider."""
    orphan = replace(RESULT, key="t9")
    assert compared([orphan, ASK, CALL, RESULT, RESULT, SAYS], HISTORY).ruled == {"agent: unpaired": 2}
    assert compared(HISTORY, [orphan, *HISTORY]).first


@pytest.mark.parametrize(
    ("sent", "same"),
    [
        ("one two…17 tokens truncated…nine ten", True),
        ("Total output lines: 9 Output: one two…17 tokens truncated…nine ten", True),
        ("one four…17 tokens truncated…nine ten", False),
        ("one two…17 tokens truncated…nine nine", False),
        ("one two", False),
    ],
)
def test_a_cut_result_has_the_start_and_the_end_of_the_whole(sent: str, same: bool) -> None:
    """Nothing but the middle may be missing."""
    whole = replace(RESULT, body="one two three four five six seven eight nine ten")
    assert cut(replace(RESULT, body=sent), whole) is same
    assert not cut(replace(RESULT, key="t2", body=sent), whole)


LINE = "what was asked for at some length, so that it is looked for"
SAID = [
    Block("user", "text", LINE),
    Block("assistant", "text", "short"),
    Block("assistant", "tool_use", "c1", "Read{}"),
]


@pytest.mark.parametrize(
    ("after", "chosen", "brought", "expected"),
    [
        (SAID, [LINE, "short"], "", ""),
        (SAID[1:], ["short"], "", ""),
        (SAID[1:], [LINE], "", f"a text of the source that was chosen is not there: {len(LINE)} characters"),
        (SAID[:2], [LINE, "c1"], "", "a tool_use of the source that was chosen is not there"),
        (SAID[:2], [LINE], "", ""),
        ([*SAID, Block("user", "text", "In short")], [], "In short: all went well", ""),
        ([*SAID, Block("user", "text", "Invented")], [], "", "block 3 (user text) is neither the source's nor an op's"),
        ([*SAID, Block("user", "text", "Late")], ["Late"], "", ""),
        ([*SAID, Block("assistant", "tool_use", "c2", "Write{}")], [], "c2", ""),
        ([*SAID, Block("user", "text", "Invented", rule="reminder")], [], "", ""),
    ],
)  # fmt: skip
def test_beside_the_source(after: list[Block], chosen: list[str], brought: str, expected: str) -> None:
    """What the agent sent of the session before the edit, less what the op took, with what it brought."""
    assert of_the_source(SAID, after, chosen, brought, {}) == expected


def test_a_second_result_of_the_source_may_go() -> None:
    """No provider takes it: a session that is written anew has the first alone."""
    second = replace(RESULT, body="another")
    made = Block("assistant", "tool_use", RESULT.key, "Read{}")
    assert of_the_source([made, RESULT, second], [made, RESULT], [RESULT.key], "", {}) == ""
    assert of_the_source([made, RESULT, second], [made], [RESULT.key], "", {}) == (
        "a tool_result of the source that was chosen is not there"
    )
