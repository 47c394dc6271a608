"""Lines of the state: which of them are right today. A change of the state that mends one takes its id out of here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.compaction import header_lines
from tests.bench.compaction.cases import contents
from tests.bench.compaction.header_lines import (
    LINES,
    RIGHT,
    SILENT,
    WRONG,
    HeaderLine,
    answers,
    by_session,
    cases,
    cut,
    judged,
    lines,
)
from tests.bench.compaction.honest import said, whole
from tests.bench.compaction.sessions import opened
from tests.effort import some
from tests.shared import shared

CASES = cases()
SESSIONS = by_session(CASES)
TODAY = {WRONG: {"wanted-failure"}, SILENT: set[str]()}
"""The cases that the code gets wrong, and those of which it says nothing; all others are right."""


@pytest.mark.parametrize(("name", "held"), SESSIONS, ids=[name.partition(".")[0] for name, _ in SESSIONS])
def test_what_the_state_says(name: str, held: list[HeaderLine]) -> None:
    """Every case of a session is right, wrong or silent, as the table says: neither loss nor gain is passed over."""
    found = {one.case.id: one.verdict for one in answers(shared(f"transcripts/{name}"), held)}
    known = {one: verdict for verdict, ids in TODAY.items() for one in ids}
    assert found == {one.id: known.get(one.id, RIGHT) for one in held}


@pytest.mark.parametrize(("name", "held"), some(SESSIONS, 4), ids=lambda one: one if isinstance(one, str) else "")
def test_the_session_has_the_words(name: str, held: list[HeaderLine]) -> None:
    """Up to the place of the case: an answer is what somebody said, not how it is told."""
    log = opened(shared(f"transcripts/{name}").read_bytes())
    for case in held:
        then = cut(log, case.cut)
        text = " ".join(whole(said(contents(then))).split())
        for words in (*case.says, *case.never):
            assert words in text, (case.id, words)


def test_the_table() -> None:
    """Enough cases of each line, few of silence; each id once; nothing is expected of a case that is not there."""
    ids = [case.id for case in CASES]
    assert len({*ids}) == len(ids) >= 60 and {*ids} >= TODAY[WRONG] | TODAY[SILENT]
    assert not TODAY[WRONG] & TODAY[SILENT]
    assert sum(not case.says for case in CASES) <= 10
    assert {case.line for case in CASES} == {*LINES}
    assert min(sum(case.line == line for case in CASES) for line in LINES) >= 10


def test_the_file_of_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed answer is refused."""
    changed = tmp_path / "header_lines.toml"
    changed.write_bytes(header_lines.PATH.read_bytes().replace(b'says = ["', b'says = ["x', 1))
    monkeypatch.setattr(header_lines, "PATH", changed)
    with pytest.raises(ValueError, match="not the file of its digest"):
        cases()


@pytest.mark.parametrize(
    ("says", "never", "told", "verdict"),
    [
        (["a.py"], [], "#2 pytest a.py", RIGHT), (["a.py"], ["b.py"], "#2 pytest a.py b.py", WRONG),
        (["a.py", "b.py"], [], "#2 pytest a.py", WRONG), (["a.py"], [], "", SILENT), ([], [], "", RIGHT),
        ([], [], "#2 pytest", WRONG), ([], ["b.py"], "#2 pytest a.py", RIGHT), ([], ["b.py"], "#2 b.py", WRONG),
    ],
)  # fmt: skip
def test_verdicts(says: list[str], never: list[str], told: str, verdict: str) -> None:
    """All right words and none of the wrong ones; without right words nothing at all, or only none of the wrong."""
    assert judged(HeaderLine("x", "", 1, "failing", "", says, never, 1), told) == verdict


def test_lines_of_a_state() -> None:
    """Each with those that continue it, wherever it stands."""
    state = [
        "Last request: #1 Load.",
        "  #2 All of it.",
        "Failing: #3 pytest",
        "  E 1",
        "Failing: #2 tsc",
        "Said last: x",
    ]
    assert list(lines(state, LINES["failing"])) == ["#3 pytest", "E 1", "#2 tsc"]
    assert list(lines(state, LINES["request"])) == ["#1 Load.", "#2 All of it."]
