"""The needle: where it stands in a text, and that no record holds it without a trace of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.message_words import texts
from ctxkit.core.text.search_pattern import Needle
from ctxkit.errors import BadPattern, Usage
from ctxkit.formats.chat import content_of
from tests.effort import examples

LETTERS = 'ab"\\/\n\té€😀kKiIſıİ u0041 -.e5{}:,\x7f\x01'


@pytest.mark.parametrize(
    ("text", "options", "within", "spans"),
    [
        ("ab", {}, "xabab ab", [(1, 3), (3, 5), (6, 8)]),
        ("AB", {}, "ab", []),
        ("AB", {"ignore_case": True}, "xab", [(1, 3)]),
        ("aa", {}, "aaa", [(0, 2)]),
        ("a.b", {}, "axb a.b", [(4, 7)]),
        ("a.b", {"regex": True}, "axb", [(0, 3)]),
        ("^b$", {"regex": True}, "a\nb", [(2, 3)]),
        ("É", {"ignore_case": True}, "é", [(0, 1)]),
    ],
)
def test_spans(text: str, options: dict[str, bool], within: str, spans: list[tuple[int, int]]) -> None:
    """Literal unless it is said otherwise, case and all; none overlaps another."""
    needle = Needle(text, **options)
    assert list(needle.spans(within)) == spans
    assert needle.within(within) == bool(spans)


def test_what_cannot_be_searched() -> None:
    """No text, and what is no regular expression."""
    with pytest.raises(Usage):
        Needle("")
    with pytest.raises(BadPattern, match="not a regular expression"):
        Needle("(a", regex=True)
    assert Needle("(a").traces


def traced(needle: Needle, raw: bytes) -> bool:
    """Whether the bytes hold a trace, or everything must be decoded."""
    raw = raw.lower() if needle.ignore_case else raw
    found = needle.traces
    for literal, pattern in found:
        match = pattern.search(raw) if pattern is not None else None
        assert match is None or literal in raw
        if match is not None or (pattern is None and literal in raw):
            return True
    return not found


def spelled(draw: st.DrawFn, text: str) -> str:
    """The text as a JSON string, each character spelled in one of the ways that there are."""
    made = ""
    for c in text:
        plain = json.dumps(c, ensure_ascii=False)[1:-1]
        units = c.encode("utf-16-be", "surrogatepass")
        escaped = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        upper = escaped.upper().replace("\\U", "\\u")
        ways = [plain, plain, plain, escaped, upper, *(["\\/"] if c == "/" else [])]
        made += draw(st.sampled_from(ways))
    return f'"{made}"'


VALUES = st.one_of(
    st.text(LETTERS, max_size=12), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e5, 1e-05, 100000.0, 1.50, 1e22, 0.1]),
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """A record of a native log, its strings spelled in any way; arguments are JSON inside JSON."""
    number = draw(st.sampled_from(["1.50", "1e5", "0.00001", "12345678901234567890.5", "7", "-0.0", "120000"]))
    inner = f'{{"key":{spelled(draw, draw(st.text(LETTERS, max_size=10)))},"n":{number},"more":[{number}]}}'
    content = spelled(draw, draw(st.text(LETTERS, max_size=16)))
    kind = draw(st.sampled_from(["text", "parts", "calls", "number"]))
    if kind == "parts":
        content = f'[{{"type":"text","text":{content}}},{{"type":"odd","odd":[{content},{number}]}}]'
    elif kind == "number":
        content = number
    calls = ""
    if kind == "calls":
        function = f'{{"name":{spelled(draw, "Read")},"arguments":{spelled(draw, inner)}}}'
        calls = f',"tool_calls":[{{"id":"c","type":"function","function":{function}}}]'
    return f'{{"role":"user","content":{content}{calls}}}'.encode()


@given(data=st.data(), raw=records(), ignore_case=st.booleans())
@settings(max_examples=examples(600))
def test_nothing_is_without_a_trace(data: st.DataObject, raw: bytes, ignore_case: bool) -> None:
    """Whatever stands in the decoded words has left a trace in the bytes, however it is spelled there."""
    words = [found.text for found in texts(content_of(loads(raw))) if found.text]
    if not words:
        return
    text = data.draw(st.sampled_from(words))
    start = data.draw(st.integers(0, len(text) - 1))
    needle = text[start : data.draw(st.integers(start + 1, len(text)))]
    if ignore_case:
        needle = data.draw(st.sampled_from([needle.upper(), needle.lower(), needle])) or needle
    regex = data.draw(st.booleans())
    if regex:
        ways = st.sampled_from(["", "", ".", "[^x]", r"\S", "x*"])
        needle = "".join(re.escape(c) if not (way := data.draw(ways)) else way for c in needle)
    found = Needle(needle, regex=regex, ignore_case=ignore_case)
    if any(found.within(one) for one in words):
        assert traced(found, raw), (needle, found.traces)


def test_half_a_character() -> None:
    """What cannot be spelled in UTF-8 is looked for everywhere."""
    assert Needle("\udcff").traces == []
    assert Needle('"\\').traces == []


@pytest.mark.parametrize("text", ["zebra", "src/file12.py", 'say "zebra crossing"', "é", "zebra é"])
def test_traces_tell_something(text: str) -> None:
    """A record that holds nothing like it has no trace, so that it is not decoded."""
    raw = json.dumps({"role": "user", "content": "lorem ipsum\ndolor \x1b ä 🎉 1.5 12 " + "x" * 99}).encode()
    assert not traced(Needle(text), raw)
    assert re.search(rb"\\u", raw)


def test_types() -> None:
    """A record may hold anything."""
    odd: list[Any] = [None, True, {"a": [None]}, 5]
    for content in odd:
        assert isinstance(list(texts(content_of({"role": "user", "content": content}))), list)


@pytest.mark.parametrize(
    ("texts_", "options", "expected"),
    [
        (["LIFETIME"], {}, [["lifetime"]]), (["a LIFE-time of 7"], {}, [["life", "time"]]), (["ab"], {}, None),
        (["naïve test"], {}, [["test"]]), (["one", "two"], {}, [["one"], ["two"]]), (["one", "ab"], {}, None),
        (["o+ne.*two"], {"regex": True}, [["two"]]),
        (["[a-z]+|two"], {"regex": True}, None), (["1234"], {}, None), (["1e10"], {}, None),
        (["v1234"], {}, [["v1234"]]), (["1234 apples"], {}, [["1234", "apples"]]),
        (["LIFETIME"], {"ignore_case": True}, [["fet"]]),
        (["session 321:"], {"regex": True}, [["321", "session"]]), (["123.*456"], {"regex": True}, None),
        (["İstanbul"], {}, [["stanbul"]]), (["kiss"], {"ignore_case": True}, None), ([" \n-"], {}, None),
    ],
)  # fmt: skip
def test_stems(texts_: list[str], options: dict[str, bool], expected: list[list[str]] | None) -> None:
    """Runs of letters and digits that tell something; nothing where one text has none."""
    assert Needle(*texts_, **options).stems == expected
