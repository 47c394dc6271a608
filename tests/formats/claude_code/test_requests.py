"""What is noted of requests: rows of every shape are taken, and what is damaged is told."""

from __future__ import annotations

import json
from collections.abc import Callable

from ctxkit.formats.claude_code.requests import MARK, ProofRow, Records, noted
from ctxkit.store.jsonl import read_blocks
from ctxkit.store.source import Source
from tests.formats.claude_code.noting import Json, hash_of, lines, worked


def records(rows: list[Json]) -> Records:
    """The records of a log."""
    source = Source("x", lines(rows))
    return Records(read_blocks(source, ProofRow, []), source.read)


def test_requests() -> None:
    """In file order, with how many rows of the chain stood before each, and the first row of its answer."""
    session = worked(2)
    found = records(session.rows)
    assert [(one.line, one.links, one.answer, one.keep, len(one.tail)) for one in found.requests] == [
        (2, 1, 1, 0, 1), (6, 4, 4, 1, 2), (10, 7, 7, 3, 2),
    ]  # fmt: skip
    assert [one.base for one in found.requests] == ["", "r0000001", "r0000005"]
    assert found.answered == {"c0": 3, "c1": 6}
    assert found.row(0)["message"]["content"] == "go"


def test_copies_and_shapes() -> None:
    """A copy is given where it is whole; what does not have its hash is damaged, whatever else it is."""
    message = {"role": "user", "content": "go"}
    shape = {"system": [], "tools": []}
    name = hash_of(message)
    rows: list[Json] = [
        {"type": "api-request-blob", "hash": name, "message": message},
        {"type": "api-request-blob", "hash": "0" * 64, "message": message},
        {"type": "api-request-blob", "hash": name},
        {"type": "api-request-blob", "message": message},
        {"type": "api-request-shape", "shapeHash": "1" * 64, "shape": shape},
    ]
    found = records(rows)
    assert found.blob(name) == message
    assert found.blob("0" * 64) is None and found.blob("2" * 64) is None
    assert [(one.line, one.field) for one in found.damaged()] == [
        (2, "message"), (3, "message"), (4, "message"), (5, "shape"),
    ]  # fmt: skip


def test_odd_rows() -> None:
    """Fields of unexpected types say nothing, and end nothing."""
    rows: list[Json] = [
        {"type": "api-request"}, {"type": "api-request", "id": 1, "base": [], "keep": True, "tail": {}, "params": 3},
        {"type": "api-request-blob", "hash": {}}, {"type": ["api-request"]}, {"type": "assistant", "requestRef": {}},
    ]  # fmt: skip
    found = records(rows)
    assert [one.fault for one in found.requests] == ["its row names no messages"] * 2
    assert [one.id for one in found.requests] == ["", ""]


def test_noted() -> None:
    """Only a file that has such rows is read again, wherever they stand; their name in somebody's words is none."""

    def reader(data: bytes) -> tuple[Callable[[int, int], bytes], int]:
        return (lambda at, size: data[at : at + size]), len(data)

    step = 1 << 20
    for before in (0, step - 5, step, 3 * step - len(MARK)):
        assert noted(*reader(b" " * before + MARK))
    assert not noted(*reader(b"x" * (step + 5)))
    assert not noted(*reader(json.dumps({"message": '"api-request"'}).encode()))
