"""The draft as people see it."""

from __future__ import annotations

from ctxkit.edit.draft import Base, DraftBlock, FoldedPart, based, draft, printed
from ctxkit.edit.parse import parse


def test_a_message() -> None:
    """Number, time, role, remark; then its text, and a line for what is no text."""
    block = DraftBlock(
        "3", "assistant", ("I look.", FoldedPart("3", 2, 'call read {"a":1}')), False, "2026-01-01T10:00:00Z", "x; y"
    )
    text = '\n%% 3 2026-01-01T10:00:00Z assistant (x; y)\nI look.\n%%> 3/2 call read {"a":1}\n'
    assert printed(block) == text


def test_two_texts_and_none() -> None:
    """Texts that follow each other stay two; an empty one is one."""
    assert printed(DraftBlock("1", "user", ("a", "b"))) == "\n%% 1 user\na\n%%> text\nb\n"
    assert printed(DraftBlock("1", "user", ("",), True)) == "\n#%% 1 user\n\\u{}\n"
    assert printed(DraftBlock("1", "user")) == "\n%% 1 user\n"


def test_the_head_is_no_message() -> None:
    """However the log is called."""
    name = "\n%% 1 user\n\x1b[0m"
    text = draft(name, Base(1, 1, 0, "", "", "1", ""), [])
    assert parse(text).blocks == [] and parse(text).mistakes == [] and "\x1b" not in text
    assert text.startswith("# ") and "%% user" in text


def test_base() -> None:
    """One line, whatever the ids are."""
    base = Base(14, 15, 2, "a b\n", "(c)", "1-14,b3.1", "")
    assert based(base).count("\n") == 1 and parse(based(base)).base == base
