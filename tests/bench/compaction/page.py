"""What `--write` puts between the markers of docs/compaction.md, and the two pictures beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.compaction.goosedump import Beside
from tests.bench.compaction.measures import MEASURES
from tests.bench.compaction.plots import Line, Scale, drawn
from tests.bench.compaction.report import LISTED, Figures, classes, gates, halves, percent, recall
from tests.bench.compaction.runs import Run
from tests.bench.compaction.speed import Timed

PAGE = "docs/compaction.md"
OWN = "ctxkit extract"
BOTH_HALVES = (OWN, "observation masking")
"""Strategies that are run on all cases, not only on those that are reported."""
PLOTTED = (10, 15, 20, 25, 40, 60)
"""Budgets of the picture."""


def section(name: str) -> re.Pattern[str]:
    """What stands between the markers of this name."""
    return re.compile(
        f"(<!-- written by `just bench-compact --write`: {name} -->\n).*?(<!-- end of {name} -->\n)", re.S
    )


def put(root: Path, name: str, lines: Sequence[str]) -> None:
    """Write a section of the page. Raises ValueError where the page has no place for it."""
    path = root / PAGE
    text = path.read_text(encoding="utf-8")
    body = "\n" + "\n".join(lines) + "\n\n" if lines else ""
    text, count = section(name).subn(lambda found: found[1] + body + found[2], text)
    if count != 1:
        raise ValueError(f"{PAGE} has no place for {name}")
    path.write_text(text, encoding="utf-8")


def recalls(figures: Figures, budgets: Sequence[int]) -> Iterator[str]:
    """The cases that are reported: a table for each budget, then the classes at each."""
    for budget in budgets:
        yield from recall(figures, budget, OWN)
        yield ""
    for budget in budgets:
        yield from classes(figures, budget)
        yield ""


def sides(parts: dict[str, Figures], budgets: Sequence[int]) -> Iterator[str]:
    """The reported half beside the tuned one, and the other cases there are."""
    yield from halves(parts, budgets, BOTH_HALVES)


def gate_table(figures: Figures) -> Iterator[str]:
    """Each gate of the reported half."""
    rivals = [name for name in figures.ran() if not name.startswith("ctxkit") and name != LISTED]
    yield from gates(figures, OWN, rivals)


def models(runs: Sequence[Run], names: Sequence[str]) -> Iterator[str]:
    """The agents' own summaries beside ctxkit at the same size: runs at budget 0."""
    figures = Figures(runs, names)
    what = f"{len(figures.names)} compactions, at the size of the model's summary"
    yield f"| {what} | {' | '.join(MEASURES)} | tokens used |"
    yield "|---" * (len(MEASURES) + 2) + "|"
    for name in figures.strategies:
        cells = [figures.mean(name, 0, measure) for measure in MEASURES]
        said = " | ".join(percent(one.mean if one else None) for one in cells)
        yield f"| {name} | {said} | {percent(figures.used(name, 0))} |"


def speeds(found: Sequence[Timed]) -> Iterator[str]:
    """Seconds by size."""
    yield "| tokens | after | processor seconds, nothing counted before | per 100K tokens | counted before |"
    yield "|---|---|---|---|---|"
    for one in found:
        per = one.seconds / one.tokens * 100_000
        yield f"| {one.tokens:,} | {one.after:,} | {one.seconds:.2f} | {per:.2f} | {one.again:.2f} |"


def besides(found: Sequence[Beside | str]) -> Iterator[str]:
    """goosedump beside ctxkit, session by session."""
    rows = [one for one in found if isinstance(one, Beside)]
    if not rows:
        yield "goosedump is not installed here, or cannot be kept off the network."
        return
    names = list(rows[0].results)
    yield f"| session | tokens | {' | '.join(f'{name}: tokens, facts kept, s' for name in names)} |"
    yield "|---" * (len(names) + 2) + "|"
    for one in rows:
        cells = [f"{left:,}, {100 * kept:.0f} %, {took:.2f}" for left, kept, took in one.results.values()]
        yield f"| {one.session} | {one.tokens:,} | {' | '.join(cells)} |"
    if without := [one for one in found if isinstance(one, str)]:
        yield ""
        yield f"No summary by goosedump, which would first download a model: {', '.join(without)}."


def recall_picture(figures: Figures) -> str:
    """FRR_ctx against the tokens that each strategy really leaves at PLOTTED."""
    lines = []
    for name in figures.ran():
        points = [
            (used, found.mean)
            for budget in PLOTTED
            if (found := figures.mean(name, budget, "FRR_ctx")) and (used := figures.used(name, budget)) is not None
        ]
        if points and name != LISTED:
            lines.append(Line(name, sorted(points), strong=name == OWN))
    ticks = [(share / 5, f"{20 * share} %") for share in range(6)]
    across = Scale(0.62, [(budget / 100, f"{budget} %") for budget in PLOTTED], "tokens left, of those of the prefix")
    about = f"FRR_ctx, mean of {len(figures.names)} cases, at budgets of {', '.join(map(str, PLOTTED))} %"
    title = "What was needed later and can still be read"
    return drawn(title, about, lines, across, Scale(1.0, ticks, "needed items kept, with their lines"))


def speed_picture(found: Sequence[Timed]) -> str:
    """Seconds against tokens, with the line of the gate."""
    lines = [
        Line("nothing counted before", [(one.tokens / 1e6, one.seconds) for one in found], strong=True),
        Line("counted before", [(one.tokens / 1e6, one.again) for one in found]),
        Line("1 s per 100K tokens", [(0.0, 0.0), (found[-1].tokens / 1e6, found[-1].tokens / 1e5)]),
    ]
    top = max(y for line in lines for _, y in line.points)
    step = next(step for step in (1, 2, 5, 10, 20, 50) if top / step <= 8)
    ups = [(float(n * step), f"{n * step} s") for n in range(int(top / step) + 2)]
    across = Scale(2.1, [(n / 2, f"{n / 2:g}M") for n in range(5)], "tokens of the context")
    title = "Seconds of compact, by the size of the context"
    return drawn(
        title,
        "the whole process, to a quarter of the tokens, processor time",
        lines,
        across,
        Scale(ups[-1][0], ups, "seconds"),
    )
