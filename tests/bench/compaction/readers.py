"""`just bench-readers`: what a reader needs to go on, in condensed real sessions, by independent scorers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import NamedTuple

from ctxkit.core.messages import Content
from tests.bench.__main__ import ROOT
from tests.bench.compaction import honest, others
from tests.bench.compaction.cases import Case, contents, read, tokens
from tests.bench.compaction.intervals import Mean, mean
from tests.bench.compaction.measures import share
from tests.bench.compaction.own import TRIMS
from tests.bench.compaction.page import PAGE, put, section
from tests.bench.compaction.questions import DIGESTS, KINDS, PRESENT, Asked, answered, asked, found
from tests.bench.compaction.ready import Ready, all_cases, ready
from tests.bench.compaction.runs import STRATEGIES
from tests.bench.compaction.sessions import files
from tests.shared import SHARED

BUDGETS = (10, 25, 40)
NAMES = ("ctxkit extract", *TRIMS, "observation masking", "drop the oldest", *others.there())
ORDER = (
    "drop the oldest", "observation masking", *TRIMS, "ctxkit extract", "ctxkit extract, before", "cozempic",
    "goosedump",
)  # fmt: skip
"""Of the rows of a table."""
EVERY = {**STRATEGIES, **TRIMS, **others.there()}
MEASURES = ("FRR_ctx", "paths", "VLR", "keys", "questions", *honest.CLASSES)
BY_KIND = ("past", "present", *KINDS)
"""Keys found of questions with a kind: of those in `PRESENT`, of the others, and of each kind."""


class Scored(NamedTuple):
    """One strategy on one case at one budget. `used`: share of the prefix's tokens that are left."""

    case: str
    half: str
    main: bool
    strategy: str
    budget: int
    scores: dict[str, float | None]
    used: float


class Honest(NamedTuple):
    """A case with what does not depend on a strategy."""

    one: Ready
    later: honest.Later
    facts: dict[str, list[str]]
    asked: Asked | None


def half(case: Case) -> str:
    """The half of a case: `tuned` or `reported`."""
    return "tuned" if case.half == "odd" else "reported"


def main() -> int:
    """Print a line for each strategy, budget and half."""
    words = argparse.ArgumentParser(prog="just bench-readers", description=__doc__)
    words.add_argument("--half", choices=("tuned", "reported", "all"), default="all")
    words.add_argument("--strategy", action="append", metavar="NAME", help="by its whole name; may be repeated")
    words.add_argument("--budget", type=int, action="append", metavar="P", help="percent; may be repeated")
    words.add_argument(
        "--asked", nargs="?", const="questions", choices=DIGESTS, help="only cases with questions; those of which file"
    )
    words.add_argument("--misses", action="store_true", help="the keys that were not found too")
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--write", action="store_true", help="the rows of what was run, into docs/compaction.md")
    given = words.parse_args()
    paths = files(SHARED)
    if not paths:
        print("the shared transcripts are not here", file=sys.stderr)
        return 2
    questions = {one.case: one for one in asked(given.asked or "questions")}
    cases = [
        case
        for case in all_cases(paths)
        if given.half in ("all", half(case)) and (not case.beyond or case.name in questions)
    ]
    cases = [case for case in cases if not given.asked or case.name in questions]
    todo = (cases, questions, given.strategy or NAMES, given.budget or BUDGETS, given.misses)
    runs = list(scored(*todo, jobs=given.jobs))
    if given.write:
        before = section("readers").search((ROOT / PAGE).read_text(encoding="utf-8"))
        put(ROOT, "readers", list(page(runs, before[0] if before else "")))
    for label, rows in groups(runs):
        print(f"\n{label}")
        print("\n".join(table(rows)))
        if "present" in rows[0].scores:
            print("\n".join(table(rows, BY_KIND)))
    print("\n".join(worth_less(runs, {name: len(one.questions) for name, one in questions.items()})))
    return 0


def worth_less(runs: Sequence[Scored], questions: Mapping[str, int]) -> Iterator[str]:
    """A line for each case and strategy with a larger budget that finds keys of more than one question less than the
    next smaller one. `questions`: how many each case has.
    """
    ordered = sorted(runs, key=lambda run: (run.strategy, run.case, run.budget))
    for one, more in pairwise(ordered):
        before, after = one.scores["keys"], more.scores["keys"]
        if (one.strategy, one.case) != (more.strategy, more.case) or before is None or after is None:
            continue
        if (lost := questions[one.case] * (before - after)) > 1 + SLACK:
            yield f"more room is worth less: {one.case}, {one.strategy}, {one.budget} > {more.budget} %: {lost:.1f}"


SLACK = 1e-9
"""Of sums of shares."""
LABELS = (
    "reported half", "reported half, other programs", "tuned half", "tuned half, other programs", "fresh half",
    "unseen half",
)  # fmt: skip
"""Of the tables, in their order."""


def groups(runs: Sequence[Scored]) -> Iterator[tuple[str, list[Scored]]]:
    """The runs by half, those of Claude Code and Codex apart from the others; each with its name."""
    for label in LABELS:
        name, main = label.split()[0], not label.endswith("programs")
        if rows := [run for run in runs if run.half == name and run.main == main]:
            yield label, rows


def page(runs: Sequence[Scored], before: str = "") -> Iterator[str]:
    """The tables of the page: for each group, a row for each strategy and budget.

    `before`: the tables that are there; a strategy that was not run keeps its rows, a half its tables.
    """
    names = {
        "FRR_ctx": "FRR_ctx", "VLR": "VLR", "keys": "keys found", "questions": "questions answered",
        "errors": "errors", "open errors": "open errors",
    }  # fmt: skip
    made = dict(groups(runs))
    for label in LABELS:
        if label not in made:
            yield from _section(before, label)
            continue
        rows, old = made[label], _old(before, label)
        cases = max(len({run.case for run in rows}), old[0])
        own = f"questions_{label.removesuffix(' half')}"
        name = own if own in DIGESTS else "questions"
        questions = sum(len(one.questions) for one in asked(name) if one.case in {run.case for run in rows})
        yield f"**{label.capitalize()}** ({cases} cases, {max(questions, old[1])} questions)"
        yield ""
        yield f"| | tokens | {' | '.join(names.values())} | used |"
        yield f"|---|---|{'---|' * len(names)}---|"
        found = dict(old[2])
        for name in dict.fromkeys(run.strategy for run in rows):
            found[name] = []
            for budget in dict.fromkeys(run.budget for run in rows):
                if some := [run for run in rows if (run.strategy, run.budget) == (name, budget)]:
                    cells = [cell(mean([run.scores[measure] for run in some])) for measure in names]
                    used = 100 * sum(run.used for run in some) / len(some)
                    told = name if len(some) == cases else f"{name} ({len(some)} cases)"
                    found[name].append(f"| {told} | {budget} % | {' | '.join(cells)} | {used:.1f} |")
        for name in sorted(found, key=lambda one: ORDER.index(one) if one in ORDER else len(ORDER)):
            yield from found[name]
        yield ""


def _section(page: str, label: str) -> Iterator[str]:
    """The lines of the table of this label, as they are."""
    found = re.search(rf"^\*\*{label.capitalize()}\*\* .*?(?=^\*\*|^<!--|\Z)", page, re.M | re.S)
    if found is not None:
        yield from [*found[0].rstrip("\n").split("\n"), ""]


def _old(page: str, label: str) -> tuple[int, int, dict[str, list[str]]]:
    """Cases, questions, and the rows of each strategy in the table of this label."""
    head = re.search(
        rf"^\*\*{label.capitalize()}\*\* \((\d+) cases, (\d+) questions\)\n(.*?)(?=^\*\*|\Z)", page, re.M | re.S
    )
    if head is None:
        return 0, 0, {}
    rows: dict[str, list[str]] = {}
    for row in re.findall(r"^\| [\w`].*$", head[3], re.M):
        name = re.sub(r" \(\d+ cases\)$", "", row.split(" | ")[0].removeprefix("| "))
        rows.setdefault(name, []).append(row)
    return int(head[1]), int(head[2]), rows


def cell(one: Mean | None) -> str:
    """A mean with its interval, in percent."""
    return "" if one is None else f"{100 * one.mean:.1f} ({100 * one.low:.0f} to {100 * one.high:.0f})"


def table(runs: Sequence[Scored], measures: Sequence[str] = MEASURES) -> Iterator[str]:
    """Means with intervals, a line for each strategy and budget."""
    yield f"{'':22}  %   n  " + "  ".join(f"{name[:16]:>16}" for name in measures) + "   used"
    for name, budget in dict.fromkeys((run.strategy, run.budget) for run in runs):
        some = [run for run in runs if (run.strategy, run.budget) == (name, budget)]
        means = [mean([run.scores.get(measure) for run in some]) for measure in measures]
        cells = [
            f"{'-':>16}"
            if one is None
            else f"{100 * one.mean:5.1f} ({100 * one.low:3.0f}-{100 * one.high:3.0f})".rjust(16)
            for one in means
        ]
        used = sum(run.used for run in some) / len(some)
        yield f"{name:22} {budget:2} {len(some):3}  " + "  ".join(cells) + f"  {100 * used:5.1f}"


def scored(
    cases: Sequence[Case],
    questions: dict[str, Asked],
    names: Sequence[str],
    budgets: Sequence[int],
    misses: bool,
    jobs: int,
) -> Iterator[Scored]:
    """Every strategy at every budget on every case."""
    said = {case.name: honest.said(contents(read(case.prefix))) for case in cases}
    generic = honest.common((case.repository, said[case.name]) for case in cases)
    given = [(case, questions.get(case.name), names, budgets, generic, misses) for case in cases]
    if jobs < 2:
        for one in given:
            yield from _of(one)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for some in pool.map(_of, given):
            yield from some


def _of(
    given: tuple[Case, Asked | None, Sequence[str], Sequence[int], frozenset[honest.Item], bool],
) -> list[Scored]:
    case, ask, names, budgets, generic, misses = given
    one = ready(case)
    prefix = honest.said(one.contents)
    own = Honest(one, honest.later(prefix, honest.said(contents(read(case.suffix)))), honest.facts(prefix), ask)
    made = (run(own, name, budget, generic, misses) for name in names for budget in budgets)
    return [found for found in made if found is not None]


def run(own: Honest, name: str, budget: int, generic: frozenset[honest.Item], misses: bool = False) -> Scored | None:
    """One strategy at one budget (percent of the prefix's tokens); None where it gives nothing."""
    case = own.one.case
    make: Callable[[Ready, int], object] = EVERY[name]
    made = make(own.one, own.one.total * budget // 100)
    if not isinstance(made, list):
        print(f"{case.name}, {name}, {budget} %: {made}", file=sys.stderr, flush=True)
        return None
    if misses and own.asked is not None:
        _missed(own.asked, honest.whole(honest.said(made)), f"{case.name} {name} {budget}")
    scores = scores_of(own, made, generic)
    part = half(case) if own.asked is None else own.asked.half
    return Scored(case.name, part, case.main, name, budget, scores, sum(tokens(made)) / own.one.total)


def scores_of(own: Honest, made: Sequence[Content], generic: frozenset[honest.Item]) -> dict[str, float | None]:
    """What a compacted context scores."""
    text = honest.whole(honest.said(made))
    items, lines = honest.recall(own.later, generic, text)
    paths, _ = honest.recall(honest.paths(own.later), generic, text)
    scores: dict[str, float | None] = {
        "FRR_ctx": share(*items), "paths": share(*paths), "VLR": share(*lines), "keys": None, "questions": None
    }  # fmt: skip
    if own.asked is not None:
        scores["keys"], scores["questions"] = answered(own.asked.questions, text)
        scores |= by_kind(own.asked, text)
    there = honest.kept(own.facts, text)
    return scores | {measure: share(*there.get(measure, (0, 0))) for measure in honest.CLASSES}


def by_kind(one: Asked, text: str) -> dict[str, float | None]:
    """The share of the keys found, of the questions of each kind; nothing where they have none."""
    kinds = {kind: [ask for ask in one.questions if ask.kind == kind] for kind in KINDS}
    kinds["present"] = [ask for ask in one.questions if ask.kind in PRESENT]
    kinds["past"] = [ask for ask in one.questions if ask.kind in KINDS and ask.kind not in PRESENT]
    return {kind: answered(some, text)[0] for kind, some in kinds.items() if some}


def _missed(one: Asked, text: str, label: str) -> None:
    lost = [(ask.ask, key) for ask in one.questions for key in ask.keys if not found(key, text)]
    print(label, *(f"   {ask}  {key}" for ask, key in lost), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
