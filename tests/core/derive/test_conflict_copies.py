"""Copy names: what programs that synchronise files call the version that lost, and what people call their own files."""

from __future__ import annotations

import pytest

from ctxkit.core.derive.conflict_copies import MAYBE, SAID, copy_of

LOG = "chat.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        "chat (conflicted copy 2026-02-12).jsonl", "chat (Ann's conflicted copy 2026-02-12 (1)).jsonl",
        "chat (Ann's MacBook's conflicted copy).jsonl", "chat (Case Conflict).jsonl",
        "chat (Konfliktkopie von PC 2026-02-12).jsonl", "chat (Ann 的冲突副本).jsonl",
        "chat.sync-conflict-20260212-143000-ABCDEFG.jsonl", "chat.sync-conflict-20260212-143000.jsonl",
        "chat (SFConflict ann@example.com 2026-02-12-14-30-00).jsonl", "chat_conflict-20260212-143000.jsonl",
        "chat.Conflict.jsonl", "chat.jsonl.conflict1", "chat [Conflict].jsonl",
        "chat (conflict #1 on 2026-02-12).jsonl",
        "chat.jsonl.sync-conflict-20260212-143000-ABCDEFG", "chat (copia en conflicto).jsonl",
    ],
)  # fmt: skip
def test_names_that_say_so(name: str) -> None:
    """Of one program or another, in one language or another."""
    assert copy_of(name, LOG) == SAID


@pytest.mark.parametrize(
    "name",
    ["chat 2.jsonl", "chat (1).jsonl", "chat(1).jsonl", "chat-DESKTOP-AB12CD3.jsonl", "chat-Anns-MacBook-Pro.jsonl",
     "chat-WORKPC.jsonl", "chat-box.jsonl"],
)  # fmt: skip
def test_names_that_may(name: str) -> None:
    """A number, a computer."""
    assert copy_of(name, LOG, "BOX") == MAYBE


@pytest.mark.parametrize(
    "name",
    ["chat.jsonl", "chat.jsonl.ctxkit", "chat-work.jsonl", "chat-2.jsonl", "chat2.jsonl", "chat-about-conflicts.jsonl",
     "chatter (conflicted copy).json", "other (conflicted copy).jsonl", "chat (1).json", "chat.jsonl.bak",
     "chat-B.jsonl",
     "chat (conflicted copy).jsonl.ctxkit", "chat 2026.jsonl", "chat-box.jsonl"],
)  # fmt: skip
def test_other_names(name: str) -> None:
    """Somebody's own."""
    assert copy_of(name, LOG) == ""


def test_originals_of_all_shapes() -> None:
    """No extension, several, one alone, brackets that never end."""
    assert copy_of("log (conflicted copy)", "log") == SAID
    assert copy_of("a.b (conflicted copy).jsonl", "a.b.jsonl") == SAID
    assert copy_of("a.jsonl 2.ctxkit", "a.jsonl.ctxkit") == MAYBE
    assert copy_of(".x", ".x.jsonl") == copy_of("", "") == ""
    assert copy_of("chat " + "(conflict" * 50 + ".jsonl", LOG) == ""
