"""The readers' questions: the file that was committed, and that prefix and continuation hold what they ask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench.compaction import questions
from tests.bench.compaction.cases import contents, numbered, of_session, read
from tests.bench.compaction.honest import said, whole
from tests.bench.compaction.questions import DIGESTS, FOLDER, KINDS, PRESENT, Question, answered, asked
from tests.effort import some
from tests.shared import shared

ASKED = asked()
FRESH = asked("questions_fresh")
UNSEEN = asked("questions_unseen")


@pytest.mark.parametrize("name", DIGESTS)
def test_the_file_of_the_digest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed question is refused."""
    changed = (FOLDER / f"{name}.json").read_bytes().replace(b'"ask": "W', b'"ask": "w', 1)
    (tmp_path / f"{name}.json").write_bytes(changed)
    monkeypatch.setattr(questions, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="not the file of its digest"):
        asked(name)


def test_enough_of_both_halves() -> None:
    """At least 120 questions over 20 sessions, one case each; a half for each session, by its number."""
    sessions = [one.case.rpartition(":")[0] for one in ASKED]
    assert len({*sessions}) == len(sessions) >= 20
    counts = {half: sum(len(one.questions) for one in ASKED if one.half == half) for half in ("tuned", "reported")}
    assert sum(counts.values()) >= 120 and min(counts.values()) >= 60
    for one in (*ASKED, *FRESH, *UNSEEN):
        for question in one.questions:
            assert question.ask.endswith("?") and question.keys
            for pattern in (*question.keys, question.used):
                assert not re.search(pattern, ""), pattern


@pytest.mark.parametrize("name", ["fresh", "unseen"])
def test_enough_new_ones(name: str) -> None:
    """At least 60 over ten sessions, one case and six of each; half of them about the present."""
    new = asked(f"questions_{name}")
    sessions = {one.case.rpartition(":")[0] for one in new}
    assert len(sessions) == len(new) >= 10 and min(len(one.questions) for one in new) >= 6
    kinds = [question.kind for one in new for question in one.questions]
    assert len(kinds) >= 60 and {*kinds} == {*KINDS} and 2 * sum(kind in PRESENT for kind in kinds) >= len(kinds)
    assert len({question.id for one in new for question in one.questions}) == len(kinds)
    assert all(question.at > one.cut and one.half == name for one in new for question in one.questions)


def test_no_case_twice() -> None:
    """Fresh ones are about other sessions than the first, unseen ones about other cases than both."""
    sessions, fresh = ({one.case.rpartition(":")[0] for one in each} for each in (ASKED, FRESH))
    assert fresh.isdisjoint(sessions)
    assert {one.case for one in UNSEEN}.isdisjoint(one.case for one in (*ASKED, *FRESH))


@pytest.mark.parametrize("one", [*some(ASKED, 4), *some(FRESH, 2), *some(UNSEEN, 2)], ids=lambda one: one.case)
def test_prefix_has_the_keys(one: questions.Asked) -> None:
    """Every key stands in the prefix, and what came next uses what was asked for."""
    name, _, number = one.case.rpartition(":")
    folder, _, stem = name.partition("/")
    [path] = shared(f"transcripts/{folder}").glob(f"{stem}.json*")
    case = numbered([(path, of_session(path))])[int(number) - 1]
    assert len(case.prefix) == one.cut
    before, after = (whole(said(contents(read(part)))) for part in (case.prefix, case.suffix))
    for question in one.questions:
        assert answered([question], before) == (1, 1), question.ask
        assert re.search(question.used, after, re.I), question.ask


def test_answers() -> None:
    """Each question counts once, however many keys it has."""
    two = [Question("A?", ["one", r"tw\w"], "x", old=False), Question("B?", ["three"], "x", old=False)]
    assert answered(two, "ONE and three") == (0.75, 0.5)
    assert answered(two, "one two three") == (1, 1)
