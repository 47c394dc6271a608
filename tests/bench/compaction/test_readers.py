"""The tables of the readers' benchmark: rows of what was run, beside those that were there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.bench.compaction import made, others, readers
from tests.bench.compaction.cases import Case, split, tokens
from tests.bench.compaction.honest import common, facts, later, said, whole
from tests.bench.compaction.own import TRIMS
from tests.bench.compaction.questions import DIGESTS, Asked, Question, asked
from tests.bench.compaction.readers import Honest, Scored, by_kind, page, run
from tests.bench.compaction.ready import Ready, all_cases, make_ready
from tests.bench.compaction.sessions import files
from tests.shared import shared


def scored(name: str, budget: int, value: float, case: str = "one") -> Scored:
    return Scored(case, "tuned", True, name, budget, dict.fromkeys(readers.MEASURES, value), budget / 100)


@pytest.fixture(scope="module")
def case() -> Ready:
    return make_ready(Case("made", 1, "harbour", True, False, *split(made.session(1, "harbour"))))


def test_rows() -> None:
    """A strategy that is not run again keeps its rows; what gave nothing for a case says how many it has."""
    first = "\n".join(page([scored("cozempic", 10, 0.5), scored("ctxkit extract", 10, 0.25)]))
    assert "**Tuned half** (1 cases, 0 questions)" in first and "| ctxkit extract | 10 % | 25.0 (25 to 25) " in first
    again = "\n".join(page([scored("ctxkit extract", 10, 0.75), scored("ctxkit extract", 25, 1.0)], first))
    rows = [line for line in again.split("\n") if line.startswith("| c")]
    assert [row[:33] for row in rows] == [
        "| ctxkit extract | 10 % | 75.0 (7", "| ctxkit extract | 25 % | 100.0 (", "| cozempic | 10 % | 50.0 (50 to 5",
    ]  # fmt: skip
    assert again.split("\n") == list(page([scored("cozempic", 10, 0.5)], again))
    some = [scored("cozempic", 10, 0.5), scored("cozempic", 10, 0.5, "two"), scored("ctxkit extract", 10, 0.25)]
    assert "| ctxkit extract (1 cases) | 10 % |" in "\n".join(page(some))


def test_a_half_that_is_not_run() -> None:
    """Its tables stay as they are."""
    tuned = "\n".join(page([scored("cozempic", 10, 0.5)]))
    both = "\n".join(page([scored("cozempic", 10, 0.75)._replace(half="reported")], tuned))
    assert both.startswith("**Reported half** (1 cases") and tuned.strip() in both
    assert "\n".join(page([scored("cozempic", 10, 0.75)._replace(half="reported")], both)) == both


def test_more_room_that_is_worth_less() -> None:
    """Named from more than one question on, of neighbours of one case and strategy; what has no questions is not."""
    keys = {10: 0.5, 25: 1.0, 40: 0.8, 60: 0.9, 75: 0.9 - 0.11}
    runs = [scored("masks", budget, value) for budget, value in keys.items()]
    runs += [scored("extracts", 75, 1.0), scored("masks", 10, 1.0, "two"), scored("masks", 25, 0.8, "two")]
    told = list(readers.worth_less(runs, {"one": 10, "two": 5}))
    assert told == [
        "more room is worth less: one, masks, 25 > 40 %: 2.0",
        "more room is worth less: one, masks, 60 > 75 %: 1.1",
    ]
    assert not list(readers.worth_less([run._replace(scores={"keys": None}) for run in runs], {}))


MORE = (25, 29, 31, 35, 40, 50, 60, 75)


@pytest.mark.full("two minutes: 33 real sessions at eight sizes")
@pytest.mark.parametrize("name", DIGESTS)
def test_more_room_on_real_sessions(name: str) -> None:
    """`extract` has no case where a larger budget tells more than one question less, at any of these sizes."""
    questions = {one.case: one for one in asked(name)}
    cases = [one for one in all_cases(files(shared("transcripts").parent)) if one.name in questions]
    runs = list(readers.scored(cases, questions, ["ctxkit extract"], MORE, misses=False, jobs=2))
    assert len(runs) == len(MORE) * len(questions)
    assert not list(readers.worth_less(runs, {case: len(one.questions) for case, one in questions.items()}))


def test_by_kind(case: Ready) -> None:
    """Each kind that is asked for, the present and the past together; the first questions have none."""
    kinds = {"goal": ["one"], "state": ["two", "three"], "open": ["four"]}
    fresh = [Question("?", keys, "x", kind=kind) for kind, keys in kinds.items()]
    found = {"goal": 1, "past": 1, "state": 0.5, "open": 0, "present": 0.25}
    assert by_kind(Asked("made", 1, "fresh", fresh), "one, three") == found
    first = Asked("made", 1, "tuned", [Question("?", ["one"], "x")])
    assert by_kind(first, "one") == {}
    prefix = said(case.contents)
    own = Honest(case, later(prefix, []), facts(prefix), first._replace(half="fresh"))
    made_by = run(own, "ctxkit extract", 25, common([]))
    assert made_by is not None and [label for label, _ in readers.groups([made_by])] == ["fresh half"]


def test_trims(case: Ready) -> None:
    """Both fit, and differ; a budget below what never goes gives nothing."""
    made_by = {name: readers.EVERY[name](case, case.total * 3 // 5) for name in TRIMS}
    texts = [str(one) for one in made_by.values()]
    assert len({*texts}) == len(TRIMS) == 2 and all(isinstance(one, list) for one in made_by.values())
    prefix = said(case.contents)
    own = Honest(case, later(prefix, []), facts(prefix), None)
    assert run(own, "ctxkit trim", 0, common([])) is None


def test_an_older_checkout(case: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one, as if it were older, gives what it gives here; without a name there is none."""
    monkeypatch.delenv(others.BEFORE, raising=False)
    assert "ctxkit extract, before" not in others.there()
    monkeypatch.setenv(others.BEFORE, str(Path(__file__).parents[3]))
    assert "ctxkit extract, before" in others.there()
    assert str(others.older(case, 3000)) == str(readers.EVERY["ctxkit extract"](case, 3000))


def test_programs(case: Ready, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a program leaves of the session is read back, and cut until it fits; one that fails gives nothing."""
    program = tmp_path / "cozempic"
    program.write_text(f"#!/bin/sh\necho $* >> '{tmp_path}/asked'\n", encoding="ascii")
    program.chmod(0o755)
    (tmp_path / "goosedump").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    (tmp_path / "goosedump").chmod(0o755)
    monkeypatch.setattr(others, "ALONE", ())
    monkeypatch.setattr(others, "cut_off", lambda: True)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert {"cozempic", "goosedump"} <= others.there().keys() and shutil.which("cozempic") == str(program)
    others._treated.clear()
    assert len(others.cozempic(case, case.total * 2)) == len(case.contents)
    left = others.cozempic(case, case.total // 4)
    assert isinstance(left, list) and 0 < sum(tokens(left)) <= case.total // 4
    assert whole(said(left)) in whole(said(case.contents))
    others._silent.clear()
    assert others.goosedump(case, 1000) == others.goosedump(case, 2000) != ""
