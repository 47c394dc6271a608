"""Rows of Cursor's transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.formats.cursor import FORMAT, put
from tests.cli.runner import lines
from tests.formats.reading import contents, read


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"role": "user", "message": {"content": "x"}}, {"role": "user", "content": "x"}),
        ({"role": "user", "content": "x"}, {"role": "user", "content": "x"}),
        ({"role": "user"}, {"role": "user"}),
        ({"role": "user", "message": 3}, {"role": "user", "message": 3}),
        ({"type": "turn_ended", "status": "success"}, None),
        ({"role": 3, "message": {"content": "x"}}, None),
    ],
)
def test_put(row: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """What is in the message stands in its place."""
    assert put(row) == expected


def test_calls_are_given_ids() -> None:
    """As Cursor writes none; their results are nowhere."""
    call = {"type": "tool_use", "name": "Read", "input": {"path": "a"}}
    log = lines(*[{"role": "assistant", "message": {"content": [call, call]}}] * 2)
    assert [m.calls for m in read(FORMAT, log).messages] == [("ctxkit-1-1", "ctxkit-1-2"), ("ctxkit-2-1", "ctxkit-2-2")]
    assert [part.id for one in contents(FORMAT, log) for part in one.parts] == [  # type: ignore[union-attr]
        "ctxkit-1-1", "ctxkit-1-2", "ctxkit-2-1", "ctxkit-2-2",
    ]  # fmt: skip
