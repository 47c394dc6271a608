"""Kept: the head and the messages of a snapshot prove themselves."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import (
    CHECKPOINT,
    VERSION,
    SnapshotHead,
    SnapshotMessage,
    digests,
    head_of,
    identity,
    is_message,
    sealed,
    whole,
)

MESSAGES = [{"role": "user", "content": "hi", "n": 1.5}, {"role": "assistant", "content": "\ud800"}]
HELD = [SnapshotMessage(n=3, ts="2026-02-01T10:00:00Z"), SnapshotMessage(origin="a4.1", protected=True)]


def body(**more: Any) -> dict[str, Any]:
    """The object of a file with two messages."""
    words, digest = digests(MESSAGES, HELD)
    head = SnapshotHead(
        session_id=identity(words, None, ""),
        timestamp="2026-02-02T10:00:00Z",
        message_count=2,
        at=LogPosition(messages=3),
        digest=digest,
    )
    held = [{"n": 3, "ts": "2026-02-01T10:00:00Z"}, {"from": "a4.1", "protected": True}]
    return deepcopy({**sealed(head, more), "messages": MESSAGES, "held": held})


def test_there_and_back() -> None:
    """What was sealed is read, keys that this version does not know included."""
    kept = whole(body(later={"x": 1}))
    assert (list(kept.messages), list(kept.held)) == (MESSAGES, HELD)
    assert kept.body["later"] == {"x": 1} and "messages" not in kept.body


def test_an_id_is_of_messages_window_and_description() -> None:
    """Not of when it was taken, nor of the numbers."""
    words, _ = digests(MESSAGES, HELD)
    assert words == digests(MESSAGES, [SnapshotMessage(n=1), SnapshotMessage(n=2)])[0]
    ids = {identity(words, None, ""), identity(words, 3600, ""), identity(words, None, "x"), identity("", None, "")}
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"v": VERSION + 1}, f"version {VERSION + 1}"),
        ({"session_id": None}, "not a snapshot"),
        ({"v": "1"}, "not a snapshot"),
        ({"description": "another"}, "damaged: the sum"),
        ({"tokens": {"count": 1, "counter": "x"}}, "damaged: the sum"),
        ({"messages": None}, "messages cannot be read"),
        ({"messages": [*MESSAGES[:1], {"role": "user", "ctxkit": "clear"}]}, "messages cannot be read"),
        ({"messages": MESSAGES[:1]}, "holds 1 messages"),
        ({"messages": [MESSAGES[0], {"role": "assistant", "content": "y"}]}, "its digest"),
        ({"messages": [{"role": "user", "content": float("nan")}, MESSAGES[1]]}, "float"),
        ({"held": [{"n": 3}, {"from": "a4.1", "protected": True}]}, "its digest"),
        ({"held": [{"n": 4}, {"n": 1}]}, "no message 4"),
        ({"held": [{"n": 0}, {"n": 1}]}, "no message 0"),
        ({"held": [{"n": 1, "from": 1}, {"n": 1}]}, "either"),
        ({"held": [{"n": 1}, {"from": "no name"}]}, "cannot be read"),
        ({"held": "1-2"}, "cannot be read"),
        ({"held": None}, "cannot be read"),
    ],
)
def test_damage(change: dict[str, Any], said: str) -> None:
    """Whatever is changed shows, and is told in words."""
    with pytest.raises(ValueError, match=said):
        whole({**body(), **change})


def test_a_head_of_odd_types() -> None:
    """A sum that fits does not make a head of it."""
    head = SnapshotHead(session_id="0" * 16, timestamp="t", at=LogPosition(messages=0))
    with pytest.raises(ValueError, match="head cannot be read"):
        head_of(sealed(head, {"message_count": "many"}))


def test_a_checkpoint_has_a_head_alone() -> None:
    """It points into its log."""
    head = SnapshotHead(kind=CHECKPOINT, session_id="0" * 16, timestamp="t", at=LogPosition(messages=0))
    assert list(whole(sealed(head)).messages) == []
    with pytest.raises(ValueError, match="held"):
        whole(sealed(SnapshotHead(session_id="0" * 16, timestamp="t", at=LogPosition(messages=0))))


@pytest.mark.parametrize("record", [None, [], {}, {"role": 1}, {"role": "user", "ctxkit": "clear"}])
def test_no_message(record: Any) -> None:
    """What would be read as something else; an unknown key of that name is none of ours."""
    assert not is_message(record) and is_message({"role": "user", "ctxkit": 1})
