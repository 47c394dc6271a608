"""Messages in the user's role that nobody typed: instructions, memory, summaries, what commands printed, notices.

One table for all formats, by how such words begin and end. `trim` keeps instructions, and takes none of these for the
current task; Codex's reader tells by it what starts an exchange.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from ctxkit.core.messages import Content, Image, Result, Text
from ctxkit.core.text.utf8 import utf8


class SyntheticKind(IntEnum):
    """What such a message is; of one that holds several, the first of these that it holds."""

    INSTRUCTION = 0
    SUMMARY = 1
    OBSERVATION = 2
    NOTICE = 3


class _Row(NamedTuple):
    """`start`: how it begins; `end`: how it ends, "" where it goes on to the end of the words. In any case."""

    kind: SyntheticKind
    start: str
    end: str = ""


_TABLE = (
    _Row(SyntheticKind.INSTRUCTION, "# AGENTS.md instructions", "</INSTRUCTIONS>"),  # Codex
    _Row(SyntheticKind.INSTRUCTION, "# AGENTS.md instructions"),
    _Row(SyntheticKind.INSTRUCTION, "<INSTRUCTIONS>", "</INSTRUCTIONS>"),
    _Row(SyntheticKind.INSTRUCTION, "<user_instructions>", "</user_instructions>"),
    _Row(SyntheticKind.INSTRUCTION, "<environment_context>", "</environment_context>"),
    _Row(SyntheticKind.INSTRUCTION, "<permissions instructions>", "</permissions instructions>"),
    _Row(SyntheticKind.INSTRUCTION, "<skills_instructions>", "</skills_instructions>"),
    _Row(SyntheticKind.INSTRUCTION, "<collaboration_mode>", "</collaboration_mode>"),
    _Row(SyntheticKind.INSTRUCTION, "# CLAUDE.md\n\nThis file provides guidance"),  # Claude Code
    _Row(SyntheticKind.INSTRUCTION, "As you answer the user's questions, you can use the following context:"),
    _Row(SyntheticKind.INSTRUCTION, "<session_context>", "</session_context>"),  # Gemini CLI
    _Row(SyntheticKind.INSTRUCTION, "This is the Gemini CLI. We are setting up the context for our chat"),
    _Row(SyntheticKind.INSTRUCTION, "--- Context from: "),
    _Row(SyntheticKind.INSTRUCTION, "Instructions from: "),  # opencode
    _Row(SyntheticKind.INSTRUCTION, "<user_rules>", "</user_rules>"),  # Cursor
    _Row(SyntheticKind.INSTRUCTION, "<memories>", "</memories>"),
    _Row(SyntheticKind.SUMMARY, "This session is being continued from a previous conversation"),  # Claude Code
    _Row(SyntheticKind.SUMMARY, "Another language model started to solve this problem and produced a summary"),  # Codex
    _Row(
        SyntheticKind.SUMMARY, "The conversation history before this point was compacted into the following summary"
    ),  # pi
    _Row(SyntheticKind.SUMMARY, "<state_snapshot>", "</state_snapshot>"),  # Gemini CLI
    _Row(SyntheticKind.OBSERVATION, "<returncode>"),  # mini-swe-agent
    _Row(SyntheticKind.OBSERVATION, "OBSERVATION:"),  # SWE-agent
    _Row(SyntheticKind.NOTICE, "<turn_aborted>", "</turn_aborted>"),  # Codex
    _Row(SyntheticKind.NOTICE, "<skill>", "</skill>"),
    _Row(SyntheticKind.NOTICE, "<user_shell_command>", "</user_shell_command>"),
    _Row(SyntheticKind.NOTICE, "<subagent_notification>", "</subagent_notification>"),
    _Row(SyntheticKind.NOTICE, "<model_switch>", "</model_switch>"),
    _Row(SyntheticKind.NOTICE, "<local-command-"),  # Claude Code
    _Row(SyntheticKind.NOTICE, "<bash-"),
    _Row(SyntheticKind.NOTICE, "<task-notification>", "</task-notification>"),
    _Row(SyntheticKind.NOTICE, "[Request interrupted by user"),
    _Row(SyntheticKind.NOTICE, "<ide_opened_file>", "</ide_opened_file>"),
    _Row(SyntheticKind.NOTICE, "<ide_selection>", "</ide_selection>"),
    _Row(SyntheticKind.NOTICE, "<current_datetime>", "</current_datetime>"),  # Copilot CLI
    _Row(SyntheticKind.NOTICE, "<system_reminder>", "</system_reminder>"),
    _Row(SyntheticKind.NOTICE, "<system_notification>", "</system_notification>"),
)
_STOPPED = ("[Request interrupted by user", "<turn_aborted>")
_REMINDER = _Row(SyntheticKind.NOTICE, "<system-reminder>", "</system-reminder>")
"""What a reminder holds says what it is; one that says nothing else is a notice."""
_MEMORY = re.compile(r"Contents of [^\n]{1,400}\.md\b[^\n]{0,200}:\n")
"""How Claude Code begins a file of its memory: `Contents of /home/me/CLAUDE.md (project instructions):`."""
ATTACHED = ("nested_memory", "instructions", "output_style", "critical_system_reminder")
"""Kinds of Claude Code's attachments that instruct; its others are notices."""

_BLANKS = re.compile(r"\s+")
_STARTS = tuple(row.start for row in (*_TABLE, _REMINDER))
_MAY_BE = re.compile(
    rb'"(?:attachment|(?:\\[nrt]|\s)*(?:%s))'
    % b"|".join(sorted({re.escape(utf8(re.split("[\n>]", start)[0])[:12]) for start in (*_STARTS, "Contents of ")}))
    .replace(b"<", rb"(?:<|\\u003[cC])"),
    re.IGNORECASE,
)  # fmt: skip


def may_be(raw: bytes) -> bool:
    """Whether a record may hold such a message: quick, and never wrong about one that it says no to."""
    return _MAY_BE.search(raw) is not None


def begins(words: str) -> bool:
    """Whether these words begin as what nobody typed does."""
    low = words.lstrip()[:100].lower()
    return low.startswith(_LOW_STARTS) or _MEMORY.match(words.lstrip()) is not None


_LOW_STARTS = tuple(start.lower() for start in _STARTS)


def kind(content: Content) -> SyntheticKind | None:
    """What a message in the user's role is; None where somebody typed any of it, or it holds a picture or a result."""
    row: dict[str, Any] = content.rows[0] if content.rows else {}
    attached = row.get("attachment")
    if isinstance(attached, dict) and row.get("type") == "attachment":
        return SyntheticKind.INSTRUCTION if attached.get("type") in ATTACHED else SyntheticKind.NOTICE
    if any(isinstance(part, Image | Result) for part in content.parts):
        return None
    found = [one for part in content.parts if isinstance(part, Text) for one in _kinds(part.text)]
    return None if not found or None in found else min(one for one in found if one is not None)


def stopped(content: Content) -> bool:
    """Whether such a message says that the user stopped the turn."""
    words = "".join(part.text for part in content.parts if isinstance(part, Text)).lstrip()
    return words.startswith(_STOPPED) and kind(content) is SyntheticKind.NOTICE


def _kinds(words: str) -> Iterator[SyntheticKind | None]:
    """What stands in `words`, one after the other; None for what somebody typed."""
    at = _behind_blanks(words, 0)
    while at < len(words):
        row, end = _leading(words, at)
        if row is None:
            yield None
            return
        if row is _REMINDER:
            inner = list(_kinds(words[at + len(row.start) : end - len(row.end)]))
            yield min((one for one in inner if one is not None), default=row.kind)
        else:
            yield row.kind
        at = _behind_blanks(words, end)


@cache
def _patterns() -> list[tuple[_Row, re.Pattern[str], re.Pattern[str]]]:
    """The rows, with how they begin and end as patterns: lower case would move places, as that of İ is longer."""
    return [
        (row, re.compile(re.escape(row.start), re.IGNORECASE), re.compile(re.escape(row.end), re.IGNORECASE))
        for row in (*_TABLE, _REMINDER)
    ]


def _behind_blanks(words: str, at: int) -> int:
    found = _BLANKS.match(words, at)
    return at if found is None else found.end()


def _leading(words: str, at: int) -> tuple[_Row | None, int]:
    """The row of the table that `words` go on with at a place, and where that ends."""
    for row, start, end in _patterns():
        if (found := start.match(words, at)) is not None:
            if not row.end:
                return row, len(words)
            if (found := end.search(words, found.end())) is not None:
                return row, found.end()
    if _MEMORY.match(words, at) is not None:
        return _TABLE[0], len(words)
    return None, 0
