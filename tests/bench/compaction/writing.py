"""--write: every strategy on every case in one run, then the agents' own summaries, the speed, and goosedump."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ctxkit.cut.units.identifiers import Identifier
from tests.bench.__main__ import ROOT
from tests.bench.compaction import languages, page
from tests.bench.compaction.cases import tokens
from tests.bench.compaction.goosedump import beside
from tests.bench.compaction.measures import scores
from tests.bench.compaction.page import PLOTTED, put
from tests.bench.compaction.ready import Ready, ready
from tests.bench.compaction.report import Figures
from tests.bench.compaction.runs import STRATEGIES, Run, all_runs, readable, run_of
from tests.bench.compaction.speed import timed
from tests.bench.compaction.summaries import written

BUDGETS = (10, 25, 40)
"""Percent of the tokens of the prefix."""
BESIDE_MODELS = ("ctxkit extract", "observation masking", "drop the oldest")
Common = frozenset[Identifier]


def write(cases: Sequence[Ready], paths: list[Path], common: Common, jobs: int, part: str | None) -> None:
    """Measure, and put it into docs/; `part`: only this."""
    parts: dict[str, Callable[[], None]] = {
        "recall": lambda: _recall(cases, common, jobs),
        "models": lambda: put(ROOT, "models", list(_models(paths, common))),
        "speed": lambda: _speed(cases),
        "languages": lambda: put(ROOT, "languages", list(languages.table())),
        "goosedump": lambda: put(ROOT, "goosedump", list(page.besides(list(beside(paths))))),
    }
    for name, make in parts.items():
        if part in (None, name):
            make()
            print(f"{name} is written", flush=True)


def _recall(cases: Sequence[Ready], common: Common, jobs: int) -> None:
    reported = [one for one in cases if _counts(one) and one.case.half == "even"]
    rest = [one for one in cases if one not in reported]
    runs = [
        *all_runs(reported, list(STRATEGIES), sorted({*BUDGETS, *PLOTTED}), common, jobs),
        *all_runs(rest, list(page.BOTH_HALVES), BUDGETS, common, jobs),
    ]
    groups = {
        "even sessions (reported)": reported,
        "odd sessions (tuned)": [c for c in cases if _counts(c) and c.case.half == "odd"],
        "both": [c for c in cases if _counts(c)],
        "both, repositories not capped": [c for c in cases if c.case.main],
        "other programs": [c for c in cases if not c.case.main],
    }
    parts = {name: Figures(runs, [one.case.name for one in some]) for name, some in groups.items() if some}
    figures = next(iter(parts.values()))
    put(ROOT, "cases", list(_sizes(groups)))
    put(ROOT, "recall", list(page.recalls(figures, BUDGETS)))
    put(ROOT, "halves", list(page.sides(parts, BUDGETS)))
    put(ROOT, "gates", list(page.gate_table(figures)))
    picture = ROOT / "docs/pictures/compaction-recall.svg"
    picture.write_text(page.recall_picture(figures), encoding="utf-8")


def _counts(one: Ready) -> bool:
    return one.case.main and not one.case.beyond


def _sizes(groups: dict[str, list[Ready]]) -> Iterator[str]:
    yield "| | sessions | repositories | cases | tokens of prefixes | needed items | needed lines |"
    yield "|---|---|---|---|---|---|---|"
    for name, some in groups.items():
        sessions, places = {one.case.session for one in some}, {one.case.repository for one in some}
        items, lines = sum(len(one.needed.items) for one in some), sum(len(one.needed.lines) for one in some)
        size = sum(one.total for one in some)
        yield f"| {name} | {len(sessions)} | {len(places)} | {len(some)} | {size:,} | {items:,} | {lines:,} |"


def _models(paths: list[Path], common: Common) -> Iterator[str]:
    runs, names = list[Run](), list[str]()
    for one in written(paths):
        case = ready(one.case)
        names.append(case.case.name)
        found = scores(case.needed, case.facts, common, readable([one.summary]))
        size = tokens([one.summary])[0]
        runs.append(Run(case.case.name, "the agent's own model", 0, found, size / case.total, 0.0))
        runs += [run_of(case, name, 0, size, common) for name in BESIDE_MODELS]
    yield from page.models(runs, names)


def _speed(cases: Sequence[Ready]) -> None:
    found = list(timed(cases))
    put(ROOT, "speed", list(page.speeds(found)))
    if found:
        (ROOT / "docs/pictures/compaction-seconds.svg").write_text(page.speed_picture(found), encoding="utf-8")
