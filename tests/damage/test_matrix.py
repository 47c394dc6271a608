"""Every row of damage in every format of a record a line: what is whole is read, and can be worked on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.formats import registry
from ctxkit.formats.base import SessionFormat
from tests.damage.rows import ALL, damaged
from tests.damage.sessions import LINES, STRUCK, sent, told
from tests.effort import some
from tests.validators import anthropic_rules, openai_rules

CASES = [pytest.param(row, name, id=f"{row}-{name}") for row in ALL for name in LINES]
LINKED = ("pi",)
"""Formats whose program follows links to parents, and ends its history where one is missing."""


def whole(row: str, name: str) -> list[tuple[str, str]]:
    """What the session tells after the damage: all of it, but for the record that cannot be read."""
    clean = told(Log.open(io.BytesIO(LINES[name].clean)))
    changed = [(kind, words.replace(STRUCK, ALL[row].becomes)) for kind, words in clean]
    return [(kind, words) for kind, words in changed if not (ALL[row].lost and ALL[row].lost in words)]


@pytest.mark.one_in(4, first=1)
@pytest.mark.parametrize(("row", "name"), CASES)
def test_what_is_whole_is_read(row: str, name: str) -> None:
    """In order, as the same format; what is damaged is reported once, by its code, on its line."""
    raw = damaged(row, name)
    log = Log.open(io.BytesIO(raw))
    assert log.transcript.format == LINES[name].format
    assert told(log) == whole(row, name)
    found = log.transcript.damage
    assert tuple(one.code for one in found) == ALL[row].codes
    assert all(one.line == raw.count(b"\n", 0, one.offset) + 1 for one in found)
    if ALL[row].lost == STRUCK and name in LINKED:
        assert sent(log) == whole(row, name)[-len(sent(log)) :]
    else:
        assert sent(log) == whole(row, name)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("row", "name"), some(CASES, 3))
def test_commands(row: str, name: str, tmp_path: Path) -> None:
    """status counts, check names each place, exports are valid, and an op changes no byte that is there."""
    raw = damaged(row, name)
    path = tmp_path / LINES[name].name
    path.write_bytes(raw)
    log = Log.open(path)
    findings = [one.code for one in log.check()]
    expected = ALL[row].codes + ALL[row].closer
    assert findings[: len(expected)] == list(expected)
    assert set(findings[len(expected) :]) <= ({"missing-parent"} if ALL[row].lost else set())
    broken = findings.count("missing-parent") if name in ("claude-code", "pi") else 0  # their readers follow links
    assert log.status().damaged == len(ALL[row].codes) + broken
    for to, rules in (("anthropic", anthropic_rules), ("openai", openai_rules)):
        [body] = log.export(to, model="claude-opus-4-6", assembly=False).values
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
        assert rules.problems(body) == []  # type: ignore[attr-defined]
    own = isinstance(registry.by_name(name), SessionFormat)
    if own:
        assert b"".join(log.session(name, keep_id=True).pieces) == raw
    first = min(name for name in log.names() if isinstance(name, int))
    gone = told(log)
    log.forget(str(first), include_protected=True)
    after = Log.open(path)
    assert first not in after.names()
    assert told(after) == gone
    assert path.read_bytes()[: len(raw)] == raw
    assert after.native or path.read_bytes() == raw
    if own:
        again = Log.open(io.BytesIO(b"".join(after.session(name).pieces)))
        assert sent(again) == sent(after)
