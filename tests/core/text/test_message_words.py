"""The words of a message, string by string."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.message_words import texts

TABLE: list[tuple[Part, list[tuple[str, str, str]]]] = [
    (Text("a"), [("text", "a", "")]),
    (Thinking("a", {"signature": "s"}), [("thinking", "a", "")]),
    (Call("c", "Bash", {"command": 'say "x"', "n": 5, "ok": True, "f": 0.5}),
     [("call", "Bash", ""), ("call", 'say "x"', "Bash command"), ("call", "5", "Bash n"), ("call", "0.5", "Bash f")]),
    (Call("c", "Bash", "no json"), [("call", "Bash", ""), ("call", "no json", "Bash")]),
    (Call("c", "E", {"edits": [{"old": "a", "new": "b"}]}), [("call", "E", ""), ("call", "a", "E old"),
                                                             ("call", "b", "E new")]),
    (Result("c", "a"), [("result", "a", "")]),
    (Result("c", [Text("a"), Image("image/png", "AAAA")]), [("result", "a", "")]),
    (Image("image/png", "AAAA"), []),
    (Image(url="http://x"), [("image", "http://x", "")]),
    (Other("document", {"type": "document", "title": "a"}), [("other", "a", "document title")]),
]  # fmt: skip


@pytest.mark.parametrize(("part", "expected"), TABLE)
def test_parts(part: Part, expected: list[tuple[str, str, str]]) -> None:
    """What was recorded, without labels, JSON, pictures or signatures."""
    assert [tuple(words) for words in texts(Content("user", [part]))] == expected


def test_attachments() -> None:
    """What its row holds, and not the words that are put around it."""
    row: dict[str, Any] = {"type": "attachment", "attachment": {"type": "nested_memory", "content": {"content": "a"}}}
    content = Content("user", [Text("Contents of x: a")], rows=[row])
    assert [words.text for words in texts(content)] == ["a"]
    native = Content("user", [Text("b")], rows=[{"type": "attachment", "role": "user", "content": "b"}])
    assert [words.text for words in texts(native)] == ["b"]


def test_depth() -> None:
    """Nesting is no matter."""
    value: Any = "a"
    for _ in range(5000):
        value = [value]
    assert [words.text for words in texts(Content("user", [Call("c", "n", value)]))] == ["n", "a"]
