"""A context of a pi session as pi would send it: TRUTH, pi rules 2, 3 and 6.

Pipeline: contents of the context -> here -> `core/integrity.py` -> a provider's writer. What pi itself leaves to the
provider (results without a call) the writer settles.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.core.messages import Call, Content, Part, Repairs, Text, Thinking

FAILED = {"aborted", "error"}


def repair(contents: list[Content], model: str) -> tuple[list[Content], Repairs]:
    """The contents as sent to `model`, the log's own where it is "": failed responses and blank ones dropped.

    Thinking of another model, or without a signature, goes as text.
    """
    repairs = Repairs()
    asked = model or next((found for c in reversed(contents) if (found := _model(c))), "")
    out: list[Content] = []
    for content, failed in zip(contents, _failed(contents), strict=True):
        if failed:
            repairs.leave_out("failed response")
            continue
        parts = [_sent(part, same=_model(content) == asked) for part in content.parts]
        if content.role == "assistant":
            parts = [part for part in parts if not (isinstance(part, Text) and not part.text.strip())]
            if not parts:
                repairs.leave_out("empty message")
                continue
        out.append(Content(content.role, parts, content.name, content.rows))
    return out, repairs


def handed(contents: list[Content]) -> tuple[list[Content | None], Repairs]:
    """The contents without failed responses and blank ones, each in its place; thinking stays thinking."""
    repairs = Repairs()
    found: list[Content | None] = []
    for content, failed in zip(contents, _failed(contents), strict=True):
        blank = content.role == "assistant" and all(
            isinstance(part, Text) and not part.text.strip() for part in content.parts
        )
        if failed or blank:
            repairs.leave_out("failed response" if failed else "empty message")
        found.append(None if failed or blank else content)
    return found, repairs


def _failed(contents: list[Content]) -> Iterator[bool]:
    """For each content whether it is a response that came to nothing; one cut at its length is, at the very end."""
    for place, content in enumerate(contents):
        stop = _field(content, "stopReason")
        yield stop in FAILED or (stop == "length" and place == len(contents) - 1)


def _sent(part: Part, *, same: bool) -> Part:
    match part:
        case Thinking(text=words, raw=raw):
            signature = raw.get("thinkingSignature")
            if not (same and isinstance(signature, str) and signature):
                return Text(words)
            return Thinking(words, {"type": "thinking", "thinking": words, "signature": signature})
        case Call(id=key, name=name, arguments=arguments):
            return Call(key, name, arguments)
    return part


def _field(content: Content, name: str) -> str:
    message = content.rows[0].get("message") if content.rows else None
    value = message.get(name) if isinstance(message, dict) else None
    return value if isinstance(value, str) else ""


def _model(content: Content) -> str:
    return _field(content, "model") if content.role == "assistant" else ""
