"""Secrets in JSON values: all of them leave, what was JSON stays JSON, and calls stay paired with their results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.redactor import Redactor, located, secret_values
from tests.canary_sessions import canary

ONE, OTHER = canary(), canary()
OUT = "ghp_…[redacted 36]"
PASSWORD = f"hunter{22}"  # put together, because our own scan reads this file
_FORMS = (
    "{}", "say {}.", "export A='{}'\nmake", '{{"inner": "{}"}}', '[{{"a": ["{}", "b"]}}]', '{{"broken": "{}"',
    "a\\n{}\n",
    '{{"text": "{{\\"deep\\": \\"{}\\"}}"}}',
)  # fmt: skip
_texts = st.sampled_from([
    "", "plain words", "7f3", "{not json}", "{}", "ümläut\u2028",
    *(form.format(one) for form in _FORMS for one in (ONE, OTHER)),
])  # fmt: skip
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_texts | st.sampled_from(["id", "key"]), inner, max_size=4)
    ),
    max_leaves=20,
)


def _shape(value: Any) -> Any:
    """What is around the texts."""
    if isinstance(value, dict):
        return [_shape(one) for one in value.values()]
    return [_shape(one) for one in value] if isinstance(value, list) else type(value)


@given(_values)
def test_no_secret_is_left(value: Any) -> None:
    """In any text, key and text of JSON: none is left, what was found is what is taken out, and the rest stays."""
    redactor = Redactor()
    made = redactor.value(value)
    text = json.dumps(made)
    assert ONE[-12:] not in text and OTHER[-12:] not in text
    assert bool(redactor.count) == (made is not value) == bool(located(value)) == redactor.finds(value)
    assert len(made) == len(value) if isinstance(value, list) else True
    assert redactor.value(made) == made
    if not any(ONE in key or OTHER in key for key in _keys_of(value)):  # two keys may become one
        assert _shape(made) == _shape(value)


def _keys_of(value: Any) -> list[str]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [*(value if isinstance(value, dict) else ()), *(key for one in inner for key in _keys_of(one))]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"password": PASSWORD}, {"password": "…[redacted 8]"}),
        (["curl", "-u", "ada:hunter2", "http://x.test"], ["curl", "-u", "ada:…[redacted 7]", "http://x.test"]),
        (["--token", f"abcdef{123456}"], ["--token", "…[redacted 12]"]),
        ({"arguments": json.dumps({"password": PASSWORD})}, {"arguments": '{"password": "\\u2026[redacted 8]"}'}),
        ({ONE: 1, "b": 2}, {OUT: 1, "b": 2}),
        ({"data": "AAAA" * 60}, {"data": "AAAA" * 60}),
        ([1, 2.5, None, True, "words"], [1, 2.5, None, True, "words"]),
    ],
)
def test_values(value: Any, left: Any) -> None:
    """A key before a value and the words before an argument count; JSON in a text stays JSON."""
    made = Redactor().value(value)
    if isinstance(value, dict) and "arguments" in value:
        assert json.loads(made["arguments"]) == json.loads(left["arguments"])
    else:
        assert made == left


def test_ids_stay_paired() -> None:
    """Two ids with secrets in them become two names, the same ones in calls and results."""
    calls = [{"id": ONE, "name": "a"}, {"id": OTHER}, {"tool_use_id": ONE}, {"call_id": OTHER}, {"id": "c1"}]
    made = Redactor().value(calls)
    first, second, third, fourth, other = (next(iter(one.values())) for one in made)
    assert first == third != second == fourth and other == "c1" and {first, second} == {"redacted-1", "redacted-2"}


def test_known_values() -> None:
    """Values of variables are secret wherever they stand, also in base64."""
    known = secret_values({"SHOP_TOKEN": "plain-words", "HOME": "/home/ada", "A_KEY": "short"})
    assert known == ["plain-words"]
    redactor = Redactor(["A" * 20])
    assert redactor.value({"a": "A" * 400})["a"].startswith("…[redacted 20]")


def test_counted_once() -> None:
    """What is read twice is counted once."""
    redactor = Redactor()
    for _ in range(3):
        with redactor.counted_once("a message"):
            redactor.value([ONE, OTHER])
    with redactor.uncounted():
        redactor.value(ONE)
    assert redactor.count == 2


@pytest.mark.parametrize("line", [b'{"a":"%s","a":"b"}', b'{"a": {"b": "%s", "b": 1}, "c": 2}'])
def test_a_key_that_is_there_twice(line: bytes) -> None:
    """What it has first goes with the line's bytes: readers take the last value."""
    [made] = Redactor().lines([line % ONE.encode()])
    assert ONE.encode() not in made and json.loads(made) == json.loads(line % b"x")
    assert list(Redactor().lines([line % b"x"])) == [line % b"x"]


def test_lines() -> None:
    """A line without a secret keeps its bytes; one that is no JSON is read as text."""
    lines = [b'{"a":  1}', json.dumps({"a": ONE}).encode(), b"# " + ONE.encode(), b""]
    made = list(Redactor().lines(lines))
    assert made[0] == lines[0] and made[3] == b"" and json.loads(made[1]) == {"a": OUT}
    assert made[2].decode() == f"# {OUT}"


def test_located() -> None:
    """Where a secret is: in the arguments of a call, which are text, at its place in them."""
    value = {
        "role": "assistant",
        "calls": [{"arguments": json.dumps({"command": f"say {ONE}"})}],
        "password": PASSWORD,
    }
    assert [(one.path, one.masked, ONE.endswith(one.value)) for one in located(value)] == [
        (("calls", 0, "arguments", "command"), "ghp_…[36]", True), (("password",), "…[8]", False),
    ]  # fmt: skip


def test_a_deep_value() -> None:
    """Depth is no limit."""
    value: Any = ONE
    for _ in range(5000):
        value = [value]
    made = Redactor().value(value)
    for _ in range(5000):
        made = made[0]
    assert made == OUT


def test_long_texts_without_signs() -> None:
    """Only what stands under the key of a picture, a signature or encrypted reasoning is taken for base64: prose
    without commas, and a long token, are looked through. A mark that random letters happen to hold is none there.
    """
    prose = f"please use the key {ONE.replace('_', '_')} to deploy " + "the new version of the shop to all of them " * 9
    long = "ABSK" + "Qk1hY2hpbmVLZXk3" * 14
    redactor = Redactor()
    for value in ({"content": prose}, [prose], {"data": prose}, {"token": long}, {"access_token": "x7Kd" * 60}):
        assert redactor.finds(value), value
    blob = "gAAAAA" + "B9x_" * 60 + ONE + "-Qz" * 90
    for key in ("encrypted_content", "signature", "thinkingSignature", "data", "reasoning_opaque", "b64_json"):
        assert not redactor.finds({key: blob}) and redactor.value({key: blob}) == {key: blob}


def test_names_and_keys() -> None:
    """A name of a tool stays one word, the same one everywhere; keys that read alike keep their values; no Infinity."""
    value = {"calls": [{"name": f"tool_{ONE}"}, {"name": f"tool_{ONE}"}], "a": {ONE: 1, OTHER: 2}}
    made = Redactor().value(value)
    assert made["calls"] == [{"name": "redacted-1"}] * 2 and sorted(made["a"].values()) == [1, 2]
    text = Redactor().value({"arguments": f'{{"n": 1e400, "key": "{ONE}"}}'})["arguments"]
    assert json.loads(text, parse_constant=pytest.fail) == {"n": None, "key": OUT}
