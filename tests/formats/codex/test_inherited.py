"""What a Codex file goes on from: its `history_base`, and which file that is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.text.json_text import loads
from ctxkit.formats.base import Inherited
from ctxkit.formats.codex.inherited import alone, inherited, misfit
from tests.formats.codex.pages import base, lines, meta, thread

BASE = base(1, 9, 400)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (meta("s", BASE), Inherited(thread(1), 9, 400)),
        (meta("s"), None),
        (meta("s", BASE, history_mode="legacy"), None),  # Codex ignores it there
        ({"type": "turn_context", "payload": {"history_base": BASE, "history_mode": "paginated"}}, None),
        ({"type": "session_meta", "payload": []}, None),
        (meta("s", {}), Inherited("", -1, -1)),
        (meta("s", BASE | {"end_byte_offset": "400"}), Inherited(thread(1), 9, -1)),
        (meta("s", BASE | {"end_ordinal_exclusive": True}), Inherited(thread(1), -1, 400)),
        (meta("s", BASE | {"end_byte_offset": -4}), Inherited(thread(1), 9, -1)),
        (meta("s") | {"payload": meta("s")["payload"] | {"history_base": "x"}}, Inherited("", -1, -1)),
    ],
)
def test_what_a_file_goes_on_from(first: dict[str, Any], expected: Inherited | None) -> None:
    """Only a paginated file's first row names another; what it should say and does not is marked."""
    assert inherited(first) == expected


def test_alone() -> None:
    """The first row of the joined history names no other file, and is legacy; the rest keeps its bytes."""
    line = lines([meta("s", BASE)])
    made = loads(alone(line))
    assert made == loads(line) | {"payload": meta("s")["payload"] | {"history_base": None, "history_mode": "legacy"}}
    assert inherited(made) is None


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (meta("s"), {"ordinal": 8}, ""),
        (meta("s"), {"no": "number"}, ""),
        (meta("s"), {"ordinal": 7}, "has row 7 before byte 400, not row 8"),
        (meta("s", history_mode="legacy"), {"ordinal": 8}, "is not paginated"),
        ({"type": "message"}, {"ordinal": 8}, "is not paginated"),
    ],
)
def test_misfit(first: dict[str, Any], last: dict[str, Any], expected: str) -> None:
    """A file that is not paginated, or has another row there, is not the one that was meant."""
    assert misfit(Inherited(thread(1), 9, 400), json.dumps(first).encode(), json.dumps(last).encode()) == expected
