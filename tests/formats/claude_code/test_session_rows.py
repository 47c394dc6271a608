"""Rows with other values: their other bytes stay."""

from __future__ import annotations

from ctxkit.core.messages import Content, Repairs, Text
from ctxkit.formats.claude_code.session_rows import as_line, changed, shortened

ROW = b'{"uuid": "u",  "parentUuid":"p", "message": {"role":"user", "content": "long"}}'


def test_a_value_changes_where_it_stands() -> None:
    """And nothing else does, not even a blank."""
    assert changed(ROW, {("parentUuid",): None}) == ROW.replace(b'"p"', b"null")
    assert changed(ROW, {("message", "content"): "x"}) == ROW.replace(b'"long"', b'"x"')


def test_a_place_that_is_not_there_comes_at_the_end() -> None:
    """Of its object; the row is written anew then."""
    assert changed(b'{"a":1}', {("b", "c"): 2}) == as_line({"a": 1, "b": {"c": 2}})


def test_a_message_that_says_less() -> None:
    """Its result for people goes, where it has one: it would still say all."""
    content, repairs = Content("user", [Text("short")]), Repairs()
    assert set(shortened({"message": {}}, content, repairs)) == {("message", "content")}
    assert shortened({"toolUseResult": {}}, content, repairs)[("toolUseResult",)] is None
