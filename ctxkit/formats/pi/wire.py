"""A context of a pi session as pi would send it: agents, pi 2, 3 and 6.

Pipeline: contents of the context -> here -> `core/integrity.py` -> a provider's writer, which repairs what pi itself
leaves to the provider (results without a call).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Sequence

from ctxkit.core.messages import Call, Content, Image, Part, Repairs, Result, Text, Thinking
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.formats.chat_parts import REASONING_KEYS

FAILED = ("aborted", "error")
ROLES = {
    "", "user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary",
    "compactionSummary",
}  # fmt: skip
"""Roles of messages that are sent; "": not a message of pi's own."""
FIELDS = frozenset(key for key, kind in REASONING_KEYS.items() if kind is str)
"""Signatures that are none: the keys of the messages that held the thinking."""
PICTURE = "(see attached image)"
"""pi's text for a result without words."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


def repair(contents: Sequence[Content], model: str, *, words: bool = False) -> tuple[Sequence[Content], Repairs]:
    """The contents as sent to `model` ("": the log's own), without failed and blank responses.

    Thinking of another model, or without a signature, becomes text, as pi sends it; `words`: it stays thinking,
    unsigned. That of a message of ours (an edit's), of which nobody knows the model, is no text either. Ids of calls
    of another model are changed to letters that every provider takes. A result of only pictures gets a text. Of each
    content, only its place is kept, and which of its results answer calls with changed ids.
    """
    repairs = Repairs()
    asked = next((source for c in reversed(contents) if (source := _source(c))[-1]), ("", "", ""))
    going = array("q")
    odd: set[str] = set()
    answers: dict[int, frozenset[int]] = {}

    def is_asked(content: Content) -> bool:
        source = _source(content)
        return source[-1] == model if model else source == asked

    def parts_of(content: Content, renamed: Container[int]) -> list[Part]:
        same, own = is_asked(content), bool(content.rows)
        known = (part for part in enumerate(content.parts) if own or same or words or not isinstance(part[1], Thinking))
        sent = (_sent(part, same=same, renamed=k in renamed, unsigned=words) for k, part in known)
        return [part for part in sent if part is not None]

    for place, content in enumerate(contents):
        if _is_failed(content, last=place == len(contents) - 1):
            repairs.leave_out("failed response")
            continue
        if _field(content, "role") == "system" and (not content.parts or not going):
            going.extend([place] * bool(content.parts))  # since 1.6.0 the first row is the system prompt
            continue
        if _field(content, "role") not in ROLES:
            repairs.leave_out("message of a role that pi does not send")
            continue
        parts = parts_of(content, renamed := _renamed(content, odd, same=is_asked(content)))
        if len(parts) < len(content.parts):
            what = "thinking of another model" if content.rows else "thinking of an edited message"
            repairs.leave_out(what, len(content.parts) - len(parts))
        if content.role == "assistant" and not _without_blank(parts):
            repairs.leave_out("empty message")
            continue
        if renamed:
            answers[place] = renamed
        going.append(place)

    def made(at: int) -> Content:
        place = going[at]
        content = contents[place]
        parts = parts_of(content, answers.get(place, ()))
        return Content(
            content.role, _without_blank(parts) if content.role == "assistant" else parts, content.name, content.rows
        )

    return LazySequence(len(going), made), repairs


def portable(contents: Sequence[Content]) -> tuple[Sequence[Content | None], Repairs]:
    """The contents without failed and blank responses, each in its place; thinking stays thinking."""
    repairs = Repairs()
    out: set[int] = set()
    for place, content in enumerate(contents):
        failed = _is_failed(content, last=place == len(contents) - 1)
        if failed or (content.role == "assistant" and not _without_blank(content.parts)):
            repairs.leave_out("failed response" if failed else "empty message")
            out.add(place)
    return LazySequence(len(contents), lambda place: None if place in out else contents[place]), repairs


def _is_failed(content: Content, *, last: bool) -> bool:
    """Whether a content is a failed response; one cut at its length counts at the very end only."""
    stop = _field(content, "stopReason")
    return stop in FAILED or (stop == "length" and last)


def _without_blank(parts: list[Part]) -> list[Part]:
    """The parts without blank texts."""
    return [part for part in parts if not (isinstance(part, Text) and not part.text.strip())]


def _renamed(content: Content, odd: set[str], *, same: bool) -> frozenset[int]:
    """The indexes of results whose calls get changed ids; `odd`: all such ids so far."""
    found = []
    for k, part in enumerate(content.parts):
        if isinstance(part, Call):
            (odd.discard if same or _plain(part.id) == part.id else odd.add)(part.id)
        elif isinstance(part, Result) and part.id in odd:
            found.append(k)
    return frozenset(found)


def _plain(key: str) -> str:
    """A call id in letters that every provider takes."""
    return _ODD.sub("_", key)[:_LONGEST]


def _sent(part: Part, *, same: bool, renamed: bool, unsigned: bool) -> Part | None:
    """A part as pi sends it; None for what only its own model takes.

    `renamed`: it answers a call with a changed id; `unsigned`: thinking without a signature stays thinking. For a chat
    completion's model pi notes the key of the message as the signature.
    """
    match part:
        case Thinking(text=words, raw=raw):
            signature = raw.get("thinkingSignature")
            signed = same and isinstance(signature, str) and bool(signature)
            if raw.get("redacted") is True:
                return Thinking("", {"type": "redacted_thinking", "data": signature}) if signed else None
            if signed and signature in FIELDS:
                return Thinking(words, {signature: words})
            if not signed:
                return Thinking(words, {}) if unsigned and words.strip() else Text(words)
            return Thinking(words, {"type": "thinking", "thinking": words, "signature": signature})
        case Call(id=key, name=name, arguments=arguments):
            return Call(key if same else _plain(key), name, arguments)
        case Result(id=key, content=inner):
            seen = isinstance(inner, str) or not any(isinstance(one, Image) for one in inner)
            if not seen and not any(isinstance(one, Text) for one in inner):
                part = Result(key, [Text(PICTURE), *inner], part.is_error, part.raw)
            return Result(_plain(key), part.content, part.is_error, part.raw) if renamed else part
    return part


def _field(content: Content, name: str) -> str:
    message = content.rows[0].get("message") if content.rows else None
    value = message.get(name) if isinstance(message, dict) else None
    return value if isinstance(value, str) else ""


def _source(content: Content) -> tuple[str, str, str]:
    """Provider, API and model of a response; empty for anything else."""
    if content.role != "assistant":
        return "", "", ""
    return _field(content, "provider"), _field(content, "api"), _field(content, "model")
