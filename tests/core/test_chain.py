"""Links between ops, and where they do not hold."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.chain import breaks, head, is_chained, link, resembles_op
from ctxkit.core.ledger import build as ledger
from tests import build

AT = {"messages": 1}


def entries(*bodies: dict[str, Any]) -> Any:
    """The ops of a log of one message."""
    records = [build.message(1), *bodies]
    return ledger(build.transcript(records)).entries


def test_breaks() -> None:
    """A chain that holds, older ops before it, one without `prev` in it, one that names another op."""
    old: dict[str, Any] = {"ctxkit": "mark", "v": 1, "id": "a", "at": AT}
    first = {**old, "id": "b", "prev": link(old)}
    stopped = {"ctxkit": "interrupted"}
    second = {**old, "id": "c", "prev": link({**stopped, "prev": link(first)})}
    whole = entries(old, first, stopped, second)
    assert breaks(whole) == [] and is_chained(whole) and head(whole) == link(second)
    assert not is_chained(entries(old)) and breaks(entries(old)) == [] and head([]) == ""
    assert [(one.op, one.said) for one in breaks(entries(old, first, {**old, "id": "d"}))] == [(3, None)]
    [gone] = breaks(entries(first))
    assert (gone.op, gone.said, gone.found) == (1, link(old), "")
    assert link({"a": float("nan")}) == ""


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"ctxkiu": "mark", "v": 1, "id": "a", "ts": "x", "at": AT, "sum": "0"}, True),
        ({"ctxkit": "mark", "v": 1, "id": "a", "ts": "x", "at": AT, "sum": "0"}, False),
        ({"role": "user", "v": 1, "id": "a", "ts": "x", "at": AT, "sum": "0"}, False),
        ({"type": "x", "at": AT, "id": "a"}, False),
        ({"type": "x", "v": 1, "id": "a", "ts": "x", "at": "now", "sum": "0"}, False),
    ],
)
def test_resembles_op(record: dict[str, Any], expected: bool) -> None:
    """The fields of an op under another key are an op that was damaged; a message or another row is none."""
    assert resembles_op(record) is expected
