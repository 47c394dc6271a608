"""Messages and responses of any provider as rows of a log of ours.

Pipeline: `RollingContext.add`, `add_response` -> here -> `logfile/append.py`. Chat messages (OpenAI's, Anthropic's,
rows of ours) are kept as they are; Gemini's contents and items of Responses become rows with the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ctxkit.api.in_memory import FORMS, InMemoryMessages, from_messages
from ctxkit.core.text.json_text import dumps, finite
from ctxkit.errors import BadMessage
from ctxkit.formats.chat_lines import lines

Row = dict[str, Any]


def rows(message: object) -> list[Row]:
    """The rows of one message: a dict, or an object of a provider's package (`model_dump`). Most have one row.

    Raises BadMessage.
    """
    given = plain(message)
    if isinstance(given.get("ctxkit"), str):
        raise BadMessage("an op of ctxkit is not a message: nothing was added", "the methods append ops")
    form = _form(given)
    if form == "chat":
        return [_checked(given)]
    if form == "gemini":
        return list(_of_gemini(given))
    return _lines(_read([given]))


def response_rows(response: object) -> list[Row]:
    """The rows of a provider's response, the last one with its `usage` and `model`.

    `response`: of OpenAI's chat completions or Responses, Anthropic's messages, or Gemini's generateContent; or a
    message with a key `usage`. Raises BadMessage.
    """
    given = plain(response)
    found: list[Row] = []
    if isinstance(choices := given.get("choices"), list) and choices:
        found = rows(_inner(choices[0], "message"))
    elif isinstance(candidates := given.get("candidates"), list) and candidates:
        found = rows({"role": "model", **_inner(candidates[0], "content")})
    elif isinstance(output := given.get("output"), list):
        found = _lines(_read([plain(item) for item in output]))
    elif isinstance(given.get("role"), str) and given.get("type") in (None, "message"):
        kept = ("role", "content", "tool_calls", "name", "agent", "thread", "ts", "reasoning_content", "refusal")
        found = rows({key: value for key, value in given.items() if key in kept})
    if not found:
        keys = ", ".join(map(str, given))[:80] or "none"
        raise BadMessage(f"not a response of a known provider: its keys are {keys}: nothing was added", "add(message)")
    usage = given.get("usage") or given.get("usageMetadata") or given.get("usage_metadata")
    model = given.get("model") or given.get("modelVersion") or given.get("model_version")
    if isinstance(usage, Mapping):
        found[-1]["usage"] = _usage(usage)
    if isinstance(model, str):
        found[-1]["model"] = model
    return found


def plain(message: object) -> Row:
    """A message as a dict; keys that are None are left out of an object. Raises BadMessage."""
    if isinstance(message, Mapping):
        return dict(message)
    dump = getattr(message, "model_dump", None)
    found = dump(mode="json", exclude_none=True) if callable(dump) else None
    if not isinstance(found, dict):
        shown = repr(message)
        raise BadMessage(
            f"not a message: {shown if len(shown) <= 60 else shown[:60] + '…'}: nothing was added", "a dict"
        )
    return found


def _form(given: Row) -> str:
    if isinstance(given.get("parts"), list) and "content" not in given:
        return "gemini"
    if isinstance(given.get("role"), str):
        return "chat" if given.get("type") != "message" or "id" not in given else "responses"
    return "responses"


def _read(given: list[Row]) -> InMemoryMessages[Row]:
    try:
        return from_messages(given)
    except BadMessage as error:
        raise BadMessage(f"{error.message}: nothing was added", error.hint) from error


def _lines(held: InMemoryMessages[Row]) -> list[Row]:
    return list(lines([held.log.content(n) for n in range(1, len(held.log.messages) + 1)]))


def _checked(given: Row) -> Row:
    role = given.get("role")
    if not isinstance(role, str) or not role.strip():
        keys = ", ".join(map(str, given))[:80]
        raise BadMessage(f"not a message: its keys are {keys}: nothing was added", FORMS["chat"])
    try:
        dumps(finite(given))
    except (TypeError, ValueError, RecursionError) as error:
        text = f"a message is not JSON: {error}: nothing was added"
        raise BadMessage(text, "texts, numbers, lists and dicts are") from error
    return given


def _of_gemini(given: Row) -> Iterator[Row]:
    """A content of Gemini. Its answers become messages of a tool; a call without an id stays without one, so that the
    answer of its name is paired with it.
    """
    parts = [part if isinstance(part, dict) else plain(part) for part in cast(Sequence[Any], given["parts"])]
    rest = []
    for part in parts:
        answer = part.get("functionResponse") or part.get("function_response")
        if not isinstance(answer, dict):
            rest.append(part)
            continue
        response = answer.get("response")
        text = response if isinstance(response, str) else dumps(finite(response))
        row = {"role": "tool", "name": str(answer.get("name", "")), "content": text}
        yield row | ({"tool_call_id": answer["id"]} if answer.get("id") else {})
    if not parts:  # a reply without any: it had no tokens left, or was blocked
        yield {"role": "assistant" if given.get("role") == "model" else "user", "content": ""}
    if not rest:
        return
    held = _read([{"role": given.get("role", "user"), "parts": rest}])
    known = [part.get("functionCall") or part.get("function_call") for part in rest]
    ids = [call.get("id") for call in known if isinstance(call, dict)]
    for row in _lines(held):
        calls: Any = row.get("tool_calls") or []
        for call, id in zip(calls, ids, strict=False):
            if not id:
                del call["id"]
        yield row


def _inner(holder: object, key: str) -> Row:
    found = plain(holder).get(key)
    if found is None:
        raise BadMessage(f"the response has no {key}: nothing was added", "add(message)")
    return plain(found)


def _usage(usage: Mapping[str, Any]) -> Row:
    """The usage in a shape that a log of ours has: Gemini's keys are translated, others kept."""
    if "promptTokenCount" not in usage and "prompt_token_count" not in usage:
        return dict(usage)
    asked = usage.get("promptTokenCount") or usage.get("prompt_token_count") or 0
    total = usage.get("totalTokenCount") or usage.get("total_token_count") or asked
    if not (isinstance(asked, int) and isinstance(total, int)):
        return dict(usage)  # carried, and not understood
    return {"prompt_tokens": asked, "completion_tokens": max(0, total - asked), "total_tokens": total}
