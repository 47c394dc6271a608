"""Messages of any shape made shorter, as stubs that keep all but the words; and results that are masked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Result, Text, Thinking
from ctxkit.cut.shorten.shorten import abridge, masked
from ctxkit.formats.chat import content_of
from ctxkit.formats.chat_lines import lines
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
    assert made(12, USER)[1] == {1: "line 0 says […]"}


def test_what_cannot_be_so_short() -> None:
    """Nothing is made of it."""
    assert made(10, USER)[1] == {} and made(10**6, USER)[1] == {}
    assert made(3, {"role": "assistant", "content": "a b c d e f"})[1] == {}


THOUGHT = "\n".join(f"I think of {n} and of what comes then" for n in range(40))


def _thinks(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "reasoning_content": THOUGHT, "content": text, **more}


CALLS: list[Any] = [{"id": "b", "type": "function", "function": {"name": "Read", "arguments": {"path": "a.py"}}}]


def test_thinking_goes_first_the_oldest_first() -> None:
    """Words stay as long as thinking is enough; of the last that goes, as much as there is room for is kept."""
    records = [_thinks("One."), {"role": "user", "content": "And?"}, _thinks("Two."), _thinks("Three.")]
    whole = sum(measure(1, content_of(record)) for record in records)
    each = 2 * count([THOUGHT])[0]
    contents, stubs = made(int(whole - each - 100), *records)
    assert [part.text for part in contents[0].parts if isinstance(part, Text)] == ["One."] and len(
        contents[0].parts
    ) == 1
    thought, text = contents[2].parts
    assert isinstance(thought, Thinking) and isinstance(text, Text) and text.text == "Two."
    assert 0 < count([thought.text])[0] < count([THOUGHT])[0] and thought.raw == {"reasoning_content": thought.text}
    assert set(stubs) == {1, 3}
    [line] = lines([contents[2]])  # as it is sent, and read again: the key is the provider's
    assert line["reasoning_content"] == thought.text and line["content"] == "Two."


def test_thinking_beside_a_call_keeps_its_beginning() -> None:
    """Providers refuse a call of a thinking model without any (HTTP 400 of DeepSeek's); the call stays as it is."""
    records = [_thinks("", tool_calls=CALLS), {"role": "tool", "tool_call_id": "b", "content": "ok"}, _thinks("Done.")]
    contents, _ = made(60, *records)
    thought, call = contents[0].parts
    assert isinstance(thought, Thinking) and thought.text == "I think o […]" and isinstance(call, Call)
    assert (call.id, call.arguments) == ("b", {"path": "a.py"})
    [line] = lines([contents[0]])
    assert line["reasoning_content"] == "I think o […]" and line["tool_calls"][0]["id"] == "b"


@pytest.mark.parametrize("more", [{"signature": "c2ln"}, {"id": "rs_1"}, {"encrypted_content": "eA=="}])
def test_bound_thinking_goes_whole_or_not_at_all(more: dict[str, str]) -> None:
    """What is signed, or has an id, says nothing once a word of it is another; beside a call it stays."""
    block = {"type": "thinking", "thinking": THOUGHT, **more}
    says = {"role": "assistant", "content": [block, {"type": "text", "text": "One."}]}
    contents, _ = made(2 * count([THOUGHT])[0], says, USER)
    assert contents[0].parts == [Text("One.")]
    contents, stubs = made(2000, {**says, "tool_calls": CALLS}, USER)
    assert set(stubs) == {2} and isinstance(contents[0].parts[0], Thinking) and contents[0].parts[0].text == THOUGHT


def test_short_texts_fill_what_they_may_have() -> None:
    """Where a mark takes as much as some words each length is tried: a larger room never leaves less."""
    records = [
        {"role": "user", "content": "Fix the total of the cart, please."},
        {"role": "user", "content": "Why so?"},
    ]
    sizes = []
    for tokens in range(20, 60):
        contents, _ = made(tokens, *records)
        sizes.append(sum(measure(1, content) for content in contents))
        assert sizes[-1] <= tokens or sizes[-1] == sum(measure(1, content_of(record)) for record in records)
    short = [size for size in sizes if size <= 40]
    assert short == sorted(short)


@pytest.mark.parametrize(
    ("words", "tool", "text", "pictures", "failed"),
    [
        ("[Read: 2 lines left out]", "Read", "a\nb", 0, False),
        ("[Read: 2 lines left out]", "Read", "a\nb\n", 0, False),
        ("[Bash failed: 1 line left out]", "Bash", "no", 0, True),
        ("[result: 0 lines left out]", "", "", 0, False),
        ("[shot: 1 picture left out]", "shot", "", 1, False),
        ("[shot: 1 line and 2 pictures left out]", "shot", "x", 2, False),
        ("[Read: 1,200 lines left out]", "Read", "x\n" * 1200, 0, False),
    ],
)
def test_words(words: str, tool: str, text: str, pictures: int, failed: bool) -> None:
    """Which tool, how much there was, and whether it had failed."""
    assert masked(tool, text, pictures, failed=failed) == words
