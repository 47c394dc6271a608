"""Export: a context as the messages of a provider's request, or as chat lines.

Pipeline: context -> contents (read again from the file) -> the log's own program's repairs, where it has them -> the
target's writer. What is emitted is valid for the target, whatever the ops did.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ctxkit.core import integrity
from ctxkit.core.messages import Content, Part, Repairs, Result
from ctxkit.errors import NothingToSend
from ctxkit.opened import OpenedLog


class Exported(msgspec.Struct):
    """`values`: the JSON values to print, a line each. `count`: messages sent."""

    values: Iterable[dict[str, Any]]
    repairs: Repairs
    count: int


def export(log: OpenedLog, to: str, *, model: str = "") -> Exported:
    """The context of `log` for `to` (chat, openai, anthropic). Raises NothingToSend where there is nothing."""
    contents = [log.full(entry) for entry in log.entries()]
    if not contents:
        total = len(log.messages)
        held = f"has no messages: all {total} are out of its context" if total else "has no messages"
        raise NothingToSend(f"nothing to send: {log.opening.name} {held}", "ctxkit why LOG N says why" if total else "")
    # chat lines hold the log's own messages (REPLAY 53); a request is what the log's program would send
    sent = log.opening.format.sent(contents, log.answered, model) if to != "chat" else None
    contents, repairs = sent or (contents, Repairs())
    model = model or log.model
    if to == "chat":
        from ctxkit.formats.chat_lines import lines

        contents, more = integrity.repair(contents)
        return Exported(lines(contents), _joined(repairs, more), len(contents))
    if to == "openai":
        from ctxkit.formats import openai

        body, more = openai.write(contents, model=model)
    else:
        from ctxkit.formats import anthropic

        body, more = anthropic.write(contents, model=model, as_sent=sent is not None)
    return Exported([body], _joined(repairs, more), len(body["messages"]))


def _joined(one: Repairs, other: Repairs) -> Repairs:
    left_out = dict(one.left_out)
    for kind, count in other.left_out.items():
        left_out[kind] = left_out.get(kind, 0) + count
    return Repairs(one.made + other.made, one.dropped + other.dropped, left_out)


def parts_json(content: Content) -> list[dict[str, Any]]:
    """The parts of a message in their machine form: `type` and what the type holds; the raw part left out."""
    return [_part(part) for part in content.parts]


def _part(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(part)
    raw = found.pop("raw", None)
    if isinstance(part, Result) and not isinstance(part.content, str):
        found["content"] = [_part(inner) for inner in part.content]
    if part.__class__.__name__ == "Other":
        found["raw"] = raw
    return found
