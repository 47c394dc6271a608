"""A log's conversation in the shape of Inspect: what Inspect Scout reads from the columns `messages` and `events`.

Pipeline: `Log` -> here -> `rows.py`. The shapes are those of inspect_ai's ChatMessage and CompactionEvent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.times import iso, seconds
from ctxkit.logfile.open import OpenLog

ROLES = {"developer": "system", "system": "system", "assistant": "assistant", "tool": "tool"}
"""Roles of logs -> those of Inspect; every other is the user's."""
COMPACTED = "compacted by "
"""How the label of a program's own compaction begins."""


def conversation_of(log: OpenLog, numbers: Iterable[int], content: Callable[[int], Content]) -> list[dict[str, Any]]:
    """These messages of a log as Inspect's ChatMessages. A message with several results is several, as Inspect has one
    for each; `metadata.ctxkit_n` is its number in the log.
    """
    tools = {call: tool for one in log.messages for call, tool in zip(one.calls, one.tools, strict=False)}
    found = []
    for n in numbers:
        found += _messages(n, content(n), tools)
    return found


def _messages(n: int, content: Content, tools: dict[str, str]) -> list[dict[str, Any]]:
    results = [part for part in content.parts if isinstance(part, Result)]
    rest = [part for part in content.parts if not isinstance(part, Result)]
    made: list[dict[str, Any]] = []
    role = ROLES.get(content.role, "user")
    calls = [_call(part) for part in rest if isinstance(part, Call)]
    parts = [one for part in rest if (one := _part(part)) is not None]
    if parts or calls or not results:
        held: dict[str, Any] = {"role": "user" if role == "tool" else role, "content": _plain(parts)}
        if calls:
            held |= {"role": "assistant", "tool_calls": calls}
        made.append(held)
    for result in results:
        inner = [Text(result.content)] if isinstance(result.content, str) else result.content
        texts = _plain([one for part in inner if (one := _part(part)) is not None])
        answer: dict[str, Any] = {"role": "tool", "content": texts, "tool_call_id": result.id}
        if tools.get(result.id):
            answer["function"] = tools[result.id]
        if result.is_error:
            answer["error"] = {"type": "unknown", "message": texts if isinstance(texts, str) else ""}
        made.append(answer)
    for k, one in enumerate(made):
        one |= {"id": f"{n}" if not k else f"{n}.{k}", "metadata": {"ctxkit_n": n}}
    return made


def _plain(parts: Sequence[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A list of parts, or the text if they are text alone."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return list(parts)


def _part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text):
            return {"type": "reasoning", "reasoning": text}
        case Image(media_type=kind, data=data, url=url):
            return {"type": "text", "text": f"[picture: {url or f'{kind}, {len(data):,} characters of base64'}]"}
        case _:
            return None


def _call(part: Call) -> dict[str, Any]:
    arguments = part.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"input": part.arguments}
    if not isinstance(arguments, dict):
        arguments = {"input": arguments}
    return {"id": part.id, "function": part.name, "arguments": arguments, "type": "function"}


def compactions(
    ops: Iterable[Mapping[str, Any]], program: str, begun: float, moment: Callable[[int], float | None]
) -> list[dict[str, Any]]:
    """The compactions and trims among the rows of the table `ops` as Inspect's events, without those that were undone.

    `program`: the name of the log's own; `begun`: when the log begins, in seconds since 1970; `moment`: the time of a
    message, of the newest before a compaction that has none of its own.
    """
    found: list[dict[str, Any]] = []
    for op in ops:
        own = op["kind"] == "program" and str(op["label"]).startswith(COMPACTED)
        if op["void"] or not (own or op["kind"] in ("compact", "trim")):
            continue
        at = seconds(op["ts"]) if op["ts"] else moment(op["n"])
        at = begun if at is None else at
        found.append({
            "event": "compaction", "type": "trim" if op["kind"] == "trim" else "summary",
            "tokens_before": op["before_tokens"], "tokens_after": op["after_tokens"],
            "source": program if own else "ctxkit", "timestamp": iso(at), "working_start": max(0.0, at - begun),
            "uuid": f"{op['transcript_id']}.{len(found) + 1}", "metadata": {"ctxkit_n": op["n"], "ctxkit_op": op["op"]},
        })  # fmt: skip
    return found
