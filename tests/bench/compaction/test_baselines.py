"""Baselines on a made session: within the budget, steps whole, and each what its name says."""

from __future__ import annotations

import pytest

from ctxkit.core.messages import Call, Content, Result
from tests.bench.compaction import made
from tests.bench.compaction.baselines import BASELINES, STUB, Compacted
from tests.bench.compaction.cases import Case, split, tokens
from tests.bench.compaction.langchain import trimmed
from tests.bench.compaction.lexrank import ranks
from tests.bench.compaction.ready import Ready, make_ready
from tests.bench.compaction.runs import all_runs, readable, run


@pytest.fixture(scope="module")
def case() -> Ready:
    """One case."""
    return make_ready(Case("made", 1, "harbour", True, False, *split(made.session(1, "harbour"))))


def kept(made_: Compacted) -> list[Content]:
    """The messages, where it did run."""
    assert not isinstance(made_, str)
    return made_


@pytest.mark.parametrize("name", [name for name in BASELINES if " list " not in name and " lines" not in name])
@pytest.mark.parametrize("share", [3, 25, 60, 100])
def test_budget_and_pairs(case: Ready, name: str, share: int) -> None:
    """Never over the budget, calls with their results, the preamble there; all of it where all fits."""
    some = kept(BASELINES[name](case, case.total * share // 100))
    assert sum(tokens(some)) <= case.total * share // 100
    assert some[0].parts == case.contents[0].parts
    calls = {part.id for one in some for part in one.parts if isinstance(part, Call)}
    assert calls == {part.id for one in some for part in one.parts if isinstance(part, Result)}
    if share == 100 and "clear" not in name:
        assert readable(some) == readable(case.contents)


def test_what_each_leaves_out(case: Ready) -> None:
    """Old messages; old results; all results but three; the middles; everything but items."""
    budget = case.total * 40 // 100
    found = {name: kept(make(case, budget)) for name, make in BASELINES.items()}
    assert found["drop the oldest"][1:] == case.contents[-len(found["drop the oldest"]) + 1 :]
    masked = [part.content for one in found["observation masking"] for part in one.parts if isinstance(part, Result)]
    first = next(n for n, said in enumerate(masked) if said != STUB)
    assert STUB in masked and STUB not in masked[first:]
    cleared = kept(BASELINES["clear tool results, keep 3"](case, case.total))
    said = [part.content for one in cleared for part in one.parts if isinstance(part, Result)]
    assert said[:-3] == [STUB] * (len(said) - 3) and STUB not in said[-3:]
    assert "\n[…]\n" in readable(found["head and tail of each message"])
    listed = readable(found["a bare list of all items"]).split("\n")
    assert set(listed) == {item.text for item in case.items}


def test_runs(case: Ready) -> None:
    """A line each; the list of items wins by FRR and loses by what stands around; two processes give the same."""
    names = ["drop the oldest", "a bare list of all items"]
    found = list(all_runs([case, case], names, [25, 40], frozenset(), jobs=1))
    assert [(one.strategy, one.budget) for one in found[:4]] == [(name, share) for name in names for share in (25, 40)]
    again = list(all_runs([case, case], names, [25, 40], frozenset(), jobs=2))
    assert [one._replace(seconds=0) for one in again] == [one._replace(seconds=0) for one in found]
    oldest, _, listed, _ = found[:4]
    assert 0.2 < oldest.share <= 0.25 and listed.scores["FRR"] == 1
    assert (listed.scores["FRR_ctx"] or 0) < 0.6 and listed.scores["VLR"] == 0
    assert (oldest.scores["VLR"] or 0) > 0


def test_what_cannot_run_says_why(case: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures."""
    monkeypatch.setitem(BASELINES, "drop the oldest", lambda case, budget: "not installed")
    monkeypatch.setattr("tests.bench.compaction.runs.STRATEGIES", BASELINES)
    found = run(case, "drop the oldest", 25, frozenset())
    assert (found.scores, found.share, found.why) == ({}, 0.0, "not installed")


def test_lines_by_rank(case: Ready) -> None:
    """What is most like the rest comes first; lines stay in order; as many as fit."""
    same = ["the rows of a block wait", "the rows of a block wait here", "the rows wait", "zebra quilt"]
    found = ranks(same)
    assert min(found) == found[3] and max(found) in found[:2]
    assert sum(ranks(same[:3])) == pytest.approx(1)
    [one] = kept(BASELINES["LexRank over lines"](case, 2000))
    assert 1900 < sum(tokens([one])) <= 2000
    lines, text = readable([one]).split("\n"), readable(case.contents)
    places = [text.index(line) for line in lines]
    assert len(lines) > 20 and places == sorted(places)


def test_langchain(case: Ready) -> None:
    """The newest from a message of the user on, and what fits; else why not."""
    found = trimmed(case, case.total * 60 // 100)
    if isinstance(found, str):
        pytest.skip(found)
    assert found[0].role == "user" and found == case.contents[-len(found) :]
    assert sum(tokens(found)) <= case.total * 60 // 100


def test_own(case: Ready) -> None:
    """The product stays in its budget too, and keeps more than any of the others."""
    for share in (10, 25, 40):
        found = run(case, "ctxkit extract", share, frozenset())
        assert found.share <= share / 100
        assert (found.scores["FRR"] or 0) > (run(case, "drop the oldest", share, frozenset()).scores["FRR"] or 0)
