"""One small clean session in every format, said in the same words, and what a log tells to compare it by.

Every one holds two exchanges with a tool call each; the second question is what damage strikes at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ctxkit import Log
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from tests.cli.runner import SMALL
from tests.formats.claude_code import logs as claude_code
from tests.formats.codex import logs as codex
from tests.formats.copilot_cli import logs as copilot_cli
from tests.formats.gemini_cli import logs as gemini_cli
from tests.formats.opencode import logs as opencode
from tests.formats.pi import logs as pi

STRUCK = "second question"
"""Words of the message that damage strikes: they stand in one record of each session, and in no other place."""
LAST = "last answer"
"""Words of the last record."""
SAID = ("first question", "it prints", STRUCK, "one file", LAST)


class Session(NamedTuple):
    """A clean session: the format that it is told as, what a program would call it, its bytes."""

    format: str
    name: str
    clean: bytes

    @property
    def lines(self) -> list[bytes]:
        """Its lines, without their ends."""
        return self.clean.split(b"\n")[:-1]


def _claude_code() -> bytes:
    made = [
        claude_code.user("u1", None, SAID[0], 1),
        claude_code.assistant("a1", "u1", claude_code.call("c1"), 2),
        claude_code.user("r1", "a1", [claude_code.result("c1", "print(1)")], 3),
        claude_code.assistant("a2", "r1", SAID[1], 4),
        claude_code.user("u2", "a2", SAID[2], 5),
        claude_code.assistant("a3", "u2", claude_code.call("c2"), 6),
        claude_code.user("r2", "a3", [claude_code.result("c2", "a.py")], 7),
        claude_code.assistant("a4", "r2", SAID[3], 8),
        claude_code.user("u3", "a4", "third question", 9),
        claude_code.assistant("a5", "u3", SAID[4], 10),
    ]
    return claude_code.log(*made)


def anthropic() -> dict[str, Any]:
    """A request body of Anthropic's."""
    body = [
        {"role": "user", "content": SAID[0]},
        {"role": "assistant", "content": [claude_code.call("c1")]},
        {"role": "user", "content": [claude_code.result("c1", "print(1)")]},
        {"role": "assistant", "content": [{"type": "text", "text": SAID[1]}]},
        {"role": "user", "content": [{"type": "text", "text": SAID[2]}]},
        {"role": "assistant", "content": SAID[3]},
        {"role": "user", "content": "third question"},
        {"role": "assistant", "content": SAID[4]},
    ]
    return {"model": "claude-opus-4-6", "system": "be brief", "messages": body}


def items() -> list[dict[str, Any]]:
    """Items of Responses."""
    return [codex.item(word.strip()) for word in _CODEX.split("|") if word.strip().partition(":")[0] in _ITEMS]


def _contents() -> list[dict[str, Any]]:
    """Contents of Gemini's."""
    call, answer = {"name": "run", "args": {}}, {"name": "run", "response": {"output": "print(1)"}}
    return [
        {"role": "user", "parts": [{"text": SAID[0]}]},
        {"role": "model", "parts": [{"functionCall": call}]},
        {"role": "user", "parts": [{"functionResponse": answer}]},
        {"role": "model", "parts": [{"text": SAID[1]}]},
        {"role": "user", "parts": [{"text": SAID[2]}]},
        {"role": "model", "parts": [{"text": SAID[3]}]},
        {"role": "user", "parts": [{"text": "third question"}]},
        {"role": "model", "parts": [{"text": SAID[4]}]},
    ]


def _gemini_document() -> dict[str, Any]:
    head, *rows = gemini_cli.rows(_GEMINI)
    return {**head, "messages": rows}


_CODEX = (
    f"meta | model:gpt | user:{SAID[0]} | say:looking | call:c1 | out:c1 | say:{SAID[1]} | user:{SAID[2]} | call:c2"
    f" | out:c2 | say:{SAID[3]} | user:third question | say:{SAID[4]}"
)
_PI = (
    f"user:{SAID[0]} | call:c1 | result:c1 | assistant:{SAID[1]} | user:{SAID[2]} | call:c2 | result:c2"
    f" | assistant:{SAID[3]} | user:third question | assistant:{SAID[4]}"
)
_GEMINI = (
    f"user:{SAID[0]} | done:looking+c1 | gemini:{SAID[1]} | user:{SAID[2]} | done:running+c2 | gemini:{SAID[3]}"
    f" | user:third question | gemini:{SAID[4]}"
)
_COPILOT = (
    f"system:be brief | user:{SAID[0]} | say:looking+c1 | out:c1 | say:{SAID[1]} | note:{SAID[2]} | say:running+c2"
    f" | out:c2 | say:{SAID[3]} | user:third question | say:{SAID[4]}"
)
_OPENCODE = (
    f"user:{SAID[0]} | say:looking+c1 | say:{SAID[1]} | user:{SAID[2]} | say:running+c2 | say:{SAID[3]}"
    f" | user:third question | say:{SAID[4]}"
)

_ITEMS = ("user", "say", "call", "out")

LINES = {
    "chat": Session("chat", "chat.jsonl", SMALL),
    "claude-code": Session("claude-code", "5e551011-0000-4000-8000-000000000000.jsonl", _claude_code()),
    "codex": Session("codex", "rollout-2026-02-01T10-00-00-s1.jsonl", codex.raw(_CODEX)),
    "pi": Session("pi", "2026-02-01T10-00-00_s1.jsonl", pi.raw(_PI)),
    "gemini-cli": Session("gemini-cli", "session-s1.jsonl", gemini_cli.raw(_GEMINI)),
    "copilot-cli": Session("copilot-cli", "events.jsonl", copilot_cli.raw(_COPILOT)),
    "responses": Session("responses", "items.jsonl", b"".join(json.dumps(one).encode() + b"\n" for one in items())),
}
"""Sessions of a record a line."""

DOCUMENTS = {
    "gemini-cli.json": Session("gemini-cli", "session-s1.json", json.dumps(_gemini_document(), indent=2).encode()),
    "opencode": Session("opencode", "ses_1.json", json.dumps(opencode.export(_OPENCODE), indent=2).encode()),
    "anthropic": Session("messages", "request.json", json.dumps(anthropic()).encode()),
    "responses.json": Session(
        "responses", "request.json", json.dumps({"model": "gpt-5", "instructions": "i", "input": items()}).encode()
    ),
    "gemini": Session("gemini", "request.json", json.dumps({"contents": _contents()}, indent=1).encode()),
    "array": Session("messages", "array.json", b"[" + b",\n".join(SMALL.split(b"\n")[:-1]) + b"]\n"),
}
"""Sessions that are one JSON text."""

ALL = LINES | DOCUMENTS


def told(log: Log) -> list[tuple[str, str]]:
    """What all messages of a log tell, in or out of the context: a kind and the words, in order."""
    return [one for message in log.messages for one in parts(log.content(message.n))]


def sent(log: Log) -> list[tuple[str, str]]:
    """What the context tells."""
    return [one for entry in log.entries() for one in parts(log.full(entry))]


def parts(content: Content) -> Iterable[tuple[str, str]]:
    """Kind and words of each part."""
    for part in content.parts:
        yield part.__struct_config__.tag if isinstance(part, msgspec.Struct) else "", _words(part)  # type: ignore[misc]


def _words(part: Part) -> str:
    match part:
        case Text(text=words) | Thinking(text=words):
            return words
        case Call(id=identity, name=name):
            return f"{identity} {name}"
        case Result(id=identity, content=str(words)):
            return f"{identity} {words}"
        case Result(id=identity, content=list(inner)):
            return f"{identity} {' '.join(_words(one) for one in inner)}"
        case Image(data=data, url=url):
            return data or url
    return str(part)
