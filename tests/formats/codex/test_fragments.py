"""Whose words: Codex's own are told by the tags around them."""

from __future__ import annotations

import pytest

from ctxkit.formats.codex.fragments import goes_with_turn, is_own, is_summary
from ctxkit.formats.codex.rows import CodexItem


@pytest.mark.parametrize(
    ("words", "own"),
    [
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", True),
        ("\n <ENVIRONMENT_CONTEXT>x</environment_context> ", True),
        ("<environment_context>x", False),
        ("<environment_context>x</environment_context> and more", False),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nhi\n</INSTRUCTIONS>", True),
        ("# AGENTS.md instructions for /x", False),
        ("<user_instructions>x</user_instructions>", False),
        ("<external_notes>x</external_notes>", True),
        ("<external_a>x</external_b>", False),
        ("Warning: apply_patch was requested via exec_command. Use the tool.", True),
        ("Warning: of the user", False),
        ("words", False),
        (None, False),
    ],
)
def test_is_own(words: str | None, own: bool) -> None:
    """Start and end count, in any case; one piece of several is enough."""
    assert is_own([CodexItem("input_text", words)]) is own
    assert is_own([CodexItem("input_text", "words"), CodexItem("input_text", words)]) is own


@pytest.mark.parametrize(
    ("words", "goes"),
    [("<permissions instructions>x", True), (" <Model_Switch>", True), ("x <model_switch>", False), ("words", False)],
)
def test_goes_with_turn(words: str, goes: bool) -> None:
    """Of the developer's words those that Codex says again with each turn."""
    assert goes_with_turn([CodexItem("input_text", words)]) is goes


def test_is_summary() -> None:
    """The summary of an old compaction is told by its first sentence."""
    start = "Another language model started to solve this problem and produced a summary of its thinking process."
    assert is_summary([CodexItem("input_text", f"{start} You also ...")])
    assert not is_summary([CodexItem("input_text", "Another language model")])
