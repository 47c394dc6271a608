"""`just bench-ablation`: what `extract` loses without a group of its rules, each group taken out alone.

A group is a factor, a class of patterns, or a part of the summary. Taken out means: a factor is 1, an exponent 0, a
pattern matches nothing, a part is not written. Scorers are those of `readers.py`, which share nothing with the rules.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.bench.compaction import honest
from tests.bench.compaction.ablation_groups import GROUPS, Change
from tests.bench.compaction.cases import contents, read
from tests.bench.compaction.questions import asked
from tests.bench.compaction.readers import Honest, Scored, groups, run
from tests.bench.compaction.ready import all_cases, ready
from tests.bench.compaction.sessions import files
from tests.shared import SHARED

BUDGETS = (10, 25, 40)
FIGURES = ("FRR_ctx", "VLR", "questions", "errors", "commands", "decisions", "pending", "user", "code")


@contextmanager
def without(changes: Sequence[Change]) -> Iterator[None]:
    """Makes the changes in every module that has the name, and takes them back."""
    held = []
    for target, value in changes:
        module_name, _, path = target.partition(":")
        owner: Any = importlib.import_module(f"ctxkit.{module_name}")
        *way, name = path.split(".")
        for one in way:
            owner = getattr(owner, one)
        old = getattr(owner, name)
        owners = [owner]
        if not way:
            owners += [
                module
                for key, module in list(sys.modules.items())
                if key.startswith("ctxkit.") and module is not owner and vars(module).get(name, held) is old
                and _imports(module, owner.__name__, name)
            ]  # fmt: skip
        for one in owners:
            held.append((one, name, old))
            setattr(one, name, value(old) if callable(value) and not isinstance(value, type(re.compile(""))) else value)
    try:
        yield
    finally:
        for one, name, old in reversed(held):
            setattr(one, name, old)


def _imports(module: Any, source: str, name: str) -> bool:
    with open(module.__file__, encoding="utf-8") as file:
        text = file.read()
    return re.search(rf"from {re.escape(source)} import (?:\([^)]*|[^\n]*)\b{name}\b", text) is not None


_own: list[Honest] = []
_generic: frozenset[honest.Item] = frozenset()


def _prepare() -> None:
    global _generic
    questions = {one.case: one for one in asked()}
    cases = [case for case in all_cases(files(SHARED)) if not case.beyond or case.name in questions]
    said = {case.name: honest.said(contents(read(case.prefix))) for case in cases}
    _generic = honest.common((case.repository, said[case.name]) for case in cases)
    for case in cases:
        one, prefix = ready(case), said[case.name]
        later = honest.later(prefix, honest.said(contents(read(case.suffix))))
        _own.append(Honest(one, later, honest.facts(prefix), questions.get(case.name)))


def _of(place: int) -> list[Scored]:
    made = (run(_own[place], "ctxkit extract", budget, _generic) for budget in BUDGETS)
    return [one for one in made if one is not None]


def figures(jobs: int) -> dict[str, dict[str, float]]:
    """Half and budget -> measure -> mean in percent."""
    order = sorted(range(len(_own)), key=lambda place: -_own[place].one.total)
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        runs = [one for some in pool.map(_of, order) for one in some]
    found: dict[str, dict[str, float]] = {}
    sets = [*groups(runs), *((half, [one for one in runs if one.half == half]) for half in ("reported", "tuned"))]
    sets += [("other programs", [one for one in runs if not one.main])]
    for label, rows in sets:
        for budget in BUDGETS:
            means = {}
            for name in FIGURES:
                values = [one.scores[name] for one in rows if one.budget == budget]
                there = [value for value in values if value is not None]
                if there:
                    means[name] = round(100 * sum(there) / len(there), 2)
            found[f"{label} {budget}"] = means
    return found


def worst(start: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What falls by a point or more: half, budget, measure, by how much."""
    return [
        f"{label} {name} {now[label][name] - value:+.1f}"
        for label, means in start.items()
        for name, value in means.items()
        if name in ("FRR_ctx", "questions", "errors") and now[label].get(name, 0) < value - 1
    ]


def gain(start: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Measure -> mean change over halves (of Claude Code and Codex) and budgets, in points."""
    labels = [label for label in start if "other" not in label]
    return {
        name: round(sum(now[label][name] - start[label][name] for label in labels) / len(labels), 2)
        for name in FIGURES
        if all(name in start[label] for label in labels)
    }


def breaks(start: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Which of the limits of an elimination do not hold: they stop it."""
    found = [
        f"{half} {budget} {name} {now[label][name] - start[label][name]:+.1f}"
        for half in ("reported", "tuned")
        for budget in BUDGETS
        for label in [f"{half} {budget}"]
        for name in ("FRR_ctx", "questions", "errors")
        if now[label][name] < start[label][name] - 1
    ]
    for half in ("reported half", "tuned half"):
        if (value := now[f"{half} 10"]["decisions"]) < DECISIONS:
            found.append(f"{half} 10 decisions {value}")
    if (value := now["other programs 25"]["VLR"]) < LINES:
        found.append(f"other programs 25 VLR {value}")
    return found


DECISIONS, LINES = 95, 85


def backward(start: dict[str, dict[str, float]], names: Sequence[str], jobs: int) -> Iterator[tuple[str, bool]]:
    """Takes the groups out one after the other, while the limits hold beside the start; yields each with whether it
    stays out.
    """
    out: list[str] = []
    for name in names:
        with without([change for one in (*out, name) for change in GROUPS[one]]):
            now = figures(jobs)
        wrong = breaks(start, now)
        if not wrong:
            out.append(name)
        print(f"{'out ' if not wrong else 'stays'} {name:28}", end=" ")
        _say("", start, now)
        print(f"      {'; '.join(wrong)}", flush=True)
        yield name, not wrong


def main() -> int:
    """Prints a line for each group: what changes without it, and what falls by a point."""
    words = argparse.ArgumentParser(prog="just bench-ablation", description=__doc__)
    words.add_argument("--group", action="append", metavar="NAME", help="only these; may be repeated")
    words.add_argument("--all-of", action="append", metavar="NAME", default=[], help="these are out at all times")
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--start", metavar="FILE", help="figures to compare with, as --json writes them")
    words.add_argument("--backward", action="store_true", help="the groups one after the other, the given order")
    words.add_argument("--json", metavar="FILE", help="all figures")
    given = words.parse_args()
    _prepare()
    base = [change for name in given.all_of for change in GROUPS[name]]
    with without(base):
        found = {"": figures(given.jobs)}
        start = json.loads(Path(given.start).read_text())[""] if given.start else found[""]
        _say("start" if not base else "with these out", start, found[""])
        if given.backward:
            out = [name for name, is_out in backward(start, given.group or list(GROUPS), given.jobs) if is_out]
            print("out:", *out, sep="\n  ")
            return 0
        for name in given.group if given.group is not None else GROUPS:
            if name in given.all_of:
                continue
            with without(GROUPS[name]):
                found[name] = figures(given.jobs)
            _say(name, start, found[name])
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    return 0


def _say(name: str, start: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> None:
    means = " ".join(f"{key}{value:+.1f}" for key, value in gain(start, now).items())
    print(f"{name:28} {means}\n{'':30}{'; '.join(worst(start, now)) or '-'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
