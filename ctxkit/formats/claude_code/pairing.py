"""Pairs tool calls with their results, as Anthropic's API requires.

Pipeline: `wire.py` merges rows into messages -> `pair` -> the Anthropic writer.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ctxkit.core.messages import Repairs
from ctxkit.formats.claude_code.rows import text

NO_RESULT = "[no result recorded]"
"""The result of a call whose own result an op removed, or that never had one (replay 28)."""
LOST = "[no result recorded: the session ended or went on before it came, so its outcome is unknown]"
"""The result of a call for which the program itself has none (rule 8)."""


NO_CONTENT = "(no content)"
_NUMBERED = re.compile(r"(.+)_[0-9]+")
"""An id that Claude Code takes for a part of the one before the number."""


class MessageToSend(msgspec.Struct, gc=False):
    """A message as it will be sent. `blocks`: JSON objects, or references to them."""

    role: str
    blocks: list[Any]
    response: str = ""


def pair(messages: list[MessageToSend], answered: frozenset[str], repairs: Repairs) -> list[MessageToSend]:
    """The messages with every call answered in the next one, no other results, and no empty message.

    A result before its call moves behind it. Claude Code ignores a later one: the call gets an invented result, and
    the later one is left out.
    """
    _drop_repeated(messages, repairs)
    paired: list[MessageToSend] = []
    early: dict[str, dict[str, Any]] = {}
    ahead = {text(b.get("id")) for m in messages for b in m.blocks if b.get("type") == "tool_use"}
    pending: dict[str, None] = {}
    for message in messages:
        if message.role == "assistant":
            _answer(paired, pending, [], early, answered, repairs)
            paired.append(message)
            pending = dict.fromkeys(text(b.get("id")) for b in message.blocks if b.get("type") == "tool_use")
            ahead -= pending.keys()
            continue
        here = [b for b in message.blocks if b.get("type") != "tool_result" or _answers(b) in pending]
        away = {_answers(b): b for b in message.blocks if b.get("type") == "tool_result" and _answers(b) not in pending}
        repairs.dropped += len(away)
        early.update((call, block) for call, block in away.items() if call in ahead)
        if not (here or pending or (away and away.keys() <= ahead)):
            here = [{"type": "text", "text": NO_CONTENT}]
            repairs.leave_out("content of an empty message")
        _answer(paired, pending, here, early, answered, repairs)
        pending = {}
    _answer(paired, pending, [], early, answered, repairs)
    return paired


def _answer(
    paired: list[MessageToSend],
    pending: dict[str, None],
    blocks: list[dict[str, Any]],
    early: dict[str, dict[str, Any]],
    answered: frozenset[str],
    repairs: Repairs,
) -> None:
    """Append the user message `blocks`, if not empty, with missing results in front."""
    here = {_answers(b) for b in blocks}
    front = []
    for call in pending:
        if call in here:
            continue
        if call in early:
            front.append(early[call])
            repairs.dropped -= 1
            continue
        words = NO_RESULT if call in answered else LOST
        front.append({"type": "tool_result", "tool_use_id": call, "content": words, "is_error": True})
        repairs.made += 1
    if front or blocks:
        paired.append(MessageToSend("user", [*front, *blocks]))


def _drop_repeated(messages: list[MessageToSend], repairs: Repairs) -> None:
    """Drop repeated calls and results: the first of each id stays (p15, p16). Of the ids X and X_2 it is X's (q29)."""
    calls: set[str] = set()
    ids = {_answers(b) for m in messages for b in m.blocks if b.get("type") == "tool_result"}
    results = {key for key in ids if (number := _NUMBERED.fullmatch(key)) and number[1] in ids}
    for message in messages:
        kept = []
        for block in message.blocks:
            kind = block.get("type")
            seen, key = (calls, text(block.get("id"))) if kind == "tool_use" else (results, _answers(block))
            if kind in ("tool_use", "tool_result"):
                if key in seen:
                    repairs.leave_out("repeated call" if kind == "tool_use" else "repeated result")
                    continue
                seen.add(key)
            kept.append(block)
        if len(kept) < len(message.blocks):
            if not kept and message.role == "assistant":
                kept = [{"type": "text", "text": "[Tool use interrupted]"}]
            message.blocks = kept


def is_not_result(block: dict[str, Any]) -> bool:
    """Sort key: results first."""
    return block.get("type") != "tool_result"


def _answers(block: dict[str, Any]) -> str:
    return text(block.get("tool_use_id"))
