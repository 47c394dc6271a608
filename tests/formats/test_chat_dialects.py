"""A dialect's rows are read as the chat messages that they are put into."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.transcript import View
from ctxkit.formats.chat_dialects import Dialect, parts, record_of
from tests.cli.runner import lines
from tests.formats.reading import contents, read

MADE = Dialect("made", lambda row: {"role": "user", "content": row["said"]} if "said" in row else None)
LOG = lines({"said": "one"}, {"note": 1}, {"ctxkit": "mark", "v": 1, "id": "m", "at": {"messages": 1}}, {"said": "two"})


@pytest.mark.parametrize("size", [1, 2, 9])
def test_rows(size: int) -> None:
    """What is put into none is a row; ops stay ops; offsets are those of the file."""
    found = read(MADE, LOG, size)
    assert (found.format, found.rows, [m.role for m in found.messages]) == ("made", 3, ["user", "user"])
    assert (list(found.row_of), found.ops[0].messages, found.ops[0].rows) == ([0, 2], 1, 2)
    assert [LOG[m.offset : m.offset + m.size] for m in found.messages] == [LOG.split(b"\n")[0], LOG.split(b"\n")[3]]
    assert [one.rows for one in contents(MADE, LOG)] == [[{"role": "user", "content": w}] for w in ("one", "two")]


def test_a_row_that_cannot_be_put() -> None:
    """Nested too deeply: a row without a message. A number that JSON does not have costs none."""
    deep = b'{"said":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert [record_of(raw) for raw in (deep, b"[]")] == [None, None]
    odd = record_of(b'{"said":[NaN]}')
    assert odd is not None and MADE.reader()._chat(odd).role == "user"


def test_a_row_that_is_not_sent() -> None:
    """It has its number, and is not in the context; an op between the rows is none of them."""
    hides = Dialect("made", MADE.put, hides=lambda row: row["said"] == "one")
    found = read(hides, LOG, 2)
    assert (len(found.messages), found.view) == (2, View([2], {1: "excluded"}))
    assert read(MADE, LOG, 2).view is None


@pytest.mark.parametrize(("value", "count"), [("x", 1), ([{}, 3, {}], 2), (None, 0), ({"a": 1}, 0)])
def test_parts(value: Any, count: int) -> None:
    """Text is one, and what is no object is none."""
    assert len(parts(value)) == count
