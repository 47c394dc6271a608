"""Requests and responses of providers, laid out as lines: what was asked, then what came back.

Pipeline: `formats/containers.py` asks here for each object without a list of chat messages. Chat Completions' answers
become chat messages, bodies of Responses a line per item, Gemini's a line per content. Batches and logs of requests put
such a body into something around it: `inside` names the bodies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ctxkit.formats import partial_decode
from ctxkit.formats.foreign_keys import dialect
from ctxkit.formats.gemini_parts import is_content
from ctxkit.formats.response_kinds import is_item

_LOOKED_AT = 50
Fields = dict[str, bytes]


class BodyConversation(NamedTuple):
    """What one body holds: the format of its lines, what tells it from others in the same body ("" or words)."""

    format: str
    label: str
    lines: list[bytes]


def whose(listed: list[bytes]) -> str:
    """The format of the messages in a list, by the first of them; "" where they are none."""
    found = [one for raw in listed[:_LOOKED_AT] if isinstance(one := partial_decode.value(raw), dict)]
    if any(map(is_item, found)):
        return "responses"
    if any(map(is_content, found)):
        return "gemini"
    return dialect(found) or ("messages" if any(isinstance(one.get("role"), str) for one in found) else "")


def count(format: str, lines: list[bytes]) -> int:
    """How many messages lines of such a format hold."""
    if format == "gemini":
        return sum(b"parts" in line and "parts" in (partial_decode.fields(line) or {}) for line in lines)
    from ctxkit.formats.response_log import count

    return count(lines)


def lay_out(raw: bytes) -> list[BodyConversation]:
    """What an object holds as the body of a request, a response, or both in one; none where it is no such body."""
    fields = partial_decode.fields(raw)
    if fields is None:
        return []
    return _preferred(fields) or _responses(fields) or _choices(fields) or _gemini(fields)


def inside(raw: bytes) -> list[bytes]:
    """The bodies that stand in an object: of a request, then of its response; none where it is no record of either."""
    fields = partial_decode.fields(raw) or {}
    body, asked, answer = (fields.get(key, b"") for key in ("body", "request", "response"))
    if "custom_id" in fields and "params" in fields:
        return [fields["params"]]
    if "custom_id" in fields and "result" in fields:
        return [message for message in [(partial_decode.fields(fields["result"]) or {}).get("message", b"")] if message]
    return [one for one in (asked, body, answer) if one.startswith(b"{")]


def is_message(raw: bytes) -> bool:
    """Whether an object is one chat message, as the body of an Anthropic response is."""
    fields = partial_decode.fields(raw) or {}
    return fields.get("role", b"").startswith(b'"') and "content" in fields and "ctxkit" not in fields


def _preferred(fields: Fields) -> list[BodyConversation]:
    """A line of fine-tuning by preference: what was asked, and the answer that was preferred."""
    asked, answer = (
        partial_decode.fields(fields.get("input")) or {},
        partial_decode.items(fields.get("preferred_output")),
    )
    messages = partial_decode.items(asked.get("messages"))
    return [BodyConversation("messages", "", [*messages, *answer])] if messages and answer is not None else []


def _responses(fields: Fields) -> list[BodyConversation]:
    """A request to Responses, its response, or both: instructions, input, output."""
    asked, said, told = fields.get("input", b""), fields.get("output", b""), fields.get("instructions", b"")
    made = partial_decode.items(said) or []
    given = partial_decode.items(asked) or []
    model = fields.get("model", b"")
    if said not in (b"", b"null") and not said.startswith(b"["):
        return []
    known = _any(made, is_item) or _any(given, lambda one: is_item(one) or isinstance(one.get("role"), str))
    whole = fields.get("object") == b'"response"' or (asked.startswith(b'"') and model.startswith(b'"'))
    if not known and (made or given or not whole):
        return []
    lines = [b'{"model":' + model + b"}"] if model.startswith(b'"') else []
    if told.startswith(b'"'):
        lines += [_message("system", told)] * (told != b'""')
    else:
        lines += partial_decode.items(told) or []
    lines += [_message("user", asked)] if asked.startswith(b'"') else given
    return [BodyConversation("responses", "", lines + made)]


def _message(role: str, words: bytes) -> bytes:
    return b'{"type":"message","role":"' + role.encode("ascii") + b'","content":' + words + b"}"


def _choices(fields: Fields) -> list[BodyConversation]:
    """The response of a chat completion: a conversation for each of its choices."""
    found = [partial_decode.fields(one) or {} for one in partial_decode.items(fields.get("choices")) or ()]
    said = [one["message"] for one in found if is_message(one.get("message", b""))]
    model = fields.get("model", b"")
    if model.startswith(b'"'):
        said = [_with_model(one, model) for one in said]
    return [BodyConversation("messages", f"choice {n}" if len(said) > 1 else "", [one]) for n, one in enumerate(said)]


def _with_model(message: bytes, model: bytes) -> bytes:
    """The message, saying which model made it."""
    return b'{"model":' + model + b"," + message.strip().removeprefix(b"{").lstrip()


def _gemini(fields: Fields) -> list[BodyConversation]:
    """A request to Gemini, its response, or both: a conversation for each candidate."""
    given = partial_decode.items(fields.get("contents")) or []
    found = [partial_decode.fields(one) or {} for one in partial_decode.items(fields.get("candidates")) or ()]
    made = [one["content"] for one in found if _any([one.get("content", b"")], is_content)]
    if not (_any(given, is_content) or made):
        return []
    system = partial_decode.fields(fields.get("systemInstruction", fields.get("system_instruction"))) or {}
    lines = [b'{"role":"system","parts":' + system["parts"] + b"}"] if "parts" in system else []
    model = fields.get("modelVersion", fields.get("model", b""))
    lines = [b'{"model":' + model + b"}"] * model.startswith(b'"') + lines + given
    if len(made) < 2:
        return [BodyConversation("gemini", "", lines + made)]
    return [BodyConversation("gemini", f"candidate {n}", [*lines, one]) for n, one in enumerate(made)]


def _any(listed: list[bytes], sign: Any) -> bool:
    """Whether one of the first is an object that `sign` knows."""
    return any(isinstance(one := partial_decode.value(raw), dict) and sign(one) for raw in listed[:_LOOKED_AT])
