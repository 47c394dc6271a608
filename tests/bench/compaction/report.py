"""The tables of docs/compaction.md, from the runs of all cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxkit.cut.rank.facts import CLASSES
from tests.bench.compaction.intervals import Mean, mean, wins
from tests.bench.compaction.runs import Run

SHOWN = ("FRR", "FRR_ctx", "VLR", "H")
LISTED = "a bare list of all items"
"""Not a way to compact: it shows what a measure can be gamed to."""


class Figures:
    """Runs, to be asked for by strategy, budget and measure. `names`: of the cases that count."""

    def __init__(self, runs: Sequence[Run], names: Sequence[str]) -> None:
        self.names = [name for name in names if any(run.case == name for run in runs)]
        self._runs = {(run.strategy, run.budget, run.case): run for run in runs}
        self.strategies = list(dict.fromkeys(run.strategy for run in runs))

    def values(self, strategy: str, budget: int, measure: str) -> list[float | None]:
        """Case by case."""
        found = (self._runs.get((strategy, budget, name)) for name in self.names)
        return [None if run is None else run.scores.get(measure) for run in found]

    def mean(self, strategy: str, budget: int, measure: str) -> Mean | None:
        """Over the cases that have a value."""
        return mean(self.values(strategy, budget, measure))

    def used(self, strategy: str, budget: int) -> float | None:
        """The mean share of the prefix's tokens that a strategy left."""
        some = [self._runs.get((strategy, budget, name)) for name in self.names]
        known = [run.share for run in some if run is not None and not run.why]
        return sum(known) / len(known) if known else None

    def why(self, strategy: str) -> str:
        """Why a strategy did not run; "" where it did."""
        return next((run.why for key, run in self._runs.items() if key[0] == strategy and run.why), "")

    def ran(self) -> list[str]:
        """The strategies with figures."""
        return [name for name in self.strategies if not self.why(name)]


def recall(figures: Figures, budget: int, own: str) -> Iterator[str]:
    """One table: every strategy at one budget, and in how many cases `own` has the better H."""
    yield f"| {budget} % of the tokens | {' | '.join(SHOWN)} | tokens used | `{own}` better, equal, worse by H |"
    yield "|---" * (len(SHOWN) + 3) + "|"
    for name in figures.strategies:
        if why := figures.why(name):
            yield f"| {name} |{' |' * len(SHOWN)} | {why} |"
            continue
        cells = [cell(figures.mean(name, budget, measure)) for measure in SHOWN]
        pairs = wins(figures.values(own, budget, "H"), figures.values(name, budget, "H"))
        won = "" if name == own else f"{pairs.better}, {pairs.equal}, {pairs.worse}"
        yield f"| {_named(name)} | {' | '.join(cells)} | {percent(figures.used(name, budget))} | {won} |"
    counts = {name: one.n for name in SHOWN if (one := figures.mean(own, budget, name))}
    yield ""
    yield (
        f"Of {len(figures.names)} cases, those with something to measure: "
        + ", ".join(f"{name} {count}" for name, count in counts.items())
        + "."
    )


def classes(figures: Figures, budget: int) -> Iterator[str]:
    """One table: facts kept by class, SAL."""
    yield f"| {budget} % of the tokens | {' | '.join(CLASSES)} |"
    yield "|---" * (len(CLASSES) + 1) + "|"
    for name in figures.ran():
        cells = [figures.mean(name, budget, measure) for measure in CLASSES]
        yield f"| {_named(name)} | {' | '.join(percent(one.mean if one else None) for one in cells)} |"


def halves(parts: dict[str, Figures], budgets: Sequence[int], own: Sequence[str]) -> Iterator[str]:
    """One table: ctxkit's strategies on each of these parts of the cases."""
    heads = [f"{measure}, {budget} %" for budget in budgets for measure in SHOWN[1:]]
    yield f"| | cases | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 2) + "|"
    for name in own:
        for part, figures in parts.items():
            cells = [figures.mean(name, budget, measure) for budget in budgets for measure in SHOWN[1:]]
            said = " | ".join(percent(one.mean if one else None) for one in cells)
            yield f"| {_named(name)}, {part} | {len(figures.names)} | {said} |"


GATES = (
    (10, "FRR_ctx", 0.75), (25, "FRR_ctx", 0.9), *((25, name, 0.9) for name in CLASSES), (25, "H", None),
    (40, "FRR_ctx", 0.95), (40, "VLR", None),
)  # fmt: skip
"""Budget, measure, the least mean; None: what the best baseline has."""


def gates(figures: Figures, own: str, others: Sequence[str]) -> Iterator[str]:
    """One table: each gate, the figure, the best baseline, and whether the mean passes and its interval is above."""
    yield "| gate | mean (95 % interval) | best baseline | mean passes | interval above the baseline |"
    yield "|---|---|---|---|---|"
    for budget, measure, least in GATES:
        found = figures.mean(own, budget, measure)
        rivals = ["observation masking"] if (budget, measure) == (40, "VLR") else others
        known = {name: one.mean for name in rivals if (one := figures.mean(name, budget, measure))}
        if found is None or not known:
            continue
        best = max(known, key=lambda name: known[name])
        asked = f"≥ {100 * least:.0f}" if least is not None else f"≥ {best}"
        passes = found.mean >= (known[best] if least is None else least)
        yield (
            f"| {measure} at {budget} %: {asked} | {cell(found)} | {best} {percent(known[best])} | "
            f"{_yes(passes)} | {_yes(found.low > known[best])} |"
        )


def cell(found: Mean | None) -> str:
    """`79.1 (74 to 84)`."""
    return "" if found is None else f"{100 * found.mean:.1f} ({100 * found.low:.0f} to {100 * found.high:.0f})"


def percent(share: float | None) -> str:
    """In percent, without the sign."""
    return "" if share is None else f"{100 * share:.1f}"


def _named(name: str) -> str:
    return f"**{name}**" if name.startswith("ctxkit") else name


def _yes(held: bool) -> str:
    return "yes" if held else "no"
