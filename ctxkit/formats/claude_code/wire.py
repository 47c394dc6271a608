"""A context of a Claude Code log as its program would send it: merged, paired, valid for Anthropic's API.

Pipeline: `core/context.py` entries, re-read as `Content` -> `repair` -> the Anthropic writer. The rules are those that
Claude Code 2.1.329 was observed to follow (agents, Claude Code 4-9, 11, 12); `Repairs` counts every difference from the
log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Content, Repairs
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.formats.claude_code.blocks import (
    DEFAULT,
    SentPiece,
    asked_model,
    is_blank,
    is_error,
    last_model,
    pieces_of,
    tools_of,
    with_known_tools,
)
from ctxkit.formats.claude_code.content import THINKING, blocks_of, part_of, unique_rows
from ctxkit.formats.claude_code.pairing import NO_CONTENT, MessageToSend, is_not_result, pair
from ctxkit.formats.claude_code.references import BlockRef, ReferencedBlocks, places_of, referred
from ctxkit.formats.claude_code.rows import text

NO_RESPONSE = "No response requested."
_DATE = re.compile(r"-\d{8}$|@\d{8}$|\[1m\]$")
"""An ending that does not change which model a name means."""


def repair(
    contents: Sequence[Content], answered: frozenset[str], model: str = "", *, own: bool = True, words: bool = False
) -> tuple[Sequence[Content], Repairs]:
    """The messages to send, in order, and the repairs.

    `contents`: the context; `rows` are raw Claude rows, or empty for what ctxkit made. `answered`: ids of calls whose
    result is anywhere in the log. `model`: of the request, if it is not that of the last assistant message.
    `own`: for Anthropic, without references to tools that are not there; other writers name what a search found.
    `words`: thinking of other models stays, if it is not encrypted. The contents are read once for references to their
    blocks, and again for each message that is used.
    """
    repairs = Repairs(left_out={})
    request_model = model or last_model(contents)
    pieces = sendable(referred(contents, request_model, repairs), answered, model, repairs, words=words)
    tools = tools_of(model or asked_model(pieces) or DEFAULT)
    unknown = own and sum(name not in tools for piece in pieces for block in piece.blocks for name in block.tools)
    if unknown:
        repairs.leave_out("tool_reference to a tool that a resumed session does not have", unknown)
    is_prompt, merged = _is_prompt(pieces), merge(pieces)
    del pieces
    sent = pair(merged, answered, repairs)
    if sent and sent[-1].role == "user" and is_prompt:
        sent.append(MessageToSend("assistant", [{"type": "text", "text": NO_RESPONSE}]))
        repairs.leave_out("record that the last prompt has no answer")
    if sent and sent[0].role == "assistant":
        sent.insert(0, MessageToSend("user", [{"type": "text", "text": NO_CONTENT}]))
        repairs.leave_out("user message before the first answer (an empty one is sent)")
    blocks = ReferencedBlocks(contents, request_model)

    def made(at: int) -> Content:
        here = (blocks.block(one) if isinstance(one, BlockRef) else one for one in sent[at].blocks)
        return Content(sent[at].role, [part_of(with_known_tools(block, tools) if own else block) for block in here])

    return LazySequence(len(sent), made), repairs


def portable(contents: Sequence[Content], answered: frozenset[str]) -> tuple[Sequence[Content | None], Repairs]:
    """The contents, each in its place, without API errors and rows whose calls were never answered (rules 6, 8)."""
    repairs = Repairs()

    def counted() -> Iterator[Content]:
        for content in contents:
            if errors := sum(map(is_error, content.rows)):
                repairs.leave_out("API error message", errors)
            yield content

    pieces = referred(counted(), "", Repairs())
    staying = {piece.place for piece in _without_unanswered(pieces, answered, repairs)}
    unanswered = places_of(piece for piece in pieces if piece.place not in staying)
    del pieces, staying

    def made(at: int) -> Content | None:
        content = contents[at]
        rows = [row for row in content.rows if not is_error(row)]
        if at in unanswered:
            here = pieces_of([content], "", Repairs())
            out = {id(here[k].row) for k in unanswered[at]}
            rows = [row for row in rows if id(row) not in out]
        if len(rows) == len(content.rows):
            return content
        parts = [part_of(block) for row in unique_rows(rows) for block in blocks_of(row)]
        return Content(content.role, parts, content.name, rows) if parts else None

    return LazySequence(len(contents), made), repairs


def sendable(
    pieces: list[SentPiece],
    answered: frozenset[str],
    model: str,
    repairs: Repairs,
    *,
    unanswered: bool = False,
    words: bool = False,
) -> list[SentPiece]:
    """The pieces without what is never sent.

    `model`: of the request, "" for that of the last answer that is sent. `unanswered`: calls without a result stay.
    `words`: the words of other models' thinking stay.
    """
    pieces = _without_blank_texts(pieces, repairs)
    if not unanswered:
        pieces = _without_unanswered(pieces, answered, repairs)
    pieces = _without_bare_thinking(pieces, repairs)
    return _without_foreign_thinking(pieces, model or asked_model(pieces), repairs, words=words)


def plain_name(model: str) -> str:
    """A model's name without its date: dated and undated names mean one model (rule 7)."""
    return _DATE.sub("", model)


def merge(pieces: list[SentPiece]) -> list[MessageToSend]:
    """Pieces as messages: rows of one response become one, and so do neighbouring user rows (rule 5).

    Their blocks are references; the messages take them over.
    """
    sent: list[MessageToSend] = []
    joined: set[int] = set()
    opened: dict[str, int] = {}
    for piece in pieces:
        if piece.kind != "row" and all(map(is_blank, piece.blocks)):
            continue
        if piece.role == "user":
            if not piece.meta and any(map(is_not_result, piece.blocks)):
                opened.clear()  # a user's words end a response (p113)
            at = len(sent) - 1 if sent and sent[-1].role == "user" else -1
        else:
            at = _open(piece, opened, len(sent))
        if not 0 <= at < len(sent):
            sent.append(MessageToSend(piece.role, piece.blocks))
            continue
        if piece.role == "user":
            joined.add(at)
        blocks = sent[at].blocks
        if piece.role == "user" and blocks and piece.blocks:
            _mark_seam(blocks[-1], piece.blocks[0])
        blocks += piece.blocks
    for at, message in enumerate(sent):
        message.blocks = [b for b in message.blocks if not is_blank(b)]
        if at in joined and message.role == "user":
            message.blocks.sort(key=is_not_result)
        elif message.role == "assistant" and _speaks_after_calls(message.blocks):
            message.blocks.sort(key=_is_call)
    return sent


def _open(piece: SentPiece, opened: dict[str, int], last: int) -> int:
    """The index of the message to which an assistant piece belongs, by its response; `last` if it begins one.

    A call that ctxkit shortened, and that a copied history makes twice, belongs to the response that makes that call.
    """
    calls = [text(block.get("id")) for block in piece.blocks if _is_call(block)]
    keys = [piece.response, *calls] if piece.kind == "own" else [piece.response]
    at = next((opened[key] for key in keys if key in opened), last)
    for key in filter(None, (piece.response, *calls)):
        opened.setdefault(key, at)
    return at


def _mark_seam(last: BlockRef, then: BlockRef) -> None:
    """Mark a newline between the texts of two user rows."""
    if last.kind == then.kind == "text":
        last.seam = True


def _is_call(block: dict[str, Any]) -> bool:
    """Sort key: calls last."""
    return block.get("type") == "tool_use"


def _speaks_after_calls(blocks: list[dict[str, Any]]) -> bool:
    """Whether text follows a call. All calls then move to the end; other blocks keep their order."""
    kinds = [b.get("type") for b in blocks]
    return "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]


def _without_foreign_thinking(pieces: list[SentPiece], model: str, repairs: Repairs, *, words: bool) -> list[SentPiece]:
    """The pieces without signed thinking of other models than the request's (rule 7); `words`: without encrypted."""
    ours = plain_name(model)
    kept = []
    for piece in pieces:
        if piece.role == "assistant" and plain_name(piece.model) != ours:
            blocks = [b for b in piece.blocks if not _is_signed(b) or (words and b.get("type") == "thinking")]
            if len(blocks) < len(piece.blocks):
                repairs.leave_out("thinking of another model", len(piece.blocks) - len(blocks))
                piece = msgspec.structs.replace(piece, blocks=blocks)
                if not blocks:
                    continue
        kept.append(piece)
    return kept


def _is_signed(block: dict[str, Any]) -> bool:
    """Whether a block is thinking that only its own model accepts."""
    return block.get("type") == "redacted_thinking" or (
        block.get("type") == "thinking" and bool(block.get("signature"))
    )


def _without_blank_texts(pieces: list[SentPiece], repairs: Repairs) -> list[SentPiece]:
    """The pieces without blank texts of the assistant, and without rows that hold nothing else (rule 6)."""
    kept = []
    for piece in pieces:
        if piece.role == "assistant":
            blocks = [b for b in piece.blocks if not is_blank(b)]
            if len(blocks) < len(piece.blocks):
                repairs.leave_out("blank text", len(piece.blocks) - len(blocks))
                piece = msgspec.structs.replace(piece, blocks=blocks)
            if not blocks:
                continue
        kept.append(piece)
    return kept


def _without_unanswered(pieces: list[SentPiece], answered: frozenset[str], repairs: Repairs) -> list[SentPiece]:
    """The pieces without rows that hold unanswered calls, unless the history ends there (rule 8)."""
    here = (text(b.get("tool_use_id")) for p in pieces for b in p.blocks if b.get("type") == "tool_result")
    more = {key for key in here if key not in answered}
    final = _final(pieces)
    kept = []
    for i, piece in enumerate(pieces):
        calls = [text(b.get("id")) for b in piece.blocks if b.get("type") == "tool_use"]
        if calls and piece.kind == "row" and i not in final and answered.isdisjoint(calls) and more.isdisjoint(calls):
            repairs.leave_out("call that was never answered", len(calls))
            continue
        kept.append(piece)
    return kept


def _final(pieces: list[SentPiece]) -> set[int]:
    """The rows of the last response, if no user's words follow it."""
    for last in range(len(pieces) - 1, -1, -1):
        piece = pieces[last]
        if piece.role == "assistant" and any(b.get("type") not in THINKING for b in piece.blocks):
            same = {i for i, p in enumerate(pieces) if piece.response and p.response == piece.response}
            return same | {last}
        speaks = piece.role == "user" and any(map(is_not_result, piece.blocks))
        if piece.kind not in ("reminder", "local") and speaks:
            return set()
    return set()


def _without_bare_thinking(pieces: list[SentPiece], repairs: Repairs) -> list[SentPiece]:
    """The pieces without responses that have only thinking (rule 6)."""
    speaking = {p.response for p in pieces if any(b.get("type") not in THINKING for b in p.blocks)}
    kept = []
    for piece in pieces:
        bare = piece.role == "assistant" and all(b.get("type") in THINKING for b in piece.blocks)
        if bare and not (piece.response and piece.response in speaking):
            repairs.leave_out("message of nothing but thinking")
        else:
            kept.append(piece)
    return kept


def _is_prompt(pieces: list[SentPiece]) -> bool:
    """Whether the last piece is a prompt or results, not made by ctxkit or a local command (rule 9)."""
    last = next((p for p in reversed(pieces) if p.kind != "reminder"), None)
    if last is None or last.kind != "row":
        return False
    return last.role == "user" or any(b.get("type") == "tool_use" for b in last.blocks)
