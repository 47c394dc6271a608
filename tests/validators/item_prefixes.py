"""Whether reasoning of OpenAI's Responses stands behind what stood before it when it was made; shares no code.

Looks at raw rows of Codex and raw items. An item of reasoning is known by what it was encrypted to. Its prefix is the
history before it, as Codex sends it (docs/agents.md). From GPT-6.2 on the provider drops it behind any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.validators.prefixes import Row, rows_of

UNSENT = {"ghost_snapshot", "other"}


def distinct(raw: bytes) -> bytes:
    """The rollout with another encrypted content for each reasoning item; those of published files are blanked."""
    lines = []
    for n, line in enumerate(raw.splitlines(keepends=True)):
        row = json.loads(line) if b'"reasoning"' in line else {}
        payload = row.get("payload")
        if isinstance(payload, dict) and payload.get("type") == "reasoning":
            payload["encrypted_content"] = f"encrypted {n}"
            line = json.dumps(row).encode() + b"\n"
        lines.append(line)
    return b"".join(lines)


def histories(raw: bytes) -> Iterator[tuple[list[Row], bool]]:
    """The history after each row of a rollout that changes it, and whether it only grew by an item."""
    items: list[Row] = []
    for row in rows_of(raw):
        payload = row.get("payload")
        if not isinstance(payload, dict):
            continue
        if row.get("type") == "response_item" and payload.get("type") not in UNSENT:
            items = [*items, payload]
            yield items, True
        elif row.get("type") == "compacted":
            kept = payload.get("replacement_history")
            if not isinstance(kept, list):
                summary = {"type": "message", "role": "user", "content": payload.get("message")}
                kept = [*(one for one in items if one.get("role") == "user"), summary]
            items = [one for one in kept if one.get("type") not in UNSENT]
            yield items, False
        elif payload.get("type") == "thread_rolled_back":
            raise NotImplementedError("no real session has it")


def made(raw: bytes) -> dict[str, set[str]]:
    """Mark of a reasoning item -> digests of the histories that it was made behind, or kept behind by a compaction."""
    found: dict[str, set[str]] = {}
    for items, grew in histories(raw):
        if grew and items[-1].get("type") == "reasoning":
            found.setdefault(mark(items[-1]), set()).add(digest(items[:-1]))
        elif not grew:  # the provider keeps reasoning behind its own compaction
            for key, told in digests(items):
                found.setdefault(key, set()).add(told)
    return found


def broken(items: list[Row], known: dict[str, set[str]]) -> tuple[list[str], int]:
    """The reasoning items that stand behind another history than when they were made; and how many there are."""
    told = list(digests(items))
    return [key for key, one in told if one not in known.get(key, ())], len(told)


def last(raw: bytes) -> list[Row]:
    """The history that a rollout goes on with."""
    found: list[Row] = []
    for items, _ in histories(raw):
        found = items
    return found


def digests(items: list[Row]) -> Iterator[tuple[str, str]]:
    """The mark of each reasoning item, and the digest of all before it."""
    for n, item in enumerate(items):
        if item.get("type") == "reasoning":
            yield mark(item), digest(items[:n])


def mark(item: Row) -> str:
    """What a reasoning item is known by."""
    return str(item.get("encrypted_content") or json.dumps(item.get("summary")))


def digest(items: Iterable[Row]) -> str:
    """A digest of what these items say; a call without an output has the one that Codex sends for it."""
    listed = list(items)
    answered = {item.get("call_id") for item in listed if str(item.get("type")).endswith("_output")}
    seen = hashlib.sha256()
    for item in listed:
        seen.update(json.dumps(_said(item), sort_keys=True).encode() + b"\n")
        if str(item.get("type")).endswith("_call") and item.get("call_id") and item["call_id"] not in answered:
            seen.update(json.dumps(["output", item["call_id"], "aborted"]).encode() + b"\n")
    return seen.hexdigest()


def _said(item: Row) -> list[Any]:
    kind = str(item.get("type", "message"))
    if kind == "reasoning":
        return [kind, mark(item)]
    if kind.endswith("_output"):
        return ["output", item.get("call_id"), _words(item.get("output"))]
    if kind == "message":
        return [item.get("role"), _words(item.get("content"))]
    held = next((item[key] for key in ("arguments", "input", "action", "encrypted_content") if key in item), None)
    return ["call" if item.get("call_id") else kind, item.get("call_id"), item.get("name"), held]


def _words(content: Any) -> Any:
    """Text as a list of texts, pictures as what they are."""
    if isinstance(content, list):
        return [one.get("text", one.get("image_url")) if isinstance(one, dict) else one for one in content]
    return [content]
