"""The Gemini validator finds nothing in a sound body, and each broken one for its own reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators.gemini_rules import problems

BLOB = {"mimeType": "image/png", "data": "AAAA"}
SOUND: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "S"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": BLOB}]},
        {
            "role": "model",
            "parts": [
                {"text": "why", "thought": True},
                {"text": "", "thoughtSignature": "QUI="},
                {"functionCall": {"id": "A", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "QUJD"},
                {"functionCall": {"id": "B", "name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "A", "name": "read", "response": {"output": "a"}}},
                {
                    "functionResponse": {
                        "id": "B", "name": "look", "response": {"error": "b"}, "parts": [{"inlineData": BLOB}]
                    }
                },
            ],
        },
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "user", "parts": [{"fileData": {"fileUri": "https://x/y.png", "mimeType": "image/png"}}]},
    ],
}  # fmt: skip

Change = Callable[[dict[str, Any]], Any]


def at(n: int, k: int, **values: Any) -> Change:
    """Part k of content n with further keys."""
    return lambda body: body["contents"][n]["parts"][k].update(values)


def inside(n: int, k: int, key: str, **values: Any) -> Change:
    """What part k of content n holds under `key`, with further keys."""
    return lambda body: body["contents"][n]["parts"][k][key].update(values)


def parts(n: int, *made: Any) -> Change:
    """Content n with these parts."""
    return lambda body: body["contents"][n].update(parts=list(made))


def insert(n: int, role: str, *made: Any) -> Change:
    """A content before content n."""
    return lambda body: body["contents"].insert(n, {"role": role, "parts": list(made)})


def gone(n: int, k: int | None = None) -> Change:
    """Without content n, or part k of it."""
    return lambda body: body["contents"].pop(n) if k is None else body["contents"][n]["parts"].pop(k)


def unsigned(body: dict[str, Any]) -> None:
    """The words are the user's newest at the start, and the call of that turn has no signature."""
    del body["contents"][4:], body["contents"][3], body["contents"][1]["parts"][2]["thoughtSignature"]


TEXT = {"text": "x"}
BROKEN: dict[str, tuple[Change, str]] = {
    "no contents": (lambda b: b.update(contents=[]), "no contents"),
    "not UTF-8": (at(0, 0, text="\ud800"), "not JSON in UTF-8"),
    "the model in the body": (lambda b: b.update(model="m"), "unknown key model"),
    "no words in the system": (lambda b: b["systemInstruction"].update(parts=[]), "no parts"),
    "a picture in the system": (lambda b: b["systemInstruction"].update(parts=[{"inlineData": BLOB}]), "system"),
    "system as text": (lambda b: b.update(systemInstruction="S"), "not a content"),
    "unknown role": (lambda b: b["contents"][3].update(role="assistant"), "valid role"),
    "no parts": (parts(3), "parts must not be empty"),
    "a key beside role and parts": (lambda b: b["contents"][3].update(ts=1), "nothing else"),
    "empty text": (at(3, 0, text=""), "empty text"),
    "blank text": (at(3, 0, text=" \n"), "empty text"),
    "no data in a part": (parts(3, {}), "required oneof"),
    "two kinds of data": (at(0, 0, inlineData=BLOB), "required oneof"),
    "unknown key in a part": (at(0, 0, cache=1), "unknown key cache"),
    "a call of the user's": (
        at(0, 0, text="x") and parts(4, {"functionCall": {"name": "f", "args": {}}}),
        "cannot stand",
    ),
    "a response of the model's": (parts(3, {"functionResponse": {"name": "f", "response": {}}}), "cannot stand"),
    "a thought of the user's": (at(0, 0, thought=True), "thought in a content of user"),
    "a thought that is text": (at(1, 0, thought="yes"), "not a boolean"),
    "a signature that is no bytes": (at(1, 2, thoughtSignature="é"), "not base64"),
    "an empty signature": (at(1, 2, thoughtSignature=""), "not base64"),
    "media type": (inside(0, 1, "inlineData", mimeType="image/gif"), "MIME type 'image/gif'"),
    "bytes that are none": (inside(0, 1, "inlineData", data="?"), "not base64"),
    "no bytes": (inside(0, 1, "inlineData", data=""), "not base64"),
    "a file without a type": (parts(4, {"fileData": {"fileUri": "https://x"}}), "fileData without"),
    "a file of this machine": (inside(4, 0, "fileData", fileUri="file:///x"), "fileUri"),
    "name with a dot": (inside(1, 2, "functionCall", name="a.b"), "function name 'a.b'"),
    "name with a digit in front": (inside(1, 2, "functionCall", name="1a"), "function name '1a'"),
    "long name": (inside(1, 2, "functionCall", name="a" * 65), "function name"),
    "arguments that are a list": (inside(1, 2, "functionCall", args=[]), "not an object"),
    "arguments missing": (lambda b: b["contents"][1]["parts"][2]["functionCall"].pop("args"), "without args"),
    "a response that is text": (inside(2, 0, "functionResponse", response="a"), "not an object"),
    "a response with an unknown key": (inside(2, 0, "functionResponse", is_error=True), "unknown name is_error"),
    "empty parts of a response": (inside(2, 0, "functionResponse", parts=[]), "are empty"),
    "text among the parts of a response": (inside(2, 0, "functionResponse", parts=[TEXT]), "not inlineData"),
    "empty id": (inside(1, 2, "functionCall", id=""), "id ''"),
    "the model first": (gone(0), "first content"),
    "two of the model's": (insert(3, "model", TEXT), "two contents of model"),
    "two of the user's": (insert(1, "user", TEXT), "two contents of user"),
    "words among the responses": (lambda b: b["contents"][2]["parts"].append(TEXT), "something else beside"),
    "a response too few": (gone(2, 1), "1 function response parts for 2"),
    "a response too many": (gone(1, 3), "2 function response parts for 1"),
    "responses without calls": (gone(1), "immediately after a function call"),
    "words before the responses": (insert(2, "user", TEXT), "0 function response parts for 2"),
    "calls without responses": (gone(2), "0 function response parts for 2"),
    "calls at the end": (lambda b: b["contents"].__delitem__(slice(2, None)), "not answered"),
    "responses in a different order": (lambda b: b["contents"][2]["parts"].reverse(), "answers 'read'"),
    "another name": (inside(2, 0, "functionResponse", name="look"), "'look' answers 'read'"),
    "another id": (inside(2, 0, "functionResponse", id="Z"), "does not match"),
    "id twice": (inside(1, 3, "functionCall", id="A"), "'A' is used again"),
    "the model last": (gone(4), "end with a user role"),
    "an unsigned call of now": (unsigned, "missing a thought_signature"),
}


def test_a_sound_body_has_no_problems() -> None:
    """Or the tests below would show nothing; also where words follow the responses in a content of their own."""
    assert problems(SOUND) == []
    told = copy.deepcopy(SOUND)
    insert(3, "user", TEXT)(told)
    assert problems(told) == []


@pytest.mark.parametrize(("change", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_body_is_caught(change: Change, said: str) -> None:
    """One broken body per rule."""
    body = copy.deepcopy(SOUND)
    change(body)
    assert any(said in problem for problem in problems(body)), problems(body)


def test_what_depends_on_the_request() -> None:
    """Older models ask for no signature; a request to which the user's next message is added may end with the model."""
    body = copy.deepcopy(SOUND)
    unsigned(body)
    assert problems(body, model="gemini-2.5-pro") == []
    body = copy.deepcopy(SOUND)
    gone(4)(body)
    assert problems(body, unasked=True) == []
