"""The pi format: session files under `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, versions 1 to 3.

Pipeline: `formats/registry.py` lists `FORMAT`. What pi sends on resume was recorded (docs/agents.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Content, Message, Repairs
from ctxkit.formats.base import Edited, Format, MessageToWrite, NewSession, RecordLinks, Row, Written
from ctxkit.formats.pi.content import content_of, recorded_of
from ctxkit.formats.pi.reader import NAME, PiReader
from ctxkit.formats.pi.rows import PiRow

__all__ = ["FORMAT", "Pi"]


class Pi(Format):
    """A Format (formats/base.py)."""

    name: str = NAME
    native: bool = False
    edits: bool = True
    row: type[Row] = PiRow

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """A session header with the folder it was in; or, where that line is lost, an entry with a nested message."""
        return any(
            (row.get("type") == "session" and "cwd" in row)
            or (row.get("type") == "message" and "parentId" in row and isinstance(row.get("message"), dict))
            for row in head
        )

    def reader(self) -> PiReader:
        """A new reader."""
        return PiReader()

    def ties(self, record: dict[str, Any]) -> RecordLinks | None:
        """Entries hang on one another by id; the header names the session."""
        if record.get("type") == "session":
            return RecordLinks.of(session=record.get("id"))
        return RecordLinks.of(record.get("id"), record.get("parentId"))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """The name that the user gave it last; an empty one takes it away."""
        for row in holding(b'"session_info"'):
            if row.get("type") == "session_info":
                return found if isinstance(found := row.get("name"), str) else ""
        return ""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)

    def recorded(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message without pi's words around it, and with those that context edits replaced."""
        return recorded_of(message, rows)

    def sent(
        self, contents: Sequence[Content], answered: frozenset[str], model: str
    ) -> tuple[Sequence[Content], Repairs] | None:
        """What pi sends when it resumes the session (docs/agents.md); imported when something is exported."""
        from ctxkit.formats.pi.wire import repair

        return repair(contents, model)

    def handed(self, contents: Sequence[Content], answered: frozenset[str]) -> tuple[Sequence[Content | None], Repairs]:
        """Without responses that failed or were aborted, and blank ones."""
        from ctxkit.formats.pi.wire import handed

        return handed(contents)

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session."""
        from ctxkit.formats.pi.sessions import write

        return write(context, session)

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session after ops."""
        from ctxkit.formats.pi.rewriting import rewrite

        return rewrite(edited, session)


FORMAT = Pi()
