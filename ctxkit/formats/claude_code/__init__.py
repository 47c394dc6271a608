"""The Claude Code format: session files under `~/.claude/projects/<folder>/<session>.jsonl`.

Pipeline: `formats/registry.py` lists `FORMAT`. The vendor calls the format internal and unstable: rows of unknown types
open no message, and unknown fields are never read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Content, Message, Part, Repairs
from ctxkit.core.text.utf8 import utf8
from ctxkit.formats.base import (
    Edited,
    Format,
    Inherited,
    MessageToWrite,
    NewSession,
    Prefix,
    Proofs,
    ProvenLog,
    RecordLinks,
    Row,
    Written,
)
from ctxkit.formats.claude_code.content import content_of
from ctxkit.formats.claude_code.reader import NAME, ClaudeReader
from ctxkit.formats.claude_code.rows import ClaudeRow, text
from ctxkit.formats.foreign_keys import dialect

_SIDE_TYPES = {"file-history-snapshot", "queue-operation", "last-prompt", "custom-title", "permission-mode", "ai-title"}
"""Types of rows that may come before the first message, and that no other format has."""

_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("ai-title", "title"))
"""Types of rows that name the session, and their keys; the user's own name first."""


class ClaudeCode(Format):
    """A SessionFormat (formats/base.py)."""

    name: str = NAME
    native: bool = False
    row: type[Row] = ClaudeRow
    inherits: re.Pattern[bytes] | None = re.compile(rb'"type"\s*:\s*"fork-context-ref"')
    agents: tuple[str, str, str] | None = ("subagents", "agent-", ".jsonl")

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether a row has parentUuid and sessionId, or a type that only Claude Code writes. Not Qwen Code."""
        return dialect(head) != "qwen-code" and any(
            ("parentUuid" in row and "sessionId" in row)
            or (isinstance(row.get("type"), str) and row["type"] in _SIDE_TYPES)
            or (row.get("type") == "summary" and "leafUuid" in row)
            for row in head
        )

    def inherited(self, first: dict[str, Any]) -> Inherited | None:
        """The session that a forked subagent goes on from, up to a row by its uuid, which is not looked for: such a
        log is told from a whole one, and is not joined with its session.
        """
        if first.get("type") != "fork-context-ref":
            return None
        return Inherited(text(first.get("parentSessionId")), -1, -1)

    def reader(self) -> ClaudeReader:
        """A new reader."""
        return ClaudeReader()

    def links(self, record: dict[str, Any]) -> RecordLinks | None:
        """The row's uuid, its parent's uuid and the session's id."""
        return RecordLinks.of(record.get("uuid"), record.get("parentUuid"), record.get("sessionId"))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """The user's name for it, the program's, or its summary, if that is of this file's messages."""
        for kind, key in _TITLES:
            for row in holding(utf8(f'"{kind}"')):
                if row.get("type") == kind and isinstance(found := row.get(key), str) and found.strip():
                    return found
        for row in holding(b'"leafUuid"'):
            leaf, found = row.get("leafUuid"), row.get("summary")
            if row.get("type") != "summary" or not (isinstance(found, str) and isinstance(leaf, str)):
                continue
            if any(one.get("uuid") == leaf for one in holding(utf8(json.dumps(leaf)))):
                return found
        return ""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full."""
        return content_of(message, rows)

    def sent(
        self, contents: Sequence[Content], answered: frozenset[str], model: str, *, own: bool = True,
        words: bool = False,
    ) -> tuple[Sequence[Content], Repairs] | None:  # fmt: skip
        """What Claude Code sends when it resumes the session (docs/agents.md)."""
        from ctxkit.formats.claude_code.wire import repair

        return repair(contents, answered, model, own=own, words=words)

    def sent_verbatim(self, content: Content) -> bool:
        """False for attachments, local commands and notifications: Claude Code words and places them itself."""
        return all(row.get("type") in ("user", "assistant") and "origin" not in row for row in content.rows)

    def portable(
        self, contents: Sequence[Content], answered: frozenset[str]
    ) -> tuple[Sequence[Content | None], Repairs]:
        """The contents without API errors, and without rows whose calls were never answered."""
        from ctxkit.formats.claude_code.wire import portable

        return portable(contents, answered)

    def instructs(self, content: Content, part: Part) -> bool:
        """Whether it is an attachment about the program's own tools, agents, skills and modes."""
        from ctxkit.formats.claude_code.attachments import OWN, kind_of

        return bool(content.rows) and all(kind_of(row) in OWN for row in content.rows)

    def proofs(self, log: ProvenLog) -> Proofs | None:
        """Compares the requests that Claude Code recorded (agents, Claude Code 13) with the log's context."""
        from ctxkit.formats.claude_code.requests import noted

        if not noted(log.read, log.size):
            return None
        from ctxkit.formats.claude_code.proofs import prove

        return prove(log)

    def upheld(self, log: ProvenLog, repairs: Repairs) -> Iterable[bytes] | None:
        """The session without requests that its messages do not bear out any longer."""
        from ctxkit.formats.claude_code.requests import noted

        if not noted(log.read, log.size):
            return None
        from ctxkit.formats.claude_code.proofs import upheld

        return upheld(log, repairs)

    def prefix(self, log: ProvenLog, contents: Iterable[Content]) -> Prefix | None:
        """The newest recorded request that one of `contents` answers, with its system prompt and tools."""
        from ctxkit.formats.claude_code.requests import noted

        if not noted(log.read, log.size):
            return None
        from ctxkit.formats.claude_code.prefixes import prefix

        return prefix(log, contents)

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session."""
        from ctxkit.formats.claude_code.sessions import write

        return write(context, session)

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session after ops."""
        from ctxkit.formats.claude_code.rewriting import rewrite

        return rewrite(edited, session)


FORMAT = ClaudeCode()
