"""What came before an answer, as Claude Code recorded its request: system prompt, tools, every message by its hash.

Pipeline: contents of a context up to its first change -> the newest request that one of them answers -> its messages,
each checked by its hash (`proofs.py`) -> `export/request.py`. Thinking is valid in a request that begins with the same
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxkit.core.messages import Content
from ctxkit.formats.base import Prefix, ProvenLog
from ctxkit.formats.claude_code.content import THINKING
from ctxkit.formats.claude_code.hashing import message_hash, value_hash
from ctxkit.formats.claude_code.proofs import Prover
from ctxkit.formats.claude_code.requests import NotedRequest, ProofRow, Records
from ctxkit.formats.claude_code.rows import text

Json = dict[str, Any]


def prefix(log: ProvenLog, contents: Iterable[Content]) -> Prefix | None:
    """A request that one of `contents` answers, as it was sent; None if no system prompt is recorded.

    Of the requests with the newest one's system prompt and tools it is the one with the most thinking that is valid
    there, the newest of these: the program may word a reminder anew, and what was thought before stands behind the old
    words. Without such a request, or if the log does not hold all of it, the newest system prompt and tools without
    messages.
    """
    records = Records(log.blocks(ProofRow), log.read)
    by, marks = _answers(contents)
    chosen = next((one for one in reversed(records.requests) if one.id in marks), None)
    shape = records.shape(chosen.shape if chosen is not None else None)
    if shape is None:
        return None
    found = Prefix(shape.get("system") or [], shape.get("tools") or [])
    if chosen is None or value_hash(shape) != chosen.shape:
        return found
    prover = Prover(records, keep=True)
    asked: list[NotedRequest] = []
    lists: dict[str, list[str]] = {}
    for request in records.requests:
        sent = prover.sent(request)
        if not request.fault:
            lists[request.id] = sent
            prover.judge(request, sent)
            if request.id in marks and request.shape == chosen.shape:
                asked.append(request)
        if request is chosen:
            break
    shapes = {request.id: request.shape for request in records.requests}
    for request in reversed(asked):
        messages = [message for one in lists[request.id] if (message := prover.message(one)) is not None]
        if not messages or len(messages) < len(lists[request.id]):
            continue
        kept, whole = _fitting(messages, request, by, lists, shapes)
        if not found.messages or len(kept) > len(found.kept):
            found.messages, found.kept, found.answer = messages, kept, marks[request.id]
        if whole:
            break
    return found


def _answers(contents: Iterable[Content]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Signature -> the request that its block answers; request -> signatures and call ids of its answer."""
    by: dict[str, str] = {}
    marks: dict[str, set[str]] = {}
    for content in contents:
        for row in content.rows:
            message, request = row.get("message"), text(row.get("requestRef"))
            blocks = message.get("content") if isinstance(message, dict) else None
            for block in blocks if isinstance(blocks, list) and request else ():
                if (mark := signature(block)) or (mark := text(block.get("id"))):
                    marks.setdefault(request, set()).add(mark)
                if signature(block):
                    by[signature(block)] = request
    return by, marks


def _fitting(
    messages: list[Json], chosen: NotedRequest, by: dict[str, str], lists: dict[str, list[str]], shapes: dict[str, str]
) -> tuple[list[str], bool]:
    """The signatures of thinking that is valid here, then those of the answer itself; and whether all of it is.

    Thinking is valid if it was made after the same bytes; the list stops at the first that was not.
    """
    kept: list[str] = []
    hashes = list(map(message_hash, messages))
    for place, message in enumerate(messages):
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if (mark := signature(block)) or block.get("type") in THINKING:
                request = by.get(mark, "")
                if lists.get(request) != hashes[:place] or shapes.get(request) != chosen.shape:
                    return kept, False
                kept.append(mark)
    return [*kept, *(mark for mark, request in by.items() if request == chosen.id)], True


def signature(block: Any) -> str:
    """The signature or data of a block of thinking; "" for any other block."""
    if not isinstance(block, dict) or block.get("type") not in THINKING:
        return ""
    return text(block.get("signature")) or text(block.get("data"))
