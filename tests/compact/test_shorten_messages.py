"""Abridging: messages of any shape made shorter, as stubs that keep all but the words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from ctxkit.compact.shorten_messages import abridge
from ctxkit.core.messages import Call, Content, Image, Result, Text
from ctxkit.core.names import Name
from ctxkit.formats.chat import content_of
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import stubbed

LONG = "\n".join(f"line {n} says something of cart {n % 9}" for n in range(300))


def count(texts: Sequence[str]) -> list[int]:
    """Words and signs."""
    return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


def measure(_: Name, content: Content) -> float:
    """Twice as many, and a picture's."""
    pictures = sum(isinstance(part, Image) for part in content.parts)
    return 2 * count(["\n".join(words(content))])[0] + 1000 * pictures


def made(tokens: int, *records: dict[str, Any]) -> tuple[list[Content], dict[Name, Any]]:
    """The messages with what stands for them, and that."""
    contents = {n: content_of(record) for n, record in enumerate(records, start=1)}
    stubs = abridge(contents, tokens, measure, lambda name: 2.0, count)
    return [stubbed(content, stubs[n]) if n in stubs else content for n, content in contents.items()], stubs


USER = {"role": "user", "content": LONG}
CALL = {
    "role": "assistant", "content": "I write it.",
    "tool_calls": [{"id": "a", "type": "function", "function": {
        "name": "Write", "arguments": {"path": "a.py", "content": LONG, "edits": [{"new": LONG, "n": 3}]},
    }}],
}  # fmt: skip
RESULT = {"role": "tool", "tool_call_id": "a", "content": LONG}


@pytest.mark.parametrize(
    "records", [[USER], [CALL], [RESULT], [CALL, RESULT], [USER, {"role": "user", "content": "x"}]]
)
@pytest.mark.parametrize("tokens", [400, 1000])
def test_as_short_as_asked(records: list[dict[str, Any]], tokens: int) -> None:
    """Together, and hardly shorter."""
    contents, stubs = made(tokens, *records)
    size = sum(measure(1, content) for content in contents)
    assert stubs and 0.85 * tokens < size <= tokens


def test_calls_and_results_keep_their_shape() -> None:
    """Ids, names, keys, numbers and short texts are as they were."""
    contents, stubs = made(900, CALL, RESULT)
    text, call = contents[0].parts
    assert isinstance(text, Text) and text.text == "I write it." and isinstance(call, Call)
    assert (call.id, call.name, call.arguments["path"], call.arguments["edits"][0]["n"]) == ("a", "Write", "a.py", 3)
    assert "[shortened: " in call.arguments["content"] and "[shortened: " in call.arguments["edits"][0]["new"]
    [result] = contents[1].parts
    assert isinstance(result, Result) and result.id == "a" and set(stubs) == {1, 2}


def test_pictures_stay_or_are_said() -> None:
    """Those of a person stay; those in a result that is shortened are named."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    [user], _ = made(1400, {"role": "user", "content": [{"type": "text", "text": LONG}, picture]})
    assert [type(part) for part in user.parts] == [Text, Image] and measure(1, user) <= 1400
    shown = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": LONG}, shown]}
    [content], _ = made(400, {"role": "user", "content": [result]})
    [part] = content.parts
    assert isinstance(part, Result) and str(part.content).endswith("[1 picture left out]")


def test_the_longest_first() -> None:
    """A text that is shorter than what the others are cut to stays whole."""
    _, stubs = made(1000, {"role": "user", "content": "short " * 40}, USER)
    assert list(stubs) == [2]


def test_a_few_tokens_hold_the_beginning() -> None:
    """There is no room to say how much is left out, so a mark alone says that something is."""
    assert made(10, USER)[1] == {1: "line 0 […]"}


def test_what_cannot_be_so_short() -> None:
    """Nothing is made of it."""
    assert made(4, USER)[1] == {} and made(10**6, USER)[1] == {}
    assert made(3, {"role": "assistant", "content": "a b c d e f"})[1] == {}
