"""A session on a terminal: days, ops and compactions between messages, the end first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.cli.terminal import session_page, streams
from ctxkit.cli.terminal.session_page import SessionPage
from ctxkit.core.assembly import NOTHING
from ctxkit.when import Clock
from tests.cli.hostile import plain
from tests.cli.runner import good, lines, message, small

TWO_DAYS = lines(
    message("user", "first", ts="2026-02-01T23:50:00Z"), message("assistant", "**second**", ts="2026-02-02T00:10:00Z"),
    message("user", "third"), message("user", "fourth", ts="2026-02-02T00:20:00Z"),
)  # fmt: skip


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test makes of the terminal is gone behind it."""
    for name in ("columns", "colour", "clock"):
        monkeypatch.setattr(streams.Streams, name, getattr(streams.Streams, name))


def rows(path: Path, seen: set[int] | None = None, turns: int = 0) -> list[str]:
    """The lines of a log's page on a terminal of 60 columns, in UTC."""
    streams.Streams.columns, streams.Streams.colour, streams.Streams.clock = 60, False, Clock(exact=False)
    log = Log.open(path)
    page = SessionPage(log, log.listed(), NOTHING, full=False)
    return ["".join(span if isinstance(span, str) else span.text for span in row).rstrip("─ ")
            for row in page.rows_since(seen or set(), turns)]  # fmt: skip


def test_days(tmp_path: Path, screen: None) -> None:
    """A divider where a day begins; it has the offset from UTC if no line before it has."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(TWO_DAYS)
    assert rows(path) == [
        "── 2026-02-01 (+00:00)", "1  user  2026-02-01 23:50:00", "    first", "",
        "── 2026-02-02", "2  assistant  2026-02-02 00:10:00", "    **second**", "",
        "3  user  2026-02-02 00:10:00", "    third", "", "4  user  2026-02-02 00:20:00", "    fourth", "",
    ]  # fmt: skip


def test_ops(tmp_path: Path, screen: None) -> None:
    """Each op stands where it was made, with its number, before and after; an undone one says so."""
    path = small(tmp_path, marks=[])
    good("forget", path, "6")
    good("undo", path)
    good("mark", path, "here")
    good("add", path, "more", "--ts", "2026-02-01T11:20:00Z")
    found = [row for row in rows(path) if row.startswith("──")]
    assert found[0].startswith("── 2026-02-01")
    assert "forget 6 · op 1, undone by 2 · " in found[1] and " → " in found[1] and "undo op 1 (forget)" in found[2]
    assert found[3:] == ["── mark 'here' · op 3"]
    text = rows(path)
    assert text.index(found[3]) < text.index("    more")


def test_what_is_new(tmp_path: Path, screen: None) -> None:
    """Only messages that were not seen, and ops behind those that were: what -f prints."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(TWO_DAYS)
    good("mark", path, "here")
    assert rows(path, {1, 2, 3, 4}, 1) == []
    assert rows(path, {1, 2, 3}, 1) == ["4  user  2026-02-02 00:20:00", "    fourth", ""]
    assert rows(path, {1, 2, 3, 4}) == ["── mark 'here' · op 1"]


def test_summaries(tmp_path: Path, screen: None) -> None:
    """A summary is one line, its place in the context its own; the op stands at the end."""
    path = small(tmp_path, marks=[])
    (tmp_path / "words").write_text("what was found\n\n- one\n- two")
    good("compact", path, "3-6", "--force", "--summary-file", tmp_path / "words")
    found = rows(path)
    assert [row for row in found if "summary of 3-6" in row] and "compact" in found[-1]
    assert not any(row.startswith("    what was found") for row in found)


def test_programs_compactions(screen: None) -> None:
    """What the program compacted stands before what it left."""
    path = Path(__file__).parents[3] / "fixtures"
    some = sorted(path.rglob("*.jsonl"))
    assert some, "no fixtures"
    for one in some:
        log = Log.open(one) if b"compact" in one.read_bytes() else None
        if log is not None and log.transcript.view is not None and log.transcript.view.cuts:
            assert any("compacted by" in row and " → " in row for row in rows(one)), one
            return
    pytest.fail("no fixture with a compaction")


@pytest.mark.parametrize(
    ("at_end", "from_start", "cut"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_long_session(
    tmp_path: Path, screen: None, monkeypatch: pytest.MonkeyPatch, at_end: bool, from_start: bool, cut: bool
) -> None:
    """A pager that opens at the end gets the newest messages, and a line that says how many stand before."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(TWO_DAYS)
    log = Log.open(path)
    streams.Streams.columns, streams.Streams.colour, streams.Streams.clock = 400, False, Clock(exact=False)
    got: list[str] = []

    def out(count: int, block: Any, *, from_start: bool) -> None:
        assert from_start is not cut
        got.extend(str(row) for i in range(count) for row in block(i))

    monkeypatch.setattr(session_page, "NEWEST", 2)
    monkeypatch.setattr(streams, "opens_at_end", lambda: at_end)
    monkeypatch.setattr(streams, "out_from_end", out)
    SessionPage(log, log.listed(), NOTHING, full=False).show(from_start=from_start)
    text = "".join(got)
    assert (f"2 earlier messages: ctxkit show {path} --from-start" in text) == cut
    assert ("first" in text, "fourth" in text) == (not cut, True)


@pytest.mark.needs("less")
def test_the_end_first(tmp_path: Path) -> None:
    """Less opens at the end; --from-start at the start."""
    from tests.cli.terminal.test_pager import seen, spawn

    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", f"line {n}.", 1) for n in range(1, 200))))
    for words, expected, absent in (([], "line 199.", "line 1."), (["--from-start"], "line 1.", "line 199.")):
        run = spawn(["show", str(path), *words], CTXKIT_PAGER="less", LESS="FRX")
        run.expect_exact(expected)
        run.send("q")
        text = plain(run.before.decode() + seen(run))
        assert absent not in text.replace(expected, "") or words, text
        assert run.exitstatus == 0
