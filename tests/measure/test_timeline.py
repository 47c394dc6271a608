"""The course of a log's context: what status says of every state there was, and what the provider counted."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.board import Board
from ctxkit.core.compare.timeline import Timeline
from ctxkit.core.replay import Fold
from ctxkit.measure.count import Counting
from ctxkit.measure.timeline import plotted
from tests.cli.commands.test_status import REPLY
from tests.cli.runner import FOREIGN, SMALL, good, lines, message, small
from tests.core.test_history import written
from tests.effort import part, some
from tests.measure.test_size import chat
from tests.shared import SHARED

KINDS = ("claude-code", "codex", "pi", "mini-swe-agent", "copilot-cli", "derived-corrupt")
REAL = [path for kind in KINDS for path in sorted((SHARED / "transcripts" / kind).glob("*.json*"))]


def of(raw: bytes, **env: str) -> Timeline:
    return plotted(Log.open(io.BytesIO(raw), env=env))


def test_without_a_count_it_is_the_sum() -> None:
    """Of the first message, the first two, and so on."""
    counting = Counting(Log.open(io.BytesIO(SMALL), env={}))
    assert [point.tokens for point in of(SMALL).points] == [counting.of(range(1, n + 1)) for n in range(1, 12)]
    assert [point.n for point in of(SMALL).points] == list(range(1, 12)) and of(SMALL).events == []


@pytest.mark.parametrize("seed", range(12))
def test_every_op_as_status_saw_it(seed: int) -> None:
    """Right behind each op the course is what was counted in that state, undone or not."""
    log = Log.open(io.BytesIO(written(seed, 20)), env={})
    log.force = True
    events = {event.op: event for event in plotted(log).events}
    last = of(SMALL).peak
    for entry in log.ledger.entries:
        then = log.seen_at(str(entry.number))
        counted = Counting(then).of(then.names())
        if entry.number in events:
            assert (events[entry.number].before, events[entry.number].after) == (last, counted)
        else:
            assert counted == last, entry
        last = counted
    assert plotted(log).points[-1].tokens == Counting(log).of(log.names())


def test_what_the_provider_counted() -> None:
    """Exactly its figures behind each reply, and its request before it."""
    found = of(chat((1000, 20), (1300, 21), None))
    assert [(p.tokens, p.counted) for p in found.points[:4]] == [
        (1000, False),
        (1020, True),
        (1300, False),
        (1321, True),
    ]
    assert not any(point.counted for point in found.points[4:]) and found.points[-1].tokens > 1321


def test_ops_of_a_counted_log(tmp_path: Path) -> None:
    """What they take off is what status takes off."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(chat((1000, 20), (1300, 21)))
    good("forget", path, "1")
    found = plotted(log := Log.open(path))
    assert [event.kind for event in found.events] == ["forget"] and found.events[0].before == 1321
    assert found.points[-1].tokens == log.status().tokens.used == found.events[0].after


def test_ops_at_the_end_as_status_saw_them(tmp_path: Path) -> None:
    """Where a request shrank, what an op leaves is no sum: after each op at the end it is what `status --at` says."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(chat((1000, 20), (5000, 21), (1300, 22), (1400, 23)))
    for numbers in ("3-4", "1", "2", "5", "6"):
        good("forget", path, numbers)
    log = Log.open(path)
    events = plotted(log).events
    assert len(events) >= 3
    for event in events:
        assert event.after == log.seen_at(str(event.op)).status().tokens.used, event


def test_around_and_limit() -> None:
    """What stands around the messages is in every request."""
    plain, more = of(SMALL), plotted(Log.open(io.BytesIO(SMALL), env={}), around=500, limit=9)
    assert [p.tokens + 500 for p in plain.points] == [p.tokens for p in more.points] and more.limit == 9


def test_a_window_is_an_event_and_goes_on(tmp_path: Path) -> None:
    """The course falls where it was set, and to what status says."""
    path = small(tmp_path)
    path.write_bytes(path.read_bytes() + lines(message("user", "late", 300)))
    good("window", path, "1h")
    path.write_bytes(path.read_bytes() + lines(message("user", "later", 400)))
    found = plotted(log := Log.open(path))
    [event] = found.events
    assert (event.kind, event.n) == ("window", 12) and event.before > event.after
    assert found.points[-1].tokens == log.status().tokens.used < event.after + 9, "the late one has left"


def spoken(seed: int) -> list[dict[str, Any]]:
    """Messages of three agents, hours apart, with ops between them: windows of all widths, and what hides otherwise."""
    chosen = random.Random(seed)
    rows: list[dict[str, Any]] = [message("system", "be brief", 0)]
    minute, n = 0, 1
    for k in range(40):
        at = {"ctxkit": "", "v": 1, "id": f"o{k}", "at": {"messages": n}}
        agent = chosen.choice([None, None, "sam", "bo"])
        match chosen.randrange(9):
            case 0:
                rows.append({**at, "ctxkit": "window", "seconds": chosen.choice([3600, 7200, 20_000, 0, None]),
                             **({"agent": agent} if agent else {})})  # fmt: skip
            case 1:
                rows.append({**at, "ctxkit": "forget", "ids": str(chosen.randint(1, n))})
            case 2:
                rows.append({**at, "ctxkit": "protect", "ids": str(chosen.randint(1, n))})
            case _:
                minute += chosen.choice([1, 30, 90])
                more = {"agent": agent} if agent else {}
                rows.append(message("user", f"words {k} " * chosen.randint(1, 9), minute, **more))
                n += 1
    return rows


@pytest.mark.parametrize("seed", range(part(36)))
@pytest.mark.parametrize("env", [{}, {"CTXKIT_WINDOW_DEFAULT": "2h"}], ids=["off", "2h"])
def test_windows_slide(seed: int, env: dict[str, str]) -> None:
    """Behind each message, and behind each op, the course is what status said of the log as it was then."""
    rows = spoken(seed)
    points = of(lines(*rows), **env).points
    told: list[tuple[int, int]] = []
    for k in range(len(rows)):
        log = Log.open(io.BytesIO(lines(*rows[: k + 1])), env=env)
        now = len(log.messages), log.status().tokens.used or 0
        if "ctxkit" not in rows[k] or told[-1] != now:
            told.append(now)
    assert [(point.n, point.tokens) for point in points] == told


def test_threads() -> None:
    """Of one thread, what is of it or of none; of a sidechain, its own."""
    rows = [message("user", "both", 1), *(message("user", f"says {t} " * 9, 2, thread=t) for t in ("t1", "t2", "t1"))]
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    log.lens_thread = "t1"
    assert [point.n for point in plotted(log).points] == [1, 2, 4]
    side = {"type": "user", "uuid": "x1", "parentUuid": None, "sessionId": "s", "isSidechain": True,
            "timestamp": "2026-02-01T10:04:00Z", "message": {"role": "user", "content": "look"}}  # fmt: skip
    log = Log.open(io.BytesIO(FOREIGN + lines(side)), env={})
    assert [point.n for point in plotted(log).points] == [1, 2, 3]
    log.lens_thread = "sidechain-1"
    assert [point.n for point in plotted(log).points] == [4]


def test_looking_back(tmp_path: Path) -> None:
    """--at: the course as it was then."""
    path = small(tmp_path)
    good("forget", path, "2-5")
    path.write_bytes(path.read_bytes() + lines(message("user", "late", 20)))
    good("clear", path)
    assert [event.kind for event in plotted(Log.open(path)).events] == ["forget", "clear"]
    log = Log.open(path)
    log.at = "1"
    found = plotted(log)
    assert [event.kind for event in found.events] == ["forget"] and found.points[-1].n == 11


def test_nothing() -> None:
    """An empty log has no course."""
    assert of(b"").points == of(b"").events == []


def test_usage_of_another_model_says_nothing() -> None:
    """As status has it."""
    assert any(point.counted for point in of(FOREIGN + lines(REPLY)).points)
    assert not any(point.counted for point in of(FOREIGN + lines(REPLY), CTXKIT_MODEL="gpt-4o").points)


def test_few_rows_are_read_where_no_reply_is_counted() -> None:
    """A long log without usage costs no second read."""
    log = Log.open(io.BytesIO(chat(*[None] * 900)), env={})
    looked: list[int] = []
    log.usage = lambda n: looked.append(n)  # type: ignore[method-assign]  # counts the calls
    assert len(plotted(log).points) == 1800 and len(looked) < 100


def test_no_op_costs_a_look_at_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, the whole of what is hidden is asked for a few times, and few ops are played again."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": f"words {n}"} for n in range(1, 401)]
    for k in range(300):
        op: dict[str, Any] = {"ctxkit": "forget", "ids": str(k + 2)} if k % 3 else {"ctxkit": "trim", "ids": f"{k + 2}"}
        op = {"ctxkit": "undo", "op": f"o{k - 1}"} if k % 3 == 2 else op
        rows.append({**op, "v": 1, "id": f"o{k}", "at": {"messages": 400}})
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    log.state()
    asked: list[int] = []
    played: list[int] = []
    hidden, play = Board.hidden, Fold.op
    monkeypatch.setattr(Board, "hidden", lambda self, among: asked.append(among is None) or hidden(self, among))
    monkeypatch.setattr(Fold, "op", lambda self, entry, op: played.append(1) or play(self, entry, op))
    assert len(plotted(log).events) == 300
    assert sum(asked) < 10 and len(played) < 200 + 100 * 12


@pytest.mark.parametrize("path", some(REAL, 2), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_sessions(path: Path) -> None:
    """The last point is what status says, counted points are what the provider said, compactions are falls."""
    try:
        log = Log.open(path)
    except Exception as error:  # what is no log, or many: status says so
        pytest.skip(str(error))
    log.force = True
    used, found = log.status().tokens, plotted(log)
    assert used.measured is not None
    assert [p.tokens for p in found.points[-1:]] == [used.measured.tokens] or not found.points
    assert found.points == sorted(found.points, key=lambda point: point.n)
    for point in found.points:
        told: Any = log.usage(point.n) if point.counted else None
        assert not point.counted or point.n == used.measured.at or point.tokens == told.request + told.reply
    view = log.transcript.view
    cuts = [event for event in found.events if event.kind == "cut"]
    assert len(cuts) <= (len(view.cuts) if view is not None else 0)
    assert all(event.after < event.before for event in cuts if "compacted" in event.label)
