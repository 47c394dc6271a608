"""The digest rows of the recorded Codex requests: how a message's parts are hashed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import canonical

Digest = tuple[str, str, str, str | None]
"""role, kind, sha256(key), sha256(content)."""


def rows(contents: list[Content]) -> Iterator[Digest]:
    """A digest row for each part."""
    for content in contents:
        for part in content.parts:
            yield _row(content.role, part)


def _row(role: str, part: Part) -> Digest:
    match part:
        case Text(text=words):
            return role, "text", sha(fold(words)), None
        case Thinking(text=words, raw=raw):
            return role, "thinking", sha(str(raw.get("encrypted_content") or "")), sha(fold(words))
        case Call(id=key, name=name, arguments=arguments):
            raw = part.raw or {}
            written = raw.get("arguments", raw.get("input"))
            body = written if isinstance(written, str) else canonical(arguments).decode("utf-8", "surrogatepass")
            return role, "tool_use", sha(key), sha(name + body)
        case Result(id=key, content=inner):
            return "user", "tool_result", sha(key), sha(fold(_words(inner)))
        case Image(data=pixels):
            return role, "image", sha(pixels), None
        case Other(kind=kind, raw=raw):
            known = {key: value for key, value in raw.items() if key != "metadata" and "passthrough" not in key}
            return role, kind, sha(canonical(known).decode("utf-8", "surrogatepass")), None


def _words(inner: str | list[Any]) -> str:
    return inner if isinstance(inner, str) else "\n".join(p.text for p in inner if isinstance(p, Text))


def fold(words: str) -> str:
    """Runs of white space as one space."""
    return re.sub(r"\s+", " ", words).strip()


def sha(words: str) -> str:
    """Hex digest."""
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
