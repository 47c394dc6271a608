"""Messages in columns are the messages that a list would hold, and plain ones agree with those read one by one."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Message
from ctxkit.formats import columns as columns_
from ctxkit.formats.chat import FORMAT
from ctxkit.formats.columns import ColumnCall, Columns, Function, PackedValues
from tests.formats.reading import read

ROLES = ["user", "assistant", "tool", "assistant"] * 100


def three() -> Columns:
    columns = Columns()
    columns.extend(["user", "assistant", "tool"], ["t1", None, 3], [0, 10, 30], [9, 19, 29])
    columns.take([2, 2], [ColumnCall("a", Function("Read")), ColumnCall("b", Function("Bash"))], [3], ["a"])
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


def test_links_come_behind_each_other() -> None:
    """Several answers in one message, too."""
    columns = three()
    columns.extend(["user", "assistant"], ["", None], [60, 70], [9, 9])
    columns.take([5], [ColumnCall("c", Function("f"))], [4, 4], ["x", "y"])
    assert (columns[3].results, columns[3].opens) == (("x", "y"), False)
    assert (columns[4].calls, columns[4].tools, columns[4].results) == (("c",), ("f",), ())


@given(
    st.lists(st.lists(st.one_of(st.text("a\n\ud800é", max_size=3), st.none(), st.integers()), max_size=9)),
    st.integers(1, 7),
)
def test_packed_values_are_the_values(parts: list[list[Any]], block: int) -> None:
    """Texts with line ends in them, and what is no text, too; in whatever parts they come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_, "BLOCK", block)
        packed = PackedValues()
        for part in parts:
            packed.extend(part)
        values = [value for part in parts for value in part]
        assert [packed[at] for at in range(len(values))] == values
        assert [packed[at] for at in reversed(range(len(values)))] == values[::-1]


def test_memory_is_some_numbers_a_message() -> None:
    """A message with its time, a call in each fourth and its answer in the next: a hundred bytes each at most."""
    peaks = []
    for many in (4_000, 8_000):
        tracemalloc.start()
        columns = Columns()
        for n in range(0, many, 400):
            times = [f"2026-01-01T00:00:{n % 60:02}.{k:03}Z" for k in range(400)]
            ids = [f"call_{n + k}" for k in range(100)]
            columns.extend(ROLES, times, range(n, n + 400), range(n, n + 400))
            made = [ColumnCall(one, Function("Re" + "ad")) for one in ids]
            columns.take(range(n + 2, n + 401, 4), made, range(n + 3, n + 401, 4), ids)
        peaks.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert columns[1].calls == ("call_0",) and columns[7_602].results == ("call_7600",)
    assert peaks[1] - peaks[0] < 100 * 4_000


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


def session(count: int) -> Columns:
    """As many messages with ids of their own, of which some make or answer several calls."""
    columns = Columns()
    numbers = range(1, count + 1)
    roles = [ROLES[n % 4] for n in numbers]
    columns.extend(roles, [f"t{n}" for n in numbers], list(numbers), list(numbers), [f"k{n}" for n in numbers])
    calling = sorted([n for n in numbers if n % 4 == 0] + [n for n in numbers if n % 12 == 0])
    answering = sorted([n for n in numbers if n % 4 == 1] + [n for n in numbers if n % 20 == 1])
    calls, tools = [f"c{k}" for k, _ in enumerate(calling)], [f"T{n}" for n in calling]
    columns.link(calling, calls, tools, answering, [f"c{k}" for k, _ in enumerate(answering)])
    return columns


@pytest.mark.parametrize("count", [1, 63, 64, 65, 300, 700])
def test_one_by_one_or_many_together(count: int) -> None:
    """A message is the same, whichever were asked for before it."""
    columns = session(count)
    columns.quiet.add(1)
    found = columns.at_present({min(3, count): ((900, 9),)}, {min(3, count): {"c9": "Read"}})
    every = list(found)
    assert len(every) == count and [message.n for message in every] == list(range(1, count + 1))
    assert [found[i] for i in range(count)] == every
    assert [found[i] for i in range(0, count, 67)] == every[::67]
    assert [found[i] for i in reversed(range(count))] == every[::-1]
    assert found[2:-2] == every[2:-2]
    changed = every[min(3, count) - 1]
    assert (changed.calls, changed.tools, changed.more) == (("c9",), ("Read",), ((900, 9),))
    assert not every[0].opens and every[0].key == "k1"
    spans = [span for one in every for span in ((one.offset, one.size), *one.more)]
    assert found.spans(range(1, count + 1)).tolist() == [value for span in spans for value in span]
    assert list(found.first_rows()) == [(one.offset, one.size) for one in every]


def test_what_comes_later_is_not_there() -> None:
    """Messages as they were at present stay so, and the columns grow."""
    columns = session(10)
    found = columns.at_present({}, {})
    before = [found[9], *found]
    columns.extend(["user"], ["later"], [70], [9], ["k"])
    assert len(found) == 10 and [found[9], *found] == before
    assert len(columns) == 11 and columns[10].ts == "later"
    assert found.spans(range(1, 11)) == columns.spans(range(1, 11))
    assert len(list(found.first_rows())) == 10
