"""Strict spelling: what only a tolerant reader takes reads the same, from strict JSON on one line."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.json_spelling import MENDS, closings, strict
from ctxkit.core.text.json_text import finite, loads

CASES = [
    # as it stands, as it is written, what was done
    (b'{"a": 1.0, "b":"\xc3\xa9", "c": 1E5 }', b'{"a": 1.0, "b":"\xc3\xa9", "c": 1E5 }', ()),
    (b'{"a":NaN,"b":[-Infinity,1e400,-1e999],"c":"NaN 1e999"}', b'{"a":null,"b":[null,null,null],"c":"NaN 1e999"}',
     ("nonfinite",)),
    (b'{"a":"x\ty\0"}', b'{"a":"x\\u0009y\\u0000"}', ("control-char",)),
    (b'{"a":\t"x"}', b'{"a":\t"x"}', ()),
    (b'{"a":"x\ny",\n"b":1}', b'{"a":"x\\ny", "b":1}', ("broken-line",)),
    (b'{"a":"\xff"}', b'{"a":"\\udcff"}', ("bad-utf8",)),
    (b'{"a":"\xed\xa0\x80"}', b'{"a":"\\udced\\udca0\\udc80"}', ("bad-utf8",)),
    (b'{"a":"\\ud800\xff"}', b'{"a":"\\ud800\\ufffd"}', ("bad-utf8",)),
    (b'{"a":' + b"7" * 5000 + b"}", b'{"a":"' + b"7" * 5000 + b'"}', ("huge-number",)),
    (b'{"a":' + b"7" * 300 + b"}", b'{"a":' + b"7" * 300 + b"}", ()),
    (b'{"a":"\\\\\\"\x01\\\\"}', b'{"a":"\\\\\\"\\u0001\\\\"}', ("control-char",)),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "written", "codes"), CASES)
def test_strict(raw: bytes, written: bytes, codes: tuple[str, ...]) -> None:
    """It reads as before, but for numbers that JSON does not have."""
    assert strict(raw) == (written, codes) and set(codes) <= set(MENDS)
    assert strict(written) == (written, ())
    assert b"ud800" in raw or json.loads(written, parse_constant=pytest.fail) == finite(loads(raw)) or len(raw) > 4000


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20,
), st.booleans(), st.sampled_from([None, 1]))  # fmt: skip
def test_whatever_it_holds(value: Any, ascii: bool, indent: int | None) -> None:
    """Any value, as Python's own writer spells it, control characters raw: strict, on one line, the same."""
    text = json.dumps({"v": value}, ensure_ascii=ascii, indent=indent)
    raw = (
        text.replace("\\t", "\t").encode("utf-8", "surrogatepass")
        if "\\\\" not in text
        else text.encode(errors="replace")
    )
    written, codes = strict(raw)
    msgspec.json.decode(written) if not ascii else None
    assert b"\n" not in written and (written == raw) == (not codes)
    assert loads(written) == finite(loads(raw))


def test_a_document_keeps_its_lines() -> None:
    """Between its values; in its strings they are escaped."""
    assert strict(b'[\n"a\nb",\nNaN]', document=True) == (b'[\n"a\\nb",\nnull]', ("broken-line", "nonfinite"))


def test_closings() -> None:
    """The ends that a cut off text may be given, the longest first; none for a whole one, or a broken one."""
    assert closings(b'{"a":[1,{"b":2,"c') == [(17, b"}]}"), (14, b"}]}"), (7, b"]}")]
    assert closings(b'{"a":["[{",2]') == [(13, b"}")]
    assert closings(b'{"a":1}') == closings(b"[}") == closings(b"") == []
