"""A decision: an op or none, and words."""

from __future__ import annotations

from ctxkit.core.decision import Decision


def test_notes_are_not_shared() -> None:
    """Two decisions have notes of their own."""
    one, other = Decision(None, "a"), Decision(None, "b")
    one.notes.append("x")
    assert (other.notes, other.op) == ([], None)
