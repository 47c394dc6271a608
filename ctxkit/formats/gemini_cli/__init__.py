"""The Gemini CLI format: session files under `~/.gemini/tmp/<project>/chats/`, `.jsonl` and the older `.json`.

Pipeline: `formats/registry.py` lists `FORMAT`; `formats/documents.py` lays a `.json` out as lines. What Gemini CLI
sends on resume was recorded (docs/agents.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Content, Message
from ctxkit.formats.base import Edited, MessageToWrite, NewSession, RecordLinks, Row, SessionFormat, Written
from ctxkit.formats.gemini_cli.content import content_of
from ctxkit.formats.gemini_cli.reader import NAME, GeminiReader
from ctxkit.formats.gemini_cli.rows import GeminiRow


class GeminiCli(SessionFormat):
    """A SessionFormat (formats/base.py). `core/integrity.py` repairs calls without a result."""

    name: str = NAME
    native: bool = False
    row: type[Row] = GeminiRow
    leaves: frozenset[str] = frozenset({"no-result"})

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether there is a header with session and project, or, without it, a response, an update or a rewind."""
        return any(
            isinstance(row.get("$rewindTo"), str)
            or isinstance(row.get("$set"), dict)
            or (isinstance(row.get("sessionId"), str) and isinstance(row.get("projectHash"), str))
            or (row.get("type") == "gemini" and isinstance(row.get("id"), str) and "content" in row)
            for row in head
        )

    def reader(self) -> GeminiReader:
        """A new reader."""
        return GeminiReader()

    def links(self, record: dict[str, Any]) -> RecordLinks | None:
        """The session's id, from the header. A repeated record id is an update, so these are left out."""
        return RecordLinks.of(session=record.get("sessionId"))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """The program's summary of the session, from its header or an update of it."""
        for row in holding(b'"summary"'):
            named = row.get("$set") if "$set" in row else row if "sessionId" in row else None
            if isinstance(named, dict) and isinstance(found := named.get("summary"), str) and found.strip():
                return found
        return ""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session from contents of any format."""
        from ctxkit.formats.gemini_cli.sessions import write

        return write(context, session)

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session of a Gemini CLI log after ops."""
        from ctxkit.formats.gemini_cli.rewriting import rewrite

        return rewrite(edited, session)


FORMAT = GeminiCli()
