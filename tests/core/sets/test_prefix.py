"""The first messages of a log."""

from __future__ import annotations

import pytest

from ctxkit.core.sets.prefix import FirstMessages
from tests import build


def test_head() -> None:
    """A sequence of its own length over the same messages."""
    messages = build.transcript(build.log("1-9")).messages
    head = FirstMessages(messages, 4)
    assert [m.n for m in head] == [m.n for m in head[:]] == [1, 2, 3, 4]
    assert (len(head), head[-1].n, [m.n for m in head[1:3]]) == (4, 4, [2, 3])
    with pytest.raises(IndexError):
        head[4]
    assert len(FirstMessages(messages, 99)) == 9
