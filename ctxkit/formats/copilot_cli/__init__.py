"""The Copilot CLI format: `events.jsonl` of a session under `~/.copilot/session-state/`.

Pipeline: `formats/registry.py` lists `FORMAT`. What Copilot CLI sends on resume was not recorded: the reading follows
its published event types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.messages import Content, Message, Part
from ctxkit.formats.base import Format, RecordLinks, Row
from ctxkit.formats.copilot_cli.content import content_of
from ctxkit.formats.copilot_cli.reader import NAME, CopilotReader
from ctxkit.formats.copilot_cli.rows import CopilotRow

__all__ = ["FORMAT", "CopilotCli"]

_KINDS = ("session.", "user.", "assistant.", "tool.", "system.", "hook.", "permission.")


class CopilotCli(Format):
    """A Format (formats/base.py). What Copilot CLI repairs when it sends a session is not known."""

    name: str = NAME
    native: bool = False
    row: type[Row] = CopilotRow

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """An event: a type of two words with a point between them, and its data."""
        return any(
            isinstance(kind := row.get("type"), str) and kind.startswith(_KINDS) and isinstance(row.get("data"), dict)
            for row in head
        )

    def reader(self) -> CopilotReader:
        """A new reader."""
        return CopilotReader()

    def ties(self, record: dict[str, Any]) -> RecordLinks | None:
        """Events hang on one another by id; the first names the session."""
        body = record.get("data")
        session = body.get("sessionId") if record.get("type") == "session.start" and isinstance(body, dict) else None
        return RecordLinks.of(record.get("id"), record.get("parentId"), session)

    def typed(self, content: Content) -> str:
        """Without what the program puts around a prompt."""
        found = content.rows[0].get("data") if content.rows and content.role == "user" else None
        words = found.get("content") if isinstance(found, dict) else None
        return words if isinstance(words, str) and words else super().typed(content)

    def instructs(self, content: Content, part: Part) -> bool:
        """What stands under its own name: "You are the GitHub Copilot CLI"."""
        return content.role == "system"

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)


FORMAT = CopilotCli()
