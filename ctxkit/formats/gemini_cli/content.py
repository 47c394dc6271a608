"""A Gemini CLI message in full: from its record to parts. A response holds its calls and their results together.

Pipeline: the format's `content` -> `cli show`, `formats` writers, which put results behind the message.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Call, Content, Message, Other, Part, Result, Text, Thinking
from ctxkit.formats.gemini_parts import parts_of, response


def content_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The message's content: thoughts, words, calls, then the results that stand in the calls."""
    record = rows[0] if rows else {}
    calls = _objects(record.get("toolCalls"))
    made = list(zip(message.calls, calls, strict=False))
    parts = [
        *map(_thought, _objects(record.get("thoughts"))),
        *parts_of(record.get("content")),
        *(_call(key, call) for key, call in made),
        *(_result(key, call) for key, call in made if call.get("result") is not None),
    ]
    return Content(message.role, parts, rows=rows)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _thought(thought: dict[str, Any]) -> Thinking:
    """A thought, which the program keeps for itself: subject and description."""
    said = [words for key in ("subject", "description") if isinstance(words := thought.get(key), str) and words]
    return Thinking("\n".join(said), thought)


def _call(key: str, call: dict[str, Any]) -> Call:
    name = call.get("name")
    raw = {field: value for field, value in call.items() if field != "result"}
    return Call(key, name if isinstance(name, str) else "", call.get("args"), raw)


def _result(key: str, call: dict[str, Any]) -> Result:
    """What came back for a call: the words of its responses, and what stands beside them."""
    failed = call.get("status") == "error"
    parts: list[Part] = []
    result = call["result"]
    for part in parts_of(result):
        if isinstance(part, Result) or (isinstance(part, Other) and "functionResponse" in part.raw):
            answer = (part.raw or {}).get("functionResponse")
            inner, wrong = response(answer.get("response") if isinstance(answer, dict) else None)
            parts += [Text(inner)] if isinstance(inner, str) else inner
            failed = failed or wrong
        else:
            parts.append(part)
    alone = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else None
    return Result(key, parts if alone is None else alone, failed, {"result": result})
