"""Trims of real files: a few budgets on the smaller ones of each format; `python -m tests.trims` takes any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.core.strategies import EPISODES
from tests.cut.test_trim import opened, run, size
from tests.shared import shared
from tests.trims import FOLDERS, OWN, Case, File, Wrong, cases, checked, contents_of, counted
from tests.trims import run as tried

SHARES = (0.03, 0.2, 0.45, 0.8, 1.0)
LARGEST = 1_000_000
"""Bytes of a file that the suite takes: the whole lot is minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FOLDERS[:-1], "own"])
def test_files(name: str) -> None:
    """Never over the budget, valid for every provider, steps whole, what must stay there, no needless refusal; with
    either strategy.
    """
    if name != "own":
        shared(f"transcripts/{name}")
    own = {path.parent.name for path in OWN}
    found = [case for case in cases([name] if name != "own" else [], LARGEST)]
    found = [case for case in found if (case.path.parent.name in own) == (name == "own")]
    if not found:
        pytest.skip(f"there is no file of {name} that ctxkit reads and that is small enough")
    for case in found[:4]:
        tried(case, SHARES)
    for case in found[:2]:
        tried(case._replace(strategy=EPISODES), SHARES[1:])


@pytest.mark.parametrize(("folder", "steps"), [("mini-swe-agent", 100), ("swe-agent", 4)])
def test_a_run_of_an_agent(folder: str, steps: int) -> None:
    """One message of a user and all steps of a run: it is cut at steps, the task and the newest steps stay."""
    path = max(shared(f"transcripts/{folder}").iterdir(), key=lambda one: one.stat().st_size)
    file = File(Case(path, None))
    assert sum(message.opens for message in file.log.messages) == 1 and len(file.steps) > steps
    for share in (0.6, 0.3, 0.2):
        log = file.trimmed(int(file.total * share))
        assert log is not None
        kept = log.names()
        assert kept[:2] == file.names[:2] and kept[-2:] == file.names[-2:]
        assert counted(contents_of(log), log.model) > file.total * share * 0.7  # no more leaves than has to


@pytest.mark.full("300 steps")
def test_a_run_of_300_steps() -> None:
    """The same on a run of ours, at every budget down to what must stay: the newest steps, whole, fill it."""
    log = opened(run(steps=300, words=30))
    before, step = size(log), size(log) // 301
    for budget in range(before, step, -before // 25):
        log = opened(run(steps=300, words=30))
        log.fit(budget)
        kept = log.names()
        assert budget - 2 * step < size(log) <= budget or budget >= before
        assert kept[:2] == [1, 2] and kept[2:] == list(range(603 - len(kept) + 2, 603))


@pytest.mark.parametrize("name", ["reference", "step", "kept", "oldest", "answer", "room"])
def test_what_is_wrong_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail: a size that is too large, a step that is split, a task or an answer that is gone, a dumber
    trim that keeps more, a room that is left empty.
    """
    path = Path(__file__).parent.parent / "fixtures/guide/session.jsonl"
    file = File(Case(path, None))
    budget = file.total // 2
    assert checked(file, budget) is not None
    if name == "reference":
        monkeypatch.setattr("tests.trims.counted", lambda contents, model: budget + 1)
    elif name == "step":
        pair = next(step for step in file.steps if len(step) > 1)
        monkeypatch.setattr(file.state.steps, "members", lambda n: [*pair, *file.names])
    elif name == "kept":
        file.kept = set(file.names)
    elif name == "oldest":
        monkeypatch.setattr(File, "oldest_first", lambda *_: budget + 1)
    elif name == "answer":
        log = file.trimmed(budget)
        assert log is not None
        file.answer = next(tuple(step) for step in file.steps if not {*step}.intersection(log.names()))
    else:
        monkeypatch.setattr("tests.trims.counted", lambda contents, model: budget // 2)
        monkeypatch.setattr(File, "oldest_first", lambda *_: 0)
    with pytest.raises(Wrong):
        checked(file, budget)
