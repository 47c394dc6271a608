"""Recognizes, by its tags, what Codex itself puts into the history.

Pipeline: `reader.py` asks for each user or developer message -> `history.py` counts turns by the answers; a session for
another program is written without these messages. Source: what Codex 0.169.0 was observed to roll back with a turn, and
to leave.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxkit.formats.codex.rows import CodexItem

_FRAMES = (
    ("<environment_context>", "</environment_context>"), ("# agents.md instructions", "</instructions>"),
    ("<skill>", "</skill>"), ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"), ("<subagent_notification>", "</subagent_notification>"),
    ("<goal_context>", "</goal_context>"), ("<codex_internal_context", "</codex_internal_context>"),
    ("<recommended_plugins>", "</recommended_plugins>"), ("<hook_prompt ", "</hook_prompt>"),
)  # fmt: skip
"""Start and end of Codex's own texts in the user's role; any case."""
_EXTERNAL = re.compile(r"<(external_\w+)>.*</\1>", re.DOTALL)
_WARNINGS = (
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: apply_patch was requested via ", "Warning: Your account was flagged for potentially high-risk cyber ",
)  # fmt: skip
_DEVELOPER = (
    "<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<realtime_conversation>",
    "<personality_spec>", "<skills_instructions>", "<token_budget>", "<apps_instructions>", "<plugins_instructions>",
    "<multi_agent_mode>", "<context_window>", "<tools>",
)  # fmt: skip
"""First words of Codex's own developer messages; before a turn they are rolled back with it."""
SUMMARY = "Another language model started to solve this problem and produced a summary of its thinking process."
"""First words of the summary of an old compaction."""


def is_own(pieces: Sequence[CodexItem]) -> bool:
    """Whether a message in the user's role is Codex's own: one of its pieces is enough."""
    return any(isinstance(piece.text, str) and _is_fragment(piece.text.strip()) for piece in pieces)


def is_environment(words: str) -> bool:
    """Whether a text in the user's role describes where Codex runs: folder, shell, date."""
    low = words.strip().lower()
    return low.startswith(_FRAMES[0][0]) and low.endswith(_FRAMES[0][1])


def goes_with_turn(pieces: Sequence[CodexItem]) -> bool:
    """Whether a developer message before a turn is rolled back with it."""
    return any(isinstance(piece.text, str) and is_rules(piece.text) for piece in pieces)


def is_rules(words: str) -> bool:
    """Whether a developer's text is Codex's own: sandbox, modes, skills; not what hooks and the user's config say."""
    return words.lstrip().lower().startswith(_DEVELOPER)


def is_summary(pieces: Sequence[CodexItem]) -> bool:
    """Whether a user message is the summary of an old compaction."""
    return any(isinstance(piece.text, str) and piece.text.startswith(SUMMARY) for piece in pieces)


def _is_fragment(words: str) -> bool:
    if not words.startswith(("<", "#", "Warning: ")):
        return False
    low = words.lower()
    if any(low.startswith(start) and low.endswith(end) for start, end in _FRAMES):
        return True
    return words.startswith(_WARNINGS) or _EXTERNAL.fullmatch(words) is not None
