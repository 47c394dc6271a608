"""What is said of a session that an agent left."""

from __future__ import annotations

from tests.formats.claude_code.noting import raw, worked
from tests.resume.proving import outcome


def test_outcome() -> None:
    """Proved, not as it was sent, not proved, nothing noted."""
    assert outcome(raw("talk")) == "proved: 9 requests, 116 messages"
    session = worked(2)
    assert outcome(session.bytes()) == "proved: 3 requests, 9 messages"
    session.rows[5]["tail"] = None
    assert outcome(session.bytes()) == "line 6: unproved: its row names no messages"
    session.rows[0]["message"]["content"] = "forged"
    assert outcome(session.bytes()).startswith("line 2: request r0000001: message 1 of 1 was sent as ")
    session.rows = [row for row in session.rows if row["type"] != "api-request"]
    assert outcome(session.bytes()) == "nothing is noted"
