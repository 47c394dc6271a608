"""The blocks of recorded requests have the recorded digests, and each rule takes out what it names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.resume.blocks import RULES, anthropic, as_json, gemini, responses
from tests.resume.compare import cut
from tests.shared import HERE

FIXTURES = HERE.parent / "fixtures"
CLAUDE: dict[str, Any] = json.loads((FIXTURES / "truth-claude-code/requests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", [name for name, request in CLAUDE.items() if "messages" in request])
def test_recorded_messages_have_the_recorded_digests(probe: str) -> None:
    """What was recorded of Claude Code, taken apart here, is what was written down of it."""
    request = CLAUDE[probe]
    ours = [block.hashed() for block in anthropic(request["messages"]) if not block.rule]
    truth = [tuple(row[:4]) for row in request["digest"] if row[4] == "history"]
    assert [row for row in ours if row in truth] == ours
    assert len(truth) - len(ours) == sum(block.rule == "blank" for block in anthropic(request["messages"]))


def rules(role: str, *parts: Any) -> list[str]:
    """The rule of each block of one Anthropic message."""
    return [block.rule for block in anthropic([{"role": role, "content": list(parts)}])]


@pytest.mark.parametrize(
    ("role", "words", "rule"),
    [
        ("user", "hello", ""),
        ("user", "ping", "prompt"),
        ("user", "<system-reminder>today</system-reminder>", "reminder"),
        ("system", "today", "reminder"),
        ("user", " \n", "blank"),
        ("assistant", "No response requested.", "made up"),
        ("user", "Tool loaded.", "loaded"),
    ],
)
def test_a_rule_names_what_is_taken_out(role: str, words: str, rule: str) -> None:
    """And nothing else is taken out."""
    assert rules(role, {"type": "text", "text": words}) == [rule]


def test_a_prompt_is_the_last_block_of_the_last_message() -> None:
    """The same word earlier on is history; reminders of the run may follow it."""
    ping = {"type": "text", "text": "ping"}
    assert rules("user", ping, ping) == ["", "prompt"]
    after = [{"role": "user", "content": "ping"}, {"role": "system", "content": "today"}]
    assert [block.rule for block in anthropic(after)] == ["prompt", "reminder"]


def test_a_result_is_made_up_where_the_agent_says_so() -> None:
    """Its words are the agent's; the call that it answers is compared."""
    result = {"type": "tool_result", "tool_use_id": "t1"}
    assert rules("user", {**result, "content": "[no result recorded]"}) == ["made up"]
    assert rules("user", {**result, "content": "done"}) == [""]


def test_items_of_the_resuming_turn_are_of_the_run() -> None:
    """Codex says of each item which turn it is of, and what it is."""
    meta = "internal_chat_message_metadata_passthrough"
    text = [{"type": "input_text", "text": "words"}]
    items = [
        {"role": "developer", "content": text, meta: {"content_item_kinds": ["model.base_instructions"]}},
        {"role": "user", "content": text, meta: {"turn_id": "old"}},
        {"role": "user", "content": text, meta: {"turn_id": "now", "content_item_kinds": ["user.text"]}},
        {"role": "developer", "content": text, meta: {"turn_id": "now", "content_item_kinds": ["tools"]}},
        {"type": "function_call_output", "call_id": "c", "output": "aborted"},
    ]
    assert [block.rule for block in responses(items, "now")] == ["runtime", "", "prompt", "runtime", "made up"]


def test_every_rule_is_explained() -> None:
    """Each has words for docs/formats.md."""
    assert all(RULES.values())
    page = (HERE.parent / "docs/formats.md").read_text(encoding="utf-8")
    assert [rule for rule, words in RULES.items() if f"| {rule} | {words} |" not in page] == []


def test_contents_of_gemini() -> None:
    """Words, calls and results by role; the run's own context and prompt are told apart."""
    contents = [
        {"role": "user", "parts": [{"text": "<session_context>\nx\n</session_context>"}, {"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "A", "name": "read", "args": {"p": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "A", "name": "read", "response": {"output": "o"}}}]},
        {"role": "user", "parts": [{"text": "ping"}]},
    ]
    found = [(block.role, block.kind, block.key, block.body, block.rule) for block in gemini(contents)]
    assert found == [
        ("user", "text", "<session_context> x </session_context>", None, "runtime"),
        ("user", "text", "q", None, ""),
        ("model", "tool_use", "A", 'read{"p":1}', ""),
        ("user", "tool_result", "A", '{"output":"o"}', ""),
        ("user", "text", "ping", None, "prompt"),
    ]


def test_what_gemini_cli_says_of_its_own() -> None:
    """Words that it puts behind a result at the end, ours before a first answer, blank ones; a long result is cut."""
    masked = '<tool_output_masked>\n{\n  "output": "a\\n\n... [TRUNCATED] ...\nz\\""\n}\n\nOutput too large. Full\n</x>'
    contents = [
        {"role": "user", "parts": [{"text": "(no content)"}]},
        {"role": "model", "parts": [{"text": " "}, {"functionCall": {"id": "A", "name": "read"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "A", "name": "read", "response": {"output": masked}}}]},
        {"role": "model", "parts": [{"text": "[The previous response was interrupted before it completed.]"}]},
    ]
    found = list(gemini(contents))
    assert [block.rule for block in found] == ["made up", "blank", "", "", "made up"]
    assert cut(found[3], replace(found[3], body=as_json({"output": 'a\nbc\nz"'})))
    assert not cut(found[3], replace(found[3], body=as_json({"output": 'a\nbc\ny"'})))
