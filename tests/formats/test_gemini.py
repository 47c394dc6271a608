"""A context goes out as a body that Gemini takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import NothingToSend
from ctxkit.formats import gemini
from ctxkit.formats.chat import content_of
from tests.formats.strategies import CONTENTS
from tests.formats.writing import write
from tests.validators.gemini_rules import problems

DUMMY = {"thoughtSignature": "skip_thought_signature_validator"}
CALL = Call("A", "f", {"x": 1})
HI = {"role": "user", "parts": [{"text": "hi"}]}


def one(role: str, *parts: Part | str) -> Content:
    return Content(role, [Text(part) if isinstance(part, str) else part for part in parts])


def called(identity: str = "A", name: str = "f", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"id": identity, "name": name, "args": args}}


def told(output: str, identity: str = "A", name: str = "f", key: str = "output") -> dict[str, Any]:
    return {"functionResponse": {"id": identity, "name": name, "response": {key: output}}}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


PNG = Image("image/png", "iVBORw0KGgo=")
BLOB = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}

CASES: dict[str, tuple[list[Content], list[dict[str, Any]], dict[str, int]]] = {
    # what it is: (contents, contents sent, left out)
    "roles": (
        [one("user", "hi"), one("ai", "a"), one("exit", "e"), one("developer", "d")],
        [HI, model({"text": "a"}), user({"text": "e"}, {"text": "d"})],
        {},
    ),
    "a step, and words after its results": (
        [one("user", "hi"), one("assistant", "so", CALL), one("user", Result("A", "r"), "go")],
        [HI, model({"text": "so"}, called(x=1)), user(told("r")), user({"text": "go"})],
        {},
    ),
    "answers in the order of the calls": (
        [one("user", "hi"), one("assistant", CALL, Call("B", "g", {})), one("tool", Result("B", "b")),
         one("tool", Result("A", "a")), one("user", "go")],
        [HI, model(called(x=1), called("B", "g")), user(told("a"), told("b", "B", "g")), user({"text": "go"})],
        {},
    ),
    "an error": (
        [one("user", "hi"), one("assistant", CALL), one("tool", Result("A", "no", True)), one("user", "go")],
        [HI, model(called(x=1)), user(told("no", key="error")), user({"text": "go"})],
        {},
    ),
    "a picture in a result": (
        [one("user", "hi"), one("assistant", CALL), one("tool", Result("A", [Text("r"), PNG])), one("user", "go")],
        [HI, model(called(x=1)),
         user({"functionResponse": told("r")["functionResponse"] | {"parts": [BLOB]}}), user({"text": "go"})],
        {},
    ),
    "arguments and names that are none": (
        [one("user", "hi"), one("assistant", Call("A", "1.f", "{broken")), one("tool", Result("A", "")),
         one("user", "go")],
        [HI, model(called(name="_1_f", _raw="{broken")), user(told("", name="_1_f")), user({"text": "go"})],
        {"character in a tool's name": 1},
    ),
    "thinking of others": (
        [one("user", "hi"), one("assistant", Thinking("x", {"type": "thinking", "signature": "AA=="}), "a")],
        [HI, model({"text": "a"})],
        {"thinking": 1},
    ),
    "thinking of its own": (
        [one("user", "hi"),
         one("model", Thinking("x", {"text": "x", "thought": True, "thoughtSignature": "QQ=="}), "a")],
        [HI, model({"text": "x", "thought": True, "thoughtSignature": "QQ=="}, {"text": "a"})],
        {},
    ),
    "nothing but blanks": (
        [one("user", "hi"), one("assistant", " "), one("user", "go")],
        [user({"text": "hi"}, {"text": "go"})],
        {"blank text": 1, "empty message": 1},
    ),
    "media": (
        [one("user", PNG, Image("image/gif", "R0lGODlh"), Image(url="https://x/y.jpg"), Image(url="https://x/y"),
             Other("input_audio", {"input_audio": {"format": "wav", "data": "AAAA"}}), Other("odd", {}))],
        [user(BLOB, {"text": "[image]"}, {"fileData": {"fileUri": "https://x/y.jpg", "mimeType": "image/jpeg"}},
              {"text": "[image]"}, {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}})],
        {"image": 2, "odd": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("contents", "sent", "left_out"), CASES.values(), ids=CASES.keys())
def test_contents(contents: list[Content], sent: list[dict[str, Any]], left_out: dict[str, int]) -> None:
    """What is sent, and what is counted as left out."""
    body, repairs = write(gemini, contents)
    assert body == {"contents": sent}
    assert (repairs.left_out, repairs.added) == (left_out, {})


def test_system() -> None:
    """The preamble is the system instruction; a picture in it is counted."""
    body, repairs = write(gemini, [one("system", "s", PNG), one("developer", "d"), one("user", "hi")])
    assert body == {"systemInstruction": {"parts": [{"text": "s"}, {"text": "d"}]}, "contents": [HI]}
    assert repairs.left_out == {"image": 1}


def test_the_user_first() -> None:
    """Where the model begins, an empty message of the user's goes before it, counted."""
    body, repairs = write(gemini, [one("assistant", "a")])
    assert body["contents"] == [user({"text": "(no content)"}), model({"text": "a"})]
    assert repairs.added == {"first message of the user": 1}


STEPS = [
    one("user", "hi"), one("assistant", CALL), one("tool", Result("A", "a")), one("user", "go"),
    one("assistant", Call("B", "f", {}), Call("C", "f", {})), one("tool", Result("B", "b")),
    one("tool", Result("C", "c")),
]  # fmt: skip


def test_calls_of_the_current_turn_have_a_signature() -> None:
    """The first of each step, where none came with it, gets the one that the documentation gives; counted."""
    body, repairs = write(gemini, STEPS)
    calls = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
    assert calls == [called(x=1), called("B") | DUMMY, called("C")]
    assert repairs.added == {"placeholder for a missing thought signature": 1}
    assert problems(body) == []


def test_older_models() -> None:
    """They ask for no signature, and take no picture in a response."""
    body, repairs = write(gemini, [*STEPS[:2], one("tool", Result("A", [PNG]))], model="models/gemini-2.5-pro")
    assert body["contents"][1:] == [model(called(x=1)), user(told("[image]"))]
    assert (repairs.left_out, repairs.added) == ({"image": 1}, {})
    assert problems(body, model="gemini-2.5-pro") == []


@pytest.mark.parametrize(
    "raw",
    [
        {"extra_content": {"google": {"thought_signature": "Q-_/+w=="}}},
        {"thoughtSignature": "Q-_/+w=="},
        {"thought_signature": "Q-_/+w=="},
    ],
)
def test_signatures_stay(raw: dict[str, Any]) -> None:
    """Byte for byte, on the call that they came with."""
    call = {"id": "A", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    record = {"role": "assistant", "content": None, "tool_calls": [call | raw, {**call, "id": "B"}]}
    answers = [one("tool", Result(identity, "")) for identity in "AB"]
    body, _ = write(gemini, [one("user", "hi"), content_of(record), *answers])
    assert body["contents"][1]["parts"] == [called() | {"thoughtSignature": "Q-_/+w=="}, called("B")]


def test_a_signature_that_is_none() -> None:
    """Left out, counted."""
    call = Call("A", "f", {}, {"thoughtSignature": "é"})
    _, repairs = write(
        gemini, [one("user", "hi"), one("assistant", call), one("tool", Result("A", "")), one("user", "go")]
    )
    assert repairs.left_out == {"thought signature that is none": 1}


@pytest.mark.parametrize("contents", [[], [one("system", "s")], [one("user", "")]])
def test_nothing_to_send(contents: list[Content]) -> None:
    """A system instruction alone is no request."""
    with pytest.raises(NothingToSend):
        write(gemini, contents)


@given(CONTENTS)
def test_every_body_is_valid(contents: list[Content]) -> None:
    """However broken the pairs, ids, names, arguments and words are."""
    for name in ("gemini-3-pro-preview", "gemini-2.5-pro"):
        try:
            body, _ = write(gemini, contents, model=name)
        except NothingToSend:
            return
        assert problems(body, model=name, unasked=True) == []
        assert loads(dumps(body).encode()) == body
