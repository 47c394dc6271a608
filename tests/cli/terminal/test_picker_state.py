"""A choice among sessions: what keys do to it, and what is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.cli.terminal.picker_state import PickerState
from ctxkit.cli.terminal.safe_text import cells, safe
from ctxkit.cli.terminal.style import Styled
from ctxkit.search.preview import LastWords, SessionPreview
from ctxkit.search.sessions import Session
from tests.cli.hostile import ALL, bad_characters


def session(name: str, title: str = "", last: str = "the last words") -> Session:
    """A session of some minute."""
    glance = SessionPreview(
        "chat", title or f"title of {name}", LastWords("user", last), 1769940600.0, 3, "interrupted"
    )
    return Session(Path(f"/logs/{name}.jsonl"), glance, 0.0, 1)


FOUR = [session("one"), session("two"), session("three", "Fix the LOGIN"), session("four", last="over and out")]


def typed(choice: PickerState, *keys: str) -> list[str]:
    """What each key led to; a text is typed letter by letter."""
    names = {"up", "down", "enter", "escape", "break", "backspace", "clear", "word", "home", "end", "page up",
             "page down", "redraw"}  # fmt: skip
    return [choice.press(one) for key in keys for one in ([key] if key in names else key)]


def at(choice: PickerState) -> str:
    """The name of what is under the cursor."""
    return "" if choice.chosen is None else choice.chosen.path.stem


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([], "one"), (["down"], "two"), (["down", "down", "up"], "two"), (["up"], "one"), (["end"], "four"),
        (["end", "down"], "four"), (["end", "home"], "one"), (["login"], "three"), (["fix login"], "three"),
        (["out"], "four"), (["two.jsonl"], "two"), (["zebra"], ""), (["zebra", "down", "up", "end"], ""),
        (["zebra", "clear"], "one"), (["login", "clear"], "three"), (["tw", "backspace", "backspace"], "two"),
        (["login zebra", "word"], "three"), (["down", "t"], "two"), (["2026-02"], "one"), (["redraw"], "one"),
        (["interrupted"], "one"), (["page down"], "two"),
    ],
)  # fmt: skip
def test_cursor_and_filter(keys: list[str], expected: str) -> None:
    """All words that are typed are looked for, anywhere and in any case; the cursor stays where it can."""
    choice = PickerState(FOUR)
    assert set(typed(choice, *keys)) <= {""}
    assert at(choice) == expected


def test_outcomes() -> None:
    """Taken, left, broken off; where nothing fits nothing is taken."""
    choice = PickerState(FOUR)
    assert typed(choice, "enter", "escape", "break") == ["taken", "left", "broken"]
    assert typed(choice, "zebra", "enter")[-1] == ""
    assert PickerState([]).press("enter") == "" and PickerState([]).press("down") == ""


def text(line: list[str | Styled]) -> str:
    """A line without its styles."""
    return "".join(span.text if isinstance(span, Styled) else span for span in line)


def test_look() -> None:
    """What was typed, the list with its cursor, a rule, what is known of the chosen one."""
    choice = PickerState(FOUR)
    typed(choice, "t", "down")
    assert [text(line).rstrip() for line in choice.lines(60, 14)] == [
        "> t_" + " " * 52 + " 4/4",
        "  2026-02-01 10:10:00 title of one",
        "> 2026-02-01 10:10:00 title of two",
        "  2026-02-01 10:10:00 Fix the LOGIN",
        "  2026-02-01 10:10:00 title of four",
        "", "", "", "", "",
        "─" * 60,
        "2026-02-01 10:10:00+00:00  chat  3 messages  interrupted",
        "/logs/two.jsonl",
        "user: the last words",
    ]  # fmt: skip
    assert [text(line).rstrip() for line in PickerState(FOUR).lines(20, 3)] == [
        "> _" + " " * 13 + " 4/4", "> 2026-02-01 title …", "  2026-02-01 title …"
    ]  # fmt: skip


def test_scrolls() -> None:
    """The cursor is always on the screen, and a page is what the screen holds."""
    choice = PickerState([session(str(n)) for n in range(100)])
    for rows in (1, 2, 5, 24):
        for key in ("end", "up", "home", "page down", "page down", "page up", "down"):
            choice.press(key)
            lines = [text(line) for line in choice.lines(80, rows)]
            assert len(lines) == rows
            assert rows == 1 or sum(line.startswith("> ") for line in lines[1:]) == 1


HOSTILE = [session("x", ALL, ALL), session("漢字" * 40, "漢字" * 60, "🙂 " * 60), session("y" * 300, " ", "w" * 400)]


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 19, 20, 21, 39, 40, 80, 200])
def test_never_too_wide_or_high(columns: int) -> None:
    """Whatever sessions say and whatever is typed."""
    choice = PickerState(HOSTILE)
    for key in ("down", "漢", "clear", "x", "y", "z", "clear", "end", *"ab c漢🙂" * 20):
        choice.press(key)
        for rows in (1, 2, 9, 10, 24):
            lines = choice.lines(columns, rows)
            assert len(lines) == rows
            for line in lines:
                said = safe(text(line), keep_newlines=False)
                assert columns < 3 or cells(said) <= columns, said
                assert bad_characters(said) == []
