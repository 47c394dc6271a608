"""The calls of a context as a ledger."""

from __future__ import annotations

import io

import pytest

from ctxkit import Log
from ctxkit.measure.count import Counting
from ctxkit.measure.tool_uses import tool_uses
from tests.cli.runner import call, lines, message

ROWS = [
    message("user", "go", 0),
    message(
        "assistant", "both", 1, tool_calls=[call("Bash", "a", command="make\nmake test"), call("Read", "b", path="x")]
    ),
    message("tool", "Exit code 2\n" + "no rule " * 50, 2, tool_call_id="a"),
    message("tool", "text", 4, tool_call_id="b"),
    message("assistant", "", 5, tool_calls=[call("Grep", "c", pattern="p")]),
]


def test_tool_uses() -> None:
    """A row a call: what it is about, how it ended, how long it took; one without a result is open."""
    log = Log.open(io.BytesIO(lines(*ROWS)), env={})
    found = tool_uses(log, log.names())
    assert [(one.name, one.tool, one.target, one.answer, one.failed, one.status, one.seconds) for one in found] == [
        (2, "Bash", "make", 3, True, 2, 60.0), (2, "Read", "x", 4, False, None, 180.0),
        (5, "Grep", "pattern=p", None, False, None, None),
    ]  # fmt: skip
    assert found[0].tokens > found[1].tokens > 0


def test_parts_of_the_whole() -> None:
    """The tokens of calls and results, with those of the words around them, are those of the context."""
    rows = [message("assistant", None, 1, tool_calls=[call("Bash", "a", command="make")]),
            message("tool", "done " * 40, 2, tool_call_id="a")]  # fmt: skip
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    [one] = tool_uses(log, log.names())
    assert one.tokens == pytest.approx(Counting(log).of(log.names()))


def test_what_is_noted() -> None:
    """Seconds that the result tells go before the times of messages."""
    said = "Wall time: 0.5 seconds\nProcess exited with code 0\nOutput:\nok"
    made = message("assistant", None, 1, tool_calls=[call("exec_command", "a", cmd="make")])
    rows = [made, message("tool", said, 9, tool_call_id="a")]
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    [one] = tool_uses(log, log.names())
    assert (one.seconds, one.status, one.failed) == (0.5, 0, False)
