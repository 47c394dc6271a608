"""Readers that take a log row by row: ops are no rows, and a log that grew is read on."""

from __future__ import annotations

import pytest

from ctxkit.formats import registry
from tests.cli.runner import lines
from tests.formats.reading import blocks

ROWS = {
    "responses": {"type": "message", "role": "user", "content": "hi", "model": "m"},
    "gemini": {"role": "user", "parts": [{"text": "hi"}], "model": "m"},
    "qwen-code": {"uuid": "u", "parentUuid": None, "sessionId": "s", "type": "user", "model": "m",
                  "message": {"role": "user", "parts": [{"text": "hi"}]}},
}  # fmt: skip
OP = {"ctxkit": "mark", "v": 1, "id": "a1", "at": {"messages": 1, "last": ""}}


@pytest.mark.parametrize("name", ROWS)
def test_rows_and_ops(name: str) -> None:
    """Each message has the row that opened it; what `finish` gave stays when more is fed."""
    form = registry.by_name(name)
    reader, told = form.reader(), []
    for block in blocks(form, lines(ROWS[name], OP, {"other": 1}, {**ROWS[name], "uuid": "w"}), 3):
        reader.feed(block)
        told.append(reader.finish())
    assert [(len(one.messages), list(one.row_of), one.rows, len(one.ops), one.model) for one in told] == [
        (1, [0], 2, 1, "m"), (2, [0, 2], 3, 1, "m"),
    ]  # fmt: skip
