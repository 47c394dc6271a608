"""Whether thinking stands behind what stood before it when it was made. Looks at raw rows; shares no code with writers.

A block of thinking is known by its signature. Its prefix is all that was said before it: of a session that is a tree,
the rows above it, up to the compaction that began the context. A prefix is told by a digest, once of the log as it
was recorded, once of what was written; where the two differ, a provider that checks prefixes refuses the request.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]
KINDS = ("thinking", "redacted_thinking")
SENT = {
    "hook_success", "hook_additional_context", "hook_blocking_error", "nested_memory", "edited_text_file", "file",
    "directory", "compact_file_reference", "deferred_tools_delta", "agent_listing_delta", "mcp_instructions_delta",
    "skill_listing", "invoked_skills", "queued_command", "plan_mode", "plan_mode_exit", "critical_system_reminder",
    "date_change", "opened_file_in_ide", "selected_lines_in_ide", "output_style",
}  # fmt: skip
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def rows_of(raw: bytes) -> list[Row]:
    """The JSON objects of the lines, without ops of ctxkit."""
    found = []
    for line in raw.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and not isinstance(row.get("ctxkit"), str):
            found.append(row)
    return found


def signature(block: Any) -> str:
    """What a block of thinking is known by; "" for anything else, and for thinking that nobody signed."""
    if not isinstance(block, dict) or block.get("type") not in KINDS:
        return ""
    found = block.get("signature") or block.get("thinkingSignature") or block.get("data")
    return found if isinstance(found, str) else ""


def blocks(row: Row) -> list[Any]:
    """The blocks of a row's message."""
    message = row["message"] if isinstance(row.get("message"), dict) else row
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def digests(rows: list[Row]) -> dict[str, str]:
    """Signature -> digest of all that stands before that block, in the order in which it is sent."""
    found: dict[str, str] = {}
    seen = hashlib.sha256()
    for row in rows:
        if row.get("type") == "system" and row.get("subtype") != "local_command":
            continue  # it is on the screen, and never sent
        for block in blocks(row):
            if key := signature(block):
                found.setdefault(key, seen.hexdigest())
            seen.update(_plain(block))
        if _is_sent(row):
            seen.update(_plain(row["attachment"]))
    return found


def _is_sent(row: Row) -> bool:
    """Whether a row is an attachment that Claude Code sends: one of these kinds, or any that it rendered."""
    body = row.get("attachment")
    if not isinstance(body, dict):
        return False
    return bool(row.get("rendered")) or (body.get("type") in SENT and body.get("content") != "")


def _plain(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass") + b"\n"


class Tree:
    """The rows of a session that hang on one another, of Claude Code or of pi; of a plain log each on the one before.

    `sent`: rows that are sent at all.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = [row for row in rows if row.get("isSidechain") is not True]
        self.linked = any("parentUuid" in row or "parentId" in row for row in self.rows)
        self.at: dict[Any, int] = {}
        self.answers: dict[Any, list[int]] = {}
        self.below: dict[Any, list[int]] = {}
        for i, row in enumerate(self.rows):
            if self._id(row):
                self.at[self._id(row)] = i
                self.below.setdefault(self._up(row), []).append(i)
            if self._said(row):
                self.answers.setdefault(row["message"].get("id"), []).append(i)

    def _id(self, row: Row) -> Any:
        return row.get("uuid") or row.get("id")

    def _up(self, row: Row) -> Any:
        return row.get("parentUuid") if "parentUuid" in row else row.get("parentId")

    def _said(self, row: Row) -> bool:
        return row.get("type") == "assistant" and isinstance(row.get("message"), dict)

    def above(self, i: int) -> list[int]:
        """The rows up to row i, in the order of the file: those above it, all rows of their responses, the results."""
        if not self.linked:
            return list(range(i + 1))
        path: set[int] = set()
        at: int | None = i
        while at is not None and at not in path:
            row = self.rows[at]
            if row.get("subtype") == "compact_boundary":
                break
            path.add(at)
            at = self.at.get(self._up(row))
        for one in list(path):
            if self._said(self.rows[one]):
                beside = [k for k in self.answers[self.rows[one]["message"].get("id")] if min(path) <= k < i]
                results = [
                    k
                    for b in beside
                    for k in self.below.get(self._id(self.rows[b]), [])
                    if k < i and _result(self.rows[k])
                ]
                path |= {*beside, *results}
        return sorted(path)

    def rows_above(self, i: int) -> list[Row]:
        """The rows up to row i as they are sent: those of a response together, the results of its calls behind them."""
        turns: dict[Any, int] = {}
        order: list[tuple[int, Row]] = []
        for place, k in enumerate(self.above(i)):
            row = self.rows[k]
            said = row["message"].get("id") if self._said(row) else None
            if said is not None:
                place = turns.setdefault(said, place)
            elif not _result(row):
                turns.clear()
            order.append((place, row))
        return [row for _, row in sorted(order, key=lambda one: one[0])]

    def leaf(self) -> int:
        """The row that the session goes on from."""
        kinds = ("user", "assistant", "attachment", "system", "message", "custom", "compaction", "custom_message")
        return max((i for i, row in enumerate(self.rows) if not self.linked or row.get("type") in kinds), default=-1)


def _result(row: Row) -> bool:
    return any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks(row))


def made(raw: bytes) -> dict[str, set[str]]:
    """Signature -> digests of what stood before each block of thinking when the log recorded it; a copy has its own."""
    tree = Tree(rows_of(raw))
    found: dict[str, set[str]] = {}
    for i, row in enumerate(tree.rows):
        keys = [key for block in blocks(row) if (key := signature(block))]
        if keys:
            told = digests(tree.rows_above(i))
            for key in keys:
                found.setdefault(key, set()).add(told[key])
    return found


def broken_in_session(raw: bytes, known: dict[str, set[str]]) -> tuple[list[str], int]:
    """The blocks of thinking that a written session goes on with behind another prefix; and how many it has in all."""
    tree = Tree(rows_of(raw))
    last = tree.leaf()
    if last < 0:
        return [], 0
    told = digests(tree.rows_above(last))
    return [key for key, digest in told.items() if digest not in known.get(key, ())], len(told)


def thoughts_of_body(body: Row) -> list[str]:
    """The signatures of a request's thinking, in order."""
    return [key for message in body["messages"] for block in blocks(message) if (key := signature(block))]


def broken_in_body(body: Row, raw: bytes) -> list[str]:
    """The blocks of thinking of a request's messages that stand behind something else than in the log.

    A request says things in other shapes than rows: calls and answers, the thinking itself and the words of both sides
    are compared, in order; reminders, which programs word anew, are not.
    """
    tree = Tree(rows_of(raw))
    at: dict[str, list[int]] = {}
    for i, row in enumerate(tree.rows):
        for block in blocks(row):
            at.setdefault(signature(block), []).append(i)
    wrong = []
    sent: list[tuple[str, str]] = []
    for message in body["messages"]:
        for block in blocks(message):
            key = signature(block)
            if key and not any(sent == _before(tree, i, key) for i in at.get(key, ())):
                wrong.append(key)
            sent += _said(message.get("role"), block)
    return wrong


def _before(tree: Tree, i: int, key: str) -> list[tuple[str, str]]:
    """All that was said before a block, in the log."""
    found: list[tuple[str, str]] = []
    for row in tree.rows_above(i):
        if row.get("isApiErrorMessage") is True or "attachment" in row or row.get("type") == "system":
            continue
        if isinstance(row.get("origin"), dict) and row["origin"].get("kind") == "task-notification":
            continue
        role = row["message"].get("role") if isinstance(row.get("message"), dict) else row.get("role")
        for block in blocks(row):
            if signature(block) == key:
                return found
            found += _said(role, block)
    return found


def _said(role: Any, block: Any) -> Iterable[tuple[str, str]]:
    """What a block says, as it can be told of a row and of a request alike."""
    match block:
        case {"type": "thinking" | "redacted_thinking"}:
            yield "thinking", signature(block)
        case {"type": "text", "text": str() as words}:
            plain = "".join(_REMINDER.sub("", words).split())
            if plain and plain != "(nocontent)":
                yield str(role), plain
        case {"type": "tool_use" | "toolCall", "id": str() as key}:
            yield "call", key
        case {"type": "tool_result", "tool_use_id": str() as key}:
            yield "result", key
        case {"type": "image"}:
            yield "image", ""


def renamed(raw: bytes, model: str) -> bytes:
    """The log as if `model` had made all its answers: its rows stay, but for that name."""
    lines = []
    for line in raw.splitlines(keepends=True):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            lines.append(line)
            continue
        message = row.get("message") if isinstance(row, dict) else None
        if isinstance(message, dict) and message.get("model") not in (None, "<synthetic>"):
            message["model"] = model
            line = json.dumps(row).encode() + b"\n"
        elif isinstance(row, dict) and isinstance(row.get("params"), dict) and "model" in row["params"]:
            row["params"]["model"] = model
            line = json.dumps(row).encode() + b"\n"
        elif isinstance(row, dict) and isinstance(row.get("payload"), dict) and "model" in row["payload"]:
            row["payload"]["model"] = model
            line = json.dumps(row).encode() + b"\n"
        lines.append(line)
    return b"".join(lines)


def noted(raw: bytes) -> Iterator[tuple[Row, list[str]]]:
    """The requests that a session of Claude Code notes, each with the hashes of all its messages."""
    lists: dict[str, list[str]] = {}
    for row in rows_of(raw):
        if row.get("type") == "api-request":
            lists[row["id"]] = lists.get(row.get("base") or "", [])[: row["keep"]] + row["tail"]
            yield row, lists[row["id"]]


def hash_of(message: Row) -> str:
    """A message's hash as Claude Code notes it: SHA-256 of its JSON, without marks of the cache, words as a list."""
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    content = [{k: v for k, v in block.items() if k != "cache_control"} for block in content]
    return hashed({**message, "content": content})


def hashed(value: Any) -> str:
    """The hash of any value."""
    plain = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def broken_as_noted(body: Row, raw: bytes) -> list[str]:
    """The blocks of thinking of a request with system and tools that were made behind another, by noted hashes."""
    lists = {row["id"]: (row.get("shapeHash"), hashes) for row, hashes in noted(raw)}
    by = {signature(block): row.get("requestRef") for row in rows_of(raw) for block in blocks(row) if signature(block)}
    shapes = {row["shapeHash"]: row["shape"] for row in rows_of(raw) if row.get("type") == "api-request-shape"}
    here = [hash_of(message) for message in body["messages"]]
    wrong = []
    for n, message in enumerate(body["messages"]):
        for key in filter(None, map(signature, blocks(message))):
            shape, hashes = lists.get(by.get(key) or "", (None, None))
            own = shapes.get(shape, {}) if shape else {}
            same = hashed(own) == shape and all((body.get(k) or []) == (own.get(k) or []) for k in ("system", "tools"))
            if hashes != here[:n] or not same:
                wrong.append(key)
    return wrong
