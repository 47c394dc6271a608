"""How notes look: one line each with number, sources and day; as JSON without what may not be shown."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal.memory_view import as_json, line, new_line
from ctxkit.cli.terminal.style import text_of
from ctxkit.memory.memory import CheckedNote
from ctxkit.memory.notes import HAND, RULES, MemoryNote, NoteSource

SOURCE = NoteSource("/x/chat.jsonl", "3-5", "d")
TS = "2026-02-01T10:00:00Z"


def checked(
    note: MemoryNote, state: str = "current", by: int | None = None, sources: str = "here", repeats: int | None = None
) -> CheckedNote:
    """A note with its states."""
    return CheckedNote(7, note, TS, state if repeats is None else "outdated", by, sources, repeats)


def words(one: CheckedNote, score: str = "") -> str:
    """Its line."""
    return "".join(map(text_of, line(one, score)))


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (checked(MemoryNote("n", "port 8080")), "   7  port 8080  2026-02-01Z"),
        (checked(MemoryNote("n", "port 8080", made=RULES, sources=(SOURCE,))),
         "   7  port 8080  chat.jsonl#3-5  2026-02-01Z"),
        (checked(MemoryNote("n", "x", made="openai/y"), "superseded", 9),
         "   7  x  2026-02-01Z  by openai/y  superseded by 9"),
        (checked(MemoryNote("n", "x", made=HAND, sources=(SOURCE,)), sources="gone"),
         "   7  x  chat.jsonl#3-5  session gone  2026-02-01Z"),
        (checked(MemoryNote("n", "a\nb\x1b[31m"), "undone"), "   7  a␊b␛[31m  2026-02-01Z  undone"),
        (checked(MemoryNote("n", "x", "gist"), repeats=4), "   7  x  2026-02-01Z  outdated: repeats 4"),
    ],
)  # fmt: skip
def test_lines(one: CheckedNote, said: str) -> None:
    """What a line says of its note."""
    assert words(one) == said


def test_score() -> None:
    """A hit has its score at the end."""
    assert words(checked(MemoryNote("n", "x")), "80 %").endswith("  80 %")


def test_new_notes() -> None:
    """What was just made has no number yet."""
    assert new_line(MemoryNote("n", "x\x07", "open", RULES, (SOURCE,))) == "  open: x␇  chat.jsonl#3-5"


@pytest.mark.parametrize("sources", ["here", "gone", "changed", "unreadable"])
def test_json(sources: str) -> None:
    """All fields; no words of what may not be shown."""
    found = as_json(checked(MemoryNote("n", "x", sources=(SOURCE,)), "superseded", 9, sources))
    assert found["text"] == (None if sources in ("changed", "unreadable") else "x")
    assert (found["note"], found["state"], found["superseded_by"], found["sources"][0]["name"]) == (
        7, "superseded", 9, "chat.jsonl#3-5"
    )  # fmt: skip


def test_json_of_what_repeats() -> None:
    """It stands, but no context gets it: its state says so, and what it repeats."""
    found = as_json(checked(MemoryNote("n", "x", "gist"), repeats=4))
    assert (found["state"], found["repeats"]) == ("outdated", 4)
