"""Messages in columns are the messages that a list would hold, and plain ones agree with those read one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.messages import Message
from ctxkit.formats.chat import FORMAT
from ctxkit.formats.columns import Columns, Function, Made
from tests.formats.reading import read


def three() -> Columns:
    columns = Columns()
    columns.extend(["user", "assistant", "tool"], ["t1", None, 3], [0, 10, 30], [9, 19, 29])
    columns.take([(2, [Made("a", Function("Read")), Made("b", Function("Bash"))])], [(3, "a")])
    columns.assign(2, "frodo", None)
    return columns


def test_each_is_a_message() -> None:
    """With its number, its place, its calls and what it answers; a user who answers a call starts no exchange."""
    assert list(three()) == [
        Message(1, 0, 9, "user", "t1", opens=True),
        Message(2, 10, 19, "assistant", None, "frodo", calls=("a", "b"), tools=("Read", "Bash")),
        Message(3, 30, 29, "tool", 3, results=("a",)),
    ]


def test_it_is_a_sequence() -> None:
    """Of the length, indexes and slices of a list."""
    columns = three()
    as_list = list(columns)
    assert len(columns) == 3
    assert [columns[i] for i in (0, 2, -1, -3)] == [as_list[i] for i in (0, 2, -1, -3)]
    assert columns[1:] == as_list[1:]
    assert columns[:-1] == as_list[:-1]
    assert columns[::-1] == as_list[::-1]
    for i in (3, -4):
        with pytest.raises(IndexError):
            columns[i]


def test_links_may_come_one_by_one() -> None:
    """As several answers in one message do."""
    columns = three()
    columns.link(1, [], ["x", "y"])
    columns.link(3, [Made("c", Function("f"))], [])
    assert (columns[0].results, columns[0].opens) == (("x", "y"), False)
    assert (columns[2].calls, columns[2].tools, columns[2].results) == (("c",), ("f",), ("a",))


CALL = {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
PLAIN: list[dict[str, Any]] = [
    {"role": "system", "content": "s", "model": "m"},
    {"role": "user", "content": "hello", "ts": 5, "agent": "frodo"},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "b"}], "thread": "t"},
    {"role": "tool", "content": "1", "tool_call_id": "a"},
    {"role": "tool", "tool_call_id": "b"},
    {"role": "assistant", "tool_calls": None, "content": "bye"},
    {"role": "assistant", "tool_calls": [], "content": "bye", "agent": ""},
    {"role": "user", "content": "", "tool_call_id": "a"},
]
ODD: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "parts"}]},
    {"role": "user", "content": {"type": "tool_use", "id": "z", "name": "n", "input": {}}},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "", "function": {"name": "f"}}]},
    {"role": "assistant", "content": "", "function_call": {}},
    {"role": "tool", "content": "who asked?"},
    {"role": "tool", "content": "a number", "tool_call_id": 7},
    {"role": "tool", "content": "both", "tool_call_id": "q", "tool_calls": [CALL]},
    {"role": "assistant", "content": 5, "tool_calls": {"no": "list"}},
]


@pytest.mark.parametrize("odd", ODD, ids=lambda record: json.dumps(record)[:60])
def test_plain_rows_are_read_alike_beside_odd_ones(odd: dict[str, Any]) -> None:
    """One row that is written otherwise sends its whole run another way, with the same outcome for all others."""
    lines = [json.dumps(record).encode() + b"\n" for record in (*PLAIN, odd)]
    together = read(FORMAT, b"".join(lines), lines_in_block=9).messages
    apart = read(FORMAT, b"".join(lines), lines_in_block=1).messages
    assert list(together) == list(apart)
    assert [message.results for message in together[3:5]] == [("a",), ("b",)]


def test_rows_that_are_no_messages_shift_the_places() -> None:
    """Wherever they stand, and however the rows come in blocks."""
    records = [{"x": 1}, *PLAIN[:2], {"role": None}, {"role": []}, *PLAIN[2:4], {"ctxkit": "mark"}, PLAIN[4], {"x": 2}]
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    for count in (1, 2, 3, 20):
        got = read(FORMAT, data, lines_in_block=count)
        assert (list(got.row_of), got.rows) == ([1, 2, 5, 6, 7], 9)
        assert [(op.rows, op.messages) for op in got.ops] == [(7, 4)]
