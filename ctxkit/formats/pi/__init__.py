"""The pi format: session files under `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, versions 1 to 3.

Pipeline: `formats/registry.py` lists `FORMAT`. What pi sends on resume was recorded (docs/agents.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Content, Message, Part, Repairs
from ctxkit.formats.base import Edited, Format, MessageToWrite, NewSession, RecordLinks, Row, Written
from ctxkit.formats.foreign_keys import is_pi_message
from ctxkit.formats.pi.content import content_of, recorded_of
from ctxkit.formats.pi.reader import NAME, PiReader
from ctxkit.formats.pi.rows import PiRow


class Pi(Format):
    """A Format (formats/base.py)."""

    name: str = NAME
    native: bool = False
    edits: bool = True
    row: type[Row] = PiRow
    leaves: frozenset[str] = frozenset({"no-call"})
    pairs: bool = False

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether there is a session header with its folder, or, without it, a message as pi alone writes it."""
        return any((row.get("type") == "session" and "cwd" in row) or is_pi_message(row) for row in head)

    def reader(self) -> PiReader:
        """A new reader."""
        return PiReader()

    def links(self, record: dict[str, Any]) -> RecordLinks | None:
        """The entry's id and its parent's; the header's session id."""
        if record.get("type") == "session":
            return RecordLinks.of(session=record.get("id"))
        return RecordLinks.of(record.get("id"), record.get("parentId"))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """The last name that the user gave it; an empty one removes it."""
        for row in holding(b'"session_info"'):
            if row.get("type") == "session_info":
                return found if isinstance(found := row.get("name"), str) else ""
        return ""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)

    def instructs(self, content: Content, part: Part) -> bool:
        """Whether it is the system prompt, which tells of pi's own tools."""
        return content.role == "system"

    def recorded(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message without the text that pi puts around it, and with what context edits replaced."""
        return recorded_of(message, rows)

    def sent(
        self, contents: Sequence[Content], answered: frozenset[str], model: str, *, own: bool = True,
        words: bool = False,
    ) -> tuple[Sequence[Content], Repairs] | None:  # fmt: skip
        """What pi sends when it resumes the session (docs/agents.md)."""
        from ctxkit.formats.pi.wire import repair

        return repair(contents, model, words=words)

    def portable(
        self, contents: Sequence[Content], answered: frozenset[str]
    ) -> tuple[Sequence[Content | None], Repairs]:
        """The contents without failed, aborted and blank responses."""
        from ctxkit.formats.pi.wire import portable

        return portable(contents)

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session."""
        from ctxkit.formats.pi.sessions import write

        return write(context, session)

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session after ops."""
        from ctxkit.formats.pi.rewriting import rewrite

        return rewrite(edited, session)


FORMAT = Pi()
