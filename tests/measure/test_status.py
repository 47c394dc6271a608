"""status: figures that add up, whatever was done to the log; cheap where nothing needs a look at each message."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import Usage
from ctxkit.formats.columns import Columns
from ctxkit.logfile.parameters import ValueWithOrigin
from ctxkit.measure.status import DamagedPlace, NamedGroup, Status, as_json, level, status
from tests.cli.runner import FOREIGN, SMALL, good, lines, message, small
from tests.shared import SHARED

REAL = [
    path
    for path in sorted((SHARED / "transcripts").rglob("*.jsonl"))
    if path.parent.name in ("claude-code", "claude-code-subagents", "codex", "openai-chat", "derived-corrupt")
    and path.stat().st_size < 5_000_000
]


def of(raw: bytes, env: dict[str, str] | None = None, **asked: int | bool) -> Status:
    """The status of a log that came as a stream."""
    return status(Log.open(io.BytesIO(raw), env=env or {}), **asked)  # type: ignore[arg-type]  # tokens or limit


@pytest.mark.parametrize(
    ("env", "limit", "expected"),
    [
        ({}, None, (None, "default", None, None, None, None)),
        ({}, 10_000, (10_000, "flag", 5761, 0, 1.43, "green")),
        ({"CTXKIT_LIMIT": "5000"}, None, (5000, "CTXKIT_LIMIT", 761, 0, 2.86, "green")),
        ({"CTXKIT_LIMIT": "5000", "CTXKIT_RESERVE": "0"}, 190, (190, "flag", 47, 0, 75.26, "yellow")),
        ({}, 143, (143, "flag", 0, 0, 100.0, "red")),
        ({}, 4000, (4000, "flag", 0, 0, 3.58, "green")),
        ({}, 100, (100, "flag", 0, 43, 143.0, "red")),
    ],
)
def test_budget(env: dict[str, str], limit: int | None, expected: tuple[object, ...]) -> None:
    """Used, reserved, available; percent of the limit, none without one."""
    found = of(SMALL, env, **({} if limit is None else {"limit": limit})).tokens
    assert (found.used, found.counter) == (143, "estimate for unknown model, o200k_base × 1.25")
    values = (found.limit.value, found.limit.origin, found.available, found.over, found.percent, found.level)
    assert values == expected


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(0, "green"), (69.99, "green"), (70, "yellow"), (84.99, "yellow"), (85, "red"), (250, "red")],
)
def test_level(percent: float, expected: str) -> None:
    """Green below yellow, red from red on."""
    assert level(percent, 70, 85) == expected


def test_a_limit_is_a_number_of_tokens() -> None:
    """None at all is a mistake."""
    with pytest.raises(Usage):
        of(SMALL, limit=0)


def test_without_tokens_no_content_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no message is made of its columns: the cost is that of reading the log."""
    raw = SMALL + lines({"ctxkit": "forget", "v": 1, "id": "f", "at": {"messages": 11}, "ids": "3-4,9"})
    log = Log.open(io.BytesIO(raw), env={})
    looked: list[int] = []
    before = Columns._at

    def at(self: Columns, i: int) -> object:
        looked.append(i)
        return before(self, i)

    monkeypatch.setattr(Columns, "_at", at)
    monkeypatch.setattr("ctxkit.core.visibility.order", None)  # it would name them one by one
    monkeypatch.setattr(Log, "content", None)
    monkeypatch.setattr(Log, "full", None)
    found = log.status(tokens=False)
    assert (found.tokens.used, found.tokens.counter, found.inside, found.out) == (None, None, 8, {"forget": 3})
    assert set(looked) <= {0, 1}, "only the preamble, for what is protected"


def test_marks_and_ops(tmp_path: Path) -> None:
    """Live ones with what came after them; what is undone is counted apart."""
    path = small(tmp_path, marks=["a", "b"])
    path.write_bytes(path.read_bytes() + lines(message("user", "late", 20)))
    good("forget", path, "2")
    good("undo", path)
    found = status(Log.open(path))
    assert [(m.label, m.op, m.position, m.since) for m in found.marks] == [("a", 1, 11, 1), ("b", 2, 11, 1)]
    assert (found.ops, found.void) == (2, 1), "an undo is not counted"


TALK = lines(
    message("user", "1", 1, agent="sam", thread="t1"),
    message("user", "2", 2, agent="sam", thread="t2"),
    message("user", "3", 3, agent="frodo"),
    message("user", "4", 4),
)


def test_agents_and_threads() -> None:
    """How many, how many in the context, and the newest time; in the order in which they appear."""
    forget = lines({"ctxkit": "forget", "v": 1, "id": "f", "at": {"messages": 4}, "ids": "2"})
    found = of(TALK + forget)
    assert found.agents == [
        NamedGroup("sam", 2, 1, "2026-02-01T10:02:00Z"), NamedGroup("frodo", 1, 1, "2026-02-01T10:03:00Z"),
    ]  # fmt: skip
    assert [one.name for one in found.threads] == ["t1", "t2"]


def test_what_ops_brought_in_is_counted() -> None:
    """An item is one of all there are; its agent counts."""
    item = {"message": {"role": "user", "content": "new", "agent": "sam"}}
    edit = lines({"ctxkit": "edit", "v": 1, "id": "e", "at": {"messages": 4}, "items": [{"n": 1}, item]})
    found = of(TALK + edit)
    assert (found.total, found.items, found.inside, found.out) == (5, 1, 2, {"edit": 3})
    assert (found.agents[0].name, found.agents[0].messages, found.agents[0].in_context) == ("sam", 3, 2)


def test_filter_and_window() -> None:
    """What is counted is what is seen through the projection; the rest has its reason."""
    log = Log.open(io.BytesIO(TALK + lines(message("user", "late", 300))), env={"CTXKIT_WINDOW_DEFAULT": "1h"})
    log.lens_agent = "sam"
    found = status(log)
    assert (found.inside, found.out) == (1, {"window": 3, "filter": 1})
    assert (found.parameters.agent, found.parameters.window) == ("sam", ValueWithOrigin(3600, "CTXKIT_WINDOW_DEFAULT"))


def test_damage_and_warnings() -> None:
    """Told, with the first places; an op that nobody knows is a warning."""
    found = of(SMALL + b"broken\n" * 7 + lines({"ctxkit": "odd", "v": 1, "id": "o", "at": {"messages": 11}}))
    assert (found.damaged, len(found.damage)) == (7, 5)
    assert found.damage[0] == DamagedPlace("line 12", "not-json", found.damage[0].text)
    assert found.warnings == ["op 1 is a 'odd', which this ctxkit does not know: ignored"]


def test_sidecar(tmp_path: Path) -> None:
    """The one in use; None where there is none."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    assert status(Log.open(path)).sidecar is None
    good("forget", path, "2")
    found = status(Log.open(path))
    assert found.sidecar == str(tmp_path / "session.jsonl.ctxkit")
    assert (found.ops, found.inside, found.out, found.model) == (1, 2, {"forget": 1}, "claude-x")


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_logs(path: Path) -> None:
    """The figures add up, and the context is as large as what `show` shows."""
    log = Log.open(path, conversation=1 if _many(path) else None)
    found = status(log)
    assert found.total == found.inside + sum(found.out.values()) == len(log.messages) + found.items
    assert found.inside == len(log.names())
    assert found.tokens.used is not None and (found.tokens.used > 0) == bool(found.inside)
    assert as_json(found)["inside"] == found.inside
    for one in (*found.agents, *found.threads):
        assert 0 <= one.in_context <= one.messages


def _many(path: Path) -> bool:
    from ctxkit.errors import ManyConversations

    try:
        Log.open(path)
    except ManyConversations:
        return True
    return False


@pytest.mark.parametrize(
    "lens", [{}, {"agent": "frodo"}, {"agent": "sam"}, {"thread": "t"}, {"agent": "frodo", "thread": "t"}]
)
def test_others_are_counted_as_ever(lens: dict[str, str]) -> None:
    """Agents and threads are told with the same figures, whichever of them was asked for."""
    rows = [
        {"role": "user", "content": "hi", **own}
        for own in ({"agent": "frodo"}, {"agent": "sam"}, {"agent": "sam", "thread": "t"}, {"agent": "frodo"}, {})
    ]
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    log.forget("1")
    plain = status(log)
    log.lens_agent, log.lens_thread = lens.get("agent"), lens.get("thread")
    found = status(log)
    assert (found.agents, found.threads) == (plain.agents, plain.threads)
    assert [(one.name, one.messages, one.in_context) for one in found.agents] == [("frodo", 2, 1), ("sam", 2, 2)]
