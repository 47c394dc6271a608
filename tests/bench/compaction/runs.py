"""Runs: every strategy on every case at every budget, scored; the cases side by side in processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from ctxkit.core.messages import Content
from ctxkit.cut.units.identifiers import Identifier
from ctxkit.cut.units.text_segments import all_pieces
from tests.bench.compaction.baselines import BASELINES, Compacted
from tests.bench.compaction.cases import tokens
from tests.bench.compaction.langchain import trimmed
from tests.bench.compaction.measures import Scores, scores
from tests.bench.compaction.own import OWN
from tests.bench.compaction.ready import Ready

STRATEGIES: dict[str, Callable[[Ready, int], Compacted]] = {
    **OWN,
    **BASELINES,
    "langchain trim_messages": trimmed,
}


class Run(NamedTuple):
    """One strategy on one case at one budget. `share`: of the tokens of the prefix, really used; `why`: it did not."""

    case: str
    strategy: str
    budget: int
    scores: Scores
    share: float
    seconds: float
    why: str = ""


def run(case: Ready, strategy: str, budget: int, generic: frozenset[Identifier]) -> Run:
    """`budget`: percent of the tokens of the prefix."""
    return run_of(case, strategy, budget, case.total * budget // 100, generic)


def run_of(case: Ready, strategy: str, named: int, budget: int, generic: frozenset[Identifier]) -> Run:
    """`budget`: in tokens; `named`: what the run says that it was."""
    start = time.perf_counter()
    made = STRATEGIES[strategy](case, budget)
    seconds = time.perf_counter() - start
    if isinstance(made, str):
        return Run(case.case.name, strategy, named, {}, 0.0, seconds, made)
    found = scores(case.needed, case.facts, generic, readable(made))
    return Run(case.case.name, strategy, named, found, sum(tokens(made)) / case.total, seconds)


def readable(some: Sequence[Content]) -> str:
    """What a model reads of these messages: all that they say, summaries included."""
    return "\n".join(piece.text for piece in all_pieces(list(enumerate(some, 1))))


def all_runs(
    cases: Sequence[Ready], strategies: Sequence[str], budgets: Sequence[int], generic: frozenset[Identifier], jobs: int
) -> Iterator[Run]:
    """All of them, case by case."""
    if jobs < 2:
        for case in cases:
            yield from _of_case(case, strategies, budgets, generic)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork"), initializer=_share, initargs=(cases,)) as pool:
        given = [(n, strategies, budgets, generic) for n in range(len(cases))]
        for found in pool.map(_by_number, given):
            yield from found


_shared: list[Ready] = []


def _share(cases: Sequence[Ready]) -> None:
    _shared.extend(cases)


def _by_number(asked: tuple[int, Sequence[str], Sequence[int], frozenset[Identifier]]) -> list[Run]:
    return list(_of_case(_shared[asked[0]], *asked[1:]))


def _of_case(
    case: Ready, strategies: Sequence[str], budgets: Sequence[int], generic: frozenset[Identifier]
) -> Iterator[Run]:
    for strategy in strategies:
        for budget in budgets:
            yield run(case, strategy, budget, generic)
