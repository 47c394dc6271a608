"""The benchmark of rolling contexts: what it counts, and what it draws."""

from __future__ import annotations

from tests.bench.rolling import Session, long


def test_a_short_session() -> None:
    """Rows by tenths; no request is invalid or over budget; a point of the plots for each."""
    session = Session()
    rows = list(long(30, session))
    assert len(rows) == 12 and rows[-1].startswith("| 28 to 30 | ")
    assert [cell.strip() for cell in rows[-1].split("|")][5:8] == [str(29 * 4), "0", "0"]
    assert [point[0] for point in session.points] == list(range(3, 31, 3))
    turns, memory = session.pictures().values()
    assert turns.count("<circle") == 10 == memory.count("<circle") and "messages in the log" in memory
