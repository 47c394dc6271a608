"""A context of a pi session as pi would send it: TRUTH, pi rules 2, 3 and 6.

Pipeline: contents of the context -> here -> `core/integrity.py` -> a provider's writer. What pi itself leaves to the
provider (results without a call) the writer settles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxkit.core.messages import Call, Content, Image, Part, Repairs, Result, Text, Thinking

FAILED = {"aborted", "error"}
ROLES = {
    "", "user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary",
    "compactionSummary",
}  # fmt: skip
"""Roles of messages that are sent; what has none is no message of pi's own kind."""
PICTURE = "(see attached image)"
"""What pi says in a result that has no words."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


def repair(contents: list[Content], model: str) -> tuple[list[Content], Repairs]:
    """The contents as sent to `model`, the log's own where it is "": failed responses and blank ones dropped.

    Thinking of another model, or without a signature, goes as text; ids of another model's calls in letters that every
    provider takes. A result of nothing but pictures says so.
    """
    repairs = Repairs()
    asked = next((source for c in reversed(contents) if (source := _source(c))[-1]), ("", "", ""))
    ids: dict[str, str] = {}
    out: list[Content] = []
    for content, failed in zip(contents, _failed(contents), strict=True):
        if failed:
            repairs.leave_out("failed response")
            continue
        if _field(content, "role") not in ROLES:
            repairs.leave_out("message of a role that pi does not send")
            continue
        source = _source(content)
        same = source[-1] == model if model else source == asked
        parts = [sent for part in content.parts if (sent := _sent(part, ids, same=same)) is not None]
        if len(parts) < len(content.parts):
            repairs.leave_out("thinking of another model", len(content.parts) - len(parts))
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


def _sent(part: Part, ids: dict[str, str], *, same: bool) -> Part | None:
    """A part as pi sends it, None for what only its own model takes. `ids`: of calls, as they were and as they go."""
    match part:
        case Thinking(text=words, raw=raw):
            signature = raw.get("thinkingSignature")
            signed = same and isinstance(signature, str) and bool(signature)
            if raw.get("redacted") is True:
                return Thinking("", {"type": "redacted_thinking", "data": signature}) if signed else None
            if not signed:
                return Text(words)
            return Thinking(words, {"type": "thinking", "thinking": words, "signature": signature})
        case Call(id=key, name=name, arguments=arguments):
            ids[key] = key if same else _ODD.sub("_", key)[:_LONGEST]
            return Call(ids[key], name, arguments)
        case Result(id=key, content=inner):
            seen = isinstance(inner, str) or not any(isinstance(one, Image) for one in inner)
            if not seen and not any(isinstance(one, Text) for one in inner):
                part = Result(key, [Text(PICTURE), *inner], part.is_error, part.raw)
            return part if ids.get(key, key) == key else Result(ids[key], part.content, part.is_error, part.raw)
    return part


def _field(content: Content, name: str) -> str:
    message = content.rows[0].get("message") if content.rows else None
    value = message.get(name) if isinstance(message, dict) else None
    return value if isinstance(value, str) else ""


def _source(content: Content) -> tuple[str, str, str]:
    """Provider, API and model of a response; empty ones for anything else."""
    if content.role != "assistant":
        return "", "", ""
    return _field(content, "provider"), _field(content, "api"), _field(content, "model")
