"""A Claude Code chain written anew: the rows of a context in its order, each below the one before.

Pipeline: `rewriting.py` comes here where an edit, a clear or a recall brought together what the program's own tree does
not have in a row. The rows keep their bytes but for ids and links; what the context does not hold is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Repairs, Result
from ctxkit.formats.base import Edited, Kept, NewSession
from ctxkit.formats.bodies import speaker
from ctxkit.formats.claude_code.chain import Kind
from ctxkit.formats.claude_code.content import content_of
from ctxkit.formats.claude_code.rows import text
from ctxkit.formats.claude_code.sessions import line, row_of

if TYPE_CHECKING:
    from ctxkit.formats.claude_code.rewriting import Changes, Rows

_TITLES = frozenset({"custom-title", "ai-title", "agent-name", "mode", "permission-mode", "agent-color", "tag"})
"""Rows that speak of the session as a whole: they stay."""


def anew(edited: Edited, rows: Rows, session: NewSession, repairs: Repairs) -> tuple[Iterator[bytes], list[str]]:
    """The lines, and the keys that reading them gives."""
    chain = _Anew(edited, rows, session, repairs)
    if not any(chain.spoken(kept) for kept in edited.context):  # nobody's words: there would be nothing to resume
        edited = msgspec.structs.replace(edited, context=[chain.told(kept) for kept in edited.context])
    again = list(_again(edited.context, rows))
    found = [piece for kept, apart in zip(edited.context, again, strict=True) for piece in chain.lines(kept, apart)]
    heads = list(_titles(edited, rows, session))
    left = len(rows.of_link) - chain.taken - sum(link.n in edited.gone and link.n > 0 for link in rows.chain.links)
    if left > 0:
        repairs.leave_out("row of branches and other history of its program", left)
    return iter([*heads, *found]), chain.keys


class _Anew:
    def __init__(self, edited: Edited, rows: Rows, session: NewSession, repairs: Repairs) -> None:
        self.edited, self.rows, self.session, self.repairs = edited, rows, session, repairs
        self.keys: list[str] = []
        self.taken = 0
        self._parent: str | None = None

    def spoken(self, kept: Kept) -> bool:
        """Whether a message is a row of the user or the assistant."""
        if kept.content is not None:
            return True
        return self.rows.chain.links[self.rows.links_of[kept.n][0]].kind <= Kind.ASSISTANT

    def told(self, kept: Kept) -> Kept:
        """An attachment's words as the user's."""
        message = self.edited.transcript.messages[kept.n - 1]
        row = [loads(self.edited.read(offset, size)) for offset, size in self._spans(kept.n)]
        return Kept(0, content_of(message, row), self._ts(kept))

    def lines(self, kept: Kept, apart: bool) -> Iterator[bytes]:
        """The rows of one message. `apart`: its response gets another id, or it would be one with what stands above."""
        response = "msg_" + self.session.fresh().replace("-", "") if apart else ""
        if not kept.n or kept.content is not None:
            row = row_of(kept.content, self.session, self.repairs, parent=self._parent, ts=self._ts(kept)) if (
                kept.content is not None
            ) else None  # fmt: skip
            if row is not None:
                self._parent = row["uuid"]
                self.keys.append(row["uuid"])
                yield line(row)
            return
        from ctxkit.formats.claude_code.rewriting import changed

        spans = self._spans(kept.n)
        for first, (offset, size) in enumerate(spans):
            raw = self.edited.read(offset, size)
            row = loads(raw)
            uuid = text(row.get("uuid")) or self.session.fresh()
            asked: Changes = {("parentUuid",): self._parent, ("sessionId",): self.session.id}
            if row.get("isSidechain") is True:
                asked[("isSidechain",)] = False
            if uuid != row.get("uuid"):
                asked[("uuid",)] = uuid
            if response:
                asked[("message", "id")] = response
            self._parent = uuid
            self.taken += 1
            if not first:
                self.keys.append(uuid)
            yield changed(raw, asked) + b"\n"

    def _spans(self, n: int) -> list[tuple[int, int]]:
        """Where the rows of message n stand; of several with one uuid the last, at the place of the first."""
        message = self.edited.transcript.messages[n - 1]
        live: dict[Any, tuple[int, int]] = {}
        links = self.rows.chain.links
        at = {self.rows.of_link[i].offset: links[i].uuid for i in self.rows.links_of[n]}
        for span in ((message.offset, message.size), *message.more):
            live[at.get(span[0]) or span[0]] = span
        return list(live.values())

    def _ts(self, kept: Kept) -> str | None:
        if kept.ts or not kept.n:
            return kept.ts
        return text(self.rows.chain.links[self.rows.links_of[kept.n][0]].ts) or None


def as_one(context: Sequence[Kept], rows: Rows, keys: Sequence[str]) -> list[str]:
    """`keys` where neighbours of one response are one message: what stood between them went (rule 5)."""
    return [key for key, again in zip(keys, _again(context, rows), strict=True) if not again]


def _again(context: Sequence[Kept], rows: Rows) -> Iterator[bool]:
    """For each message whether it goes on with a response that another one began, no words of the user between."""
    begun: set[str] = set()
    for kept in context:
        link = rows.chain.links[rows.links_of[kept.n][0]] if kept.n and kept.content is None else None
        response = rows.responses.get(kept.n, "") if link is not None else ""
        yield response in begun
        if response:
            begun.add(response)
        elif link.kind is Kind.USER if link is not None else _is_prompt(kept):
            begun.clear()


def _is_prompt(kept: Kept) -> bool:
    """Whether the row that comes in for a message is of the user's words, which end a response."""
    content = kept.content
    return content is not None and speaker(content) != "assistant" and not any(
        isinstance(part, Result) for part in content.parts
    )  # fmt: skip


def _titles(edited: Edited, rows: Rows, session: NewSession) -> Iterator[bytes]:
    from ctxkit.formats.claude_code.rewriting import changed

    for entry in rows.entries:
        if entry.link >= 0 or entry.op:
            continue
        raw = edited.read(entry.offset, entry.size)
        row = loads(raw)
        if row.get("type") in _TITLES:
            yield changed(raw, {("sessionId",): session.id} if entry.session else {}) + b"\n"
