"""What both request bodies share: ids, names, arguments, and text that an API takes."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.core.messages import Call, Content, Image, Repairs, Result, Text
from ctxkit.formats.bodies import (
    Ids,
    arguments,
    clean,
    count_lost_name,
    image_type,
    is_base64_text,
    is_url,
    signature_of,
    speaker,
    tool_name,
)
from tests.pictures import base64_of, gif, jpeg, png, webp


@given(
    st.lists(st.one_of(st.sampled_from(["A", "a:1", "", "A_2", "A_2_3", "x" * 60]), st.text(max_size=60))),
    st.booleans(),
)
@example(["A", "A_2", "A"], False)
@example(["A_2", "A"], False)
def test_ids_are_short_plain_and_unique(given_ids: list[str], numbered: bool) -> None:
    """Whatever a log uses; an answer gets the id of the newest call. Where it is asked for, none is another's copy."""
    ids = Ids(40, numbered=numbered)
    made = []
    for one in given_ids:
        made.append(ids.call(one))
        assert ids.answer(one) == made[-1]
    assert len(set(made)) == len(made)
    assert numbered or not {re.sub(r"_\d+$", "", one) for one in made if re.search(r"_\d+$", one)} & set(made)
    assert all(0 < len(one) <= 40 and one.replace("_", "a").replace("-", "a").isalnum() for one in made)


def test_a_good_id_stays() -> None:
    """So that a body can be compared with the log."""
    assert Ids(40).call("toolu_01-x") == "toolu_01-x"


@pytest.mark.parametrize(
    ("name", "sent", "counted"),
    [("read", "read", 0), ("a.b c", "a_b_c", 1), ("", "unnamed", 1), ("n" * 70, "n" * 64, 1)],
)
def test_tool_name(name: str, sent: str, counted: int) -> None:
    """A change is counted."""
    repairs = Repairs()
    assert tool_name(name, 64, repairs) == sent
    assert sum(repairs.left_out.values()) == counted


@pytest.mark.parametrize(
    ("written", "sent"),
    [({"x": 1}, {"x": 1}), (None, {}), (" ", {}), ("{x", {"_raw": "{x"}), ([1], {"_raw": [1]}), (0, {"_raw": 0})],
)
def test_arguments(written: Any, sent: dict[str, Any]) -> None:
    """Always an object, and nothing lost."""
    assert arguments(Call("A", "f", written)) == sent


def test_clean() -> None:
    """Lone surrogates and numbers that JSON lacks, keys too; sound values are not copied."""
    assert clean({"\ud800": ["a\udfff", math.inf, {"x": math.nan}, 1.5]}) == {
        "\ufffd": ["a\ufffd", None, {"x": None}, 1.5]
    }
    assert clean(["\ud800", math.nan], replace_surrogates=False) == ["\ud800", None]
    sound = {"x": ["é", 1]}
    assert clean(sound) is sound


@pytest.mark.parametrize(
    ("content", "side"),
    [
        (Content("ai", [Text("x")]), "assistant"),
        (Content("exit", [Text("x")]), "user"),
        (Content("developer", [Text("x")]), "system"),
        (Content("user", [Call("A", "f", {})]), "assistant"),
        (Content("system", [Result("A", "x")]), "user"),
    ],
)
def test_speaker(content: Content, side: str) -> None:
    """What a content holds goes before its role."""
    assert speaker(content) == side


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ({"extra_content": {"google": {"thought_signature": "S"}}}, "S"),
        ({"thoughtSignature": "S"}, "S"),
        ({"thought_signature": "S"}, "S"),
        ({"extra_content": {"google": {}}}, None),
        (None, None),
    ],
)
def test_signature_of(raw: dict[str, Any] | None, found: str | None) -> None:
    """In Gemini's own form, and in OpenAI's."""
    assert signature_of(raw) == found


def test_unsaid_name() -> None:
    """A speaker's is counted; a tool's is that of its call."""
    repairs = Repairs()
    for content in (
        Content("user", [Text("x")], "sam"),
        Content("tool", [Result("A", "x")], "read"),
        Content("user", []),
    ):
        count_lost_name(content, repairs)
    assert repairs.left_out == {"name of a speaker": 1}


@pytest.mark.parametrize(("name", "sent"), [("_a", "_a"), ("1st", "_1st"), ("-a", "_-a"), ("é", "_"), ("", "unnamed")])
def test_tool_name_with_a_letter_first(name: str, sent: str) -> None:
    """As Gemini wants it."""
    assert tool_name(name, 64, Repairs(), first_letter=True) == sent


PNG = "iVBORw0KGgoAAAAN"
"""The first twelve bytes of one."""


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        ("AAAA", True), ("QUI=", True), ("QUI", True), ("QQ==", True), ("QUJD=", False), ("QUJ", False), ("A", False),
        ("QR==", False), ("?", False), ("", False),
    ],
)  # fmt: skip
def test_base64(data: str, whole: bool) -> None:
    """Whole bytes only: what was cut within one is refused by every provider."""
    assert is_base64_text(data) == whole
    assert (image_type(Image("image/png", PNG + data)) == "image/png") == (whole or not data)
    assert is_base64_text("-_8=") and not image_type(Image("image/png", PNG + "-_8="))


@pytest.mark.parametrize("said", ["image/png", "image/bmp", ""])
@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (png(1, 1), "image/png"), (jpeg(1, 1), "image/jpeg"), (gif(1, 1), "image/gif"), (webp(1, 1), "image/webp"),
        (b"%PDF-1.7", ""), (b"RIFF....WAVE", ""), (b"words that are no picture", ""), (b"....ftypheic", ""), (b"", ""),
    ],
)  # fmt: skip
def test_a_picture_is_what_its_bytes_say(raw: bytes, kind: str, said: str) -> None:
    """Whatever it is called; what is no picture of a kind that providers take is none."""
    assert image_type(Image(said, base64_of(raw))) == kind


@pytest.mark.parametrize(
    ("url", "plain", "secure"),
    [
        ("https://x/a.png?b=1", True, True), ("http://x/a.png", True, False), ("https://x/a b", False, False),
        ("https://x/a\n", False, False), ("https://", False, False), ("file:///x", False, False), ("", False, False),
    ],
)  # fmt: skip
def test_is_url(url: str, plain: bool, secure: bool) -> None:
    """Anthropic fetches by https only."""
    assert (is_url(url), is_url(url, secure=True)) == (plain, secure)
