"""The packages' types accept sound bodies and refuse broken ones: unknown keys, missing ones, and wrong values, at any
depth."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators import test_anthropic_rules, test_gemini_rules, test_openai_rules, test_responses_rules, typed

Check = Callable[[dict[str, Any]], list[str]]
SOUND: dict[str, tuple[Check, dict[str, Any]]] = {
    "anthropic": (typed.anthropic, test_anthropic_rules.SOUND),
    "openai": (typed.openai, test_openai_rules.SOUND),
    "responses": (typed.responses, test_responses_rules.SOUND),
    "gemini": (typed.gemini, test_gemini_rules.SOUND),
}
REFUSED = {
    "anthropic": (
        test_anthropic_rules.BROKEN,
        ["unknown key", "system of another kind", "image in the system", "key in a message", "null content",
         "block that is text", "unknown block", "missing key", "key in a block", "input as text", "no signature",
         "media type", "odd source", "result of another kind", "error that is no boolean",
         "search result with an image"],
    ),
    "openai": (
        test_openai_rules.BROKEN,
        ["unknown role", "missing key", "unknown key", "null content", "image of the assistant", "image in a result",
         "text part with keys", "image as text", "image detail", "call shape", "function shape",
         "arguments as an object"],
    ),
    "responses": (
        test_responses_rules.BROKEN,
        ["unknown item", "missing key", "key too many", "role", "content of another kind", "image detail", "summary",
         "encrypted content", "arguments as an object", "output"],
    ),
    "gemini": (
        test_gemini_rules.BROKEN,
        ["not UTF-8", "the model in the body", "system as text", "a key beside role and parts", "unknown key in a part",
         "a signature that is no bytes", "bytes that are none", "arguments that are a list", "a response that is text",
         "a response with an unknown key", "text among the parts of a response"],
    ),
}  # fmt: skip
"""Broken bodies of the rules' own tests that the types see too. Order, pairs and names are no matter of types."""


@pytest.mark.parametrize("name", SOUND)
def test_sound_bodies_are_accepted(name: str) -> None:
    """Or the refusals below would show nothing."""
    check, body = SOUND[name]
    assert check(body) == []


@pytest.mark.parametrize(("name", "broken"), [(name, one) for name, (_, known) in REFUSED.items() for one in known])
def test_broken_bodies_are_refused(name: str, broken: str) -> None:
    """Deep inside the lists too, where a check that is not forced would not look."""
    check, sound = SOUND[name]
    body = copy.deepcopy(sound)
    REFUSED[name][0][broken][0](body)
    assert check(body) != []
