"""truncate: a line in the place of messages."""

from __future__ import annotations

from ctxkit.core.names import Names
from ctxkit.policies.compact.truncate import left_out


def test_left_out() -> None:
    """The exact words of REPLAY 42."""
    assert left_out(Names.parse("2-40,45")) == "[messages 2-40, 45 left out]"
