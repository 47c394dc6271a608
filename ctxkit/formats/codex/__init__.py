"""The Codex format: rollout files under `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

Pipeline: `formats/registry.py` lists `FORMAT`. What Codex sends on resume was recorded (docs/agents.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ctxkit.core.messages import Content, Message, Part, Text
from ctxkit.formats.base import Edited, Format, Inherited, MessageToWrite, NewSession, RecordLinks, Row, Written
from ctxkit.formats.codex.content import content_of
from ctxkit.formats.codex.reader import NAME, CodexReader
from ctxkit.formats.codex.rows import CodexRow

_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}


class Codex(Format):
    """A Format (formats/base.py). `sent` is not overridden: Codex makes the repairs that `core/integrity.py` makes."""

    name: str = NAME
    native: bool = False
    row: type[Row] = CodexRow
    inherits: re.Pattern[bytes] | None = re.compile(rb'"history_base"\s*:\s*\{')

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether a line has one of Codex's types and a payload."""
        return any(
            isinstance(row.get("type"), str) and row["type"] in _TYPES and isinstance(row.get("payload"), dict)
            for row in head
        )

    def reader(self) -> CodexReader:
        """A new reader."""
        return CodexReader()

    def links(self, record: dict[str, Any]) -> RecordLinks | None:
        """The session's id, and that of the one that it is a fork of, from each `session_meta`."""
        meta = record.get("payload")
        if record.get("type") != "session_meta" or not isinstance(meta, dict):
            return None
        return RecordLinks.of(session=meta.get("id"), origin=meta.get("forked_from_id"))

    def inherited(self, first: dict[str, Any]) -> Inherited | None:
        """What a fork, or a later page of a long thread, goes on from."""
        from ctxkit.formats.codex.inherited import inherited

        return inherited(first)

    def history_files(self, beside: Path, thread: str) -> Sequence[Path]:
        """The files that `history_base` names so: one, but for copies."""
        from ctxkit.formats.codex.threads import file_id, thread_files

        return [path for path in thread_files(beside, thread) if file_id(path.name) == thread]

    def misfit(self, base: Inherited, first: bytes, last: bytes) -> str:
        """Why a file does not fit: it is no paginated one, or another row ends at that byte."""
        from ctxkit.formats.codex.inherited import misfit

        return misfit(base, first, last)

    def alone(self, first: bytes) -> bytes:
        """The first row of a session that holds its whole history."""
        from ctxkit.formats.codex.inherited import alone

        return alone(first)

    def begins(self, row: CodexRow) -> bool:
        """Whether it is a `session_meta`: Codex reads each paginated file from its last one on, and writes only one."""
        return bool(row.type == "session_meta")

    def unopened(self, first: dict[str, Any], last: dict[str, Any]) -> tuple[str, bool] | None:
        """Codex 0.171.0 wants a mode, or no key for one, and in a paginated file a number in the last row."""
        from ctxkit.formats.codex.inherited import unopened

        return unopened(first, last)

    def is_newest(self, path: Path) -> bool:
        """Whether the file is the newest page of its thread."""
        from ctxkit.formats.codex.threads import is_newest

        return is_newest(path)

    def instructs(self, content: Content, part: Part) -> bool:
        """Whether it is Codex's own developer message (sandbox rules, modes, skills), or describes the environment."""
        from ctxkit.formats.codex.fragments import is_environment, is_rules

        own = {"developer": is_rules, "user": is_environment}.get(content.role)
        return own is not None and isinstance(part, Text) and own(part.text)

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session."""
        from ctxkit.formats.codex.sessions import write

        return write(context, session)

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session after ops."""
        from ctxkit.formats.codex.rewriting import rewrite

        return rewrite(edited, session)


FORMAT = Codex()
