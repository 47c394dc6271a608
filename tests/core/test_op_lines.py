"""Ops on their way from a row to the ledger."""

from __future__ import annotations

from typing import Any

from ctxkit.core.op_lines import OpCollector
from ctxkit.formats.base import Block, Row


def block(*records: bytes, first: int = 1) -> Block:
    """A block of op records, a line each."""
    data, offsets, sizes = b"", [], []
    for record in records:
        offsets.append(len(data))
        sizes.append(len(record))
        data += record + b"\n"
    rows: list[Any] = [Row(ctxkit="mark") for _ in records]
    return Block(rows, offsets, sizes, range(first, first + len(records)), data, 0)


def test_an_op_keeps_its_body_and_place() -> None:
    """The body is the whole object; line, rows and messages are those given."""
    ops = OpCollector()
    ops.add(block(b'{"ctxkit":"mark","id":"a1"}', b'{"ctxkit":"undo","id":"a2","x":[1]}', first=7), 1, 5, 4)
    (op,) = ops.ops
    assert op.body == {"ctxkit": "undo", "id": "a2", "x": [1]}
    assert (op.line, op.rows, op.messages, op.sidecar) == (8, 5, 4, False)


def test_a_lone_surrogate_in_an_op_is_read() -> None:
    """The tolerant decoder is used, not msgspec alone."""
    ops = OpCollector()
    ops.add(block(rb'{"ctxkit":"mark","label":"\ud800"}'), 0, 0, 0)
    assert ops.ops[0].body["label"] == "\ud800"


def test_an_op_that_cannot_be_read_keeps_its_name() -> None:
    """Nested too deeply: no exception, and no field that could be applied."""
    ops = OpCollector()
    ops.add(block(b'{"ctxkit":"mark","x":' + b"[" * 5000 + b"]" * 5000 + b"}"), 0, 0, 0)
    assert ops.ops[0].body == {"ctxkit": "mark"}
