"""JSON texts cut at their brackets and strings alone."""

from __future__ import annotations

import pytest

from ctxkit.formats import truncated_json

DEEP = b'{"a":' * 5000 + b"1" + b"}" * 5000


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"[]", []),
        (b" [1, 2 ,3] ", [b"1", b"2", b"3"]),
        (b'["a,]", {"b": [1, 2]}, [3, 4]]', [b'"a,]"', b'{"b": [1, 2]}', b"[3, 4]"]),
        (b'["a\\",", 2]', [b'"a\\","', b"2"]),
        (b"[1, 2,]", [b"1", b"2"]),
        (b'[1, {"a": "b', [b"1"]),
        (b"[1, 2", [b"1", b"2"]),
        (b"[1, 2,", [b"1", b"2"]),
        (b"[", []),
        (b"[" + DEEP + b", 2]", [DEEP, b"2"]),
        (b'["\xff", NaN]', [b'"\xff"', b"NaN"]),
        (b'{"a": 1}', None),
    ],
)
def test_items(raw: bytes, expected: list[bytes] | None) -> None:
    """As they are written; one that is cut off is left out."""
    assert truncated_json.items(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"{}", {}),
        (b'{"a": 1, "b" : {"c": [2]}}', {"a": b"1", "b": b'{"c": [2]}'}),
        (b'{"a": 1, "b": [1, {"c', {"a": b"1", "b": b'[1, {"c'}),
        (b'{"a": 1, "b', {"a": b"1"}),
        (b'{"\\u0061":"}",}', {"a": b'"}"'}),
        (b'{"a":' + DEEP + b"}", {"a": DEEP}),
        (b"{5: 6, x}", {}),
        (b"[1]", None),
    ],
)
def test_fields(raw: bytes, expected: dict[str, bytes] | None) -> None:
    """Each as it is written, the last one as far as it goes."""
    assert truncated_json.fields(raw) == expected


@pytest.mark.parametrize(
    ("raw", "texts", "left", "codes"),
    [
        (b"", [], b"", []),
        (b"{}", [b"{}"], b"", []),
        (b"{}\n[]\n", [b"{}", b"[]"], b"", []),
        (b"{}[]", [b"{}", b"[]"], b"", ["glued"]),
        (b"\0\0{}\0", [b"{}"], b"", ["nul-block", "nul-block"]),
        (b"{} so\n[]", [b"{}"], b"so\n[]", []),
        (b'{"a": [', [b'{"a": ['], b"", ["torn-tail"]),
        (b'{"a": "x\ny"}', [b'{"a": "x\ny"}'], b"", ["broken-line"]),
    ],
)
def test_texts(raw: bytes, texts: list[bytes], left: bytes, codes: list[str]) -> None:
    """One behind the other, each with what is damaged of it."""
    found, rest, damage = truncated_json.texts(raw)
    assert ([piece.text for piece in found], rest) == (texts, left)
    assert [one.code for one in (*(one for piece in found for one in piece.damage), *damage)] == codes
    assert all(raw[piece.offset :].startswith(piece.text) for piece in found)


def test_one_line() -> None:
    """Between tokens a line end is a blank, in a string it is escaped."""
    assert truncated_json.one_line(b'{"a":\r\n"b\nc"\n}') == b'{"a":  "b\\nc" }'
    assert truncated_json.one_line(b"{}") == b"{}"
