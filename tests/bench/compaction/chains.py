"""`just bench-chains`: questions answered after chains of 1, 5 and 20 compactions of a log that grows.

The prefix of each case with questions comes in equal parts, cut between steps. After each part the log is compacted to
a share of all its tokens so far; at the end the questions are scored. So all chains end at the same budget.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from ctxkit import Log
from ctxkit.core.messages import Content
from ctxkit.errors import NothingChanges
from ctxkit.formats.chat_lines import lines
from tests.bench.__main__ import ROOT
from tests.bench.compaction import honest
from tests.bench.compaction.cases import Case, borders, contents, read, tokens
from tests.bench.compaction.intervals import mean
from tests.bench.compaction.own import compact
from tests.bench.compaction.page import put
from tests.bench.compaction.questions import Asked, answered, asked
from tests.bench.compaction.readers import cell, half
from tests.bench.compaction.ready import all_cases
from tests.bench.compaction.sessions import Record, files
from tests.shared import SHARED

ROUNDS = (1, 5, 20)
SHARE = 25
"""Percent of all tokens so far, after each compaction."""
ENVIRONMENT = {"CTXKIT_COUNTER": "o200k_base"}


class Chain(NamedTuple):
    """One case after a chain: the shares of the keys and of the questions, and of the tokens that are left."""

    half: str
    main: bool
    way: str
    rounds: int
    keys: float
    questions: float
    used: float


def parts(records: Sequence[Record], count: int) -> list[list[Record]]:
    """These records in at most so many parts of about equal tokens, cut between steps."""
    log = read(records)
    sizes = [0, *accumulate(tokens(contents(log)))]
    places = borders(log)
    ends = [min(places, key=lambda n: abs(sizes[n] - sizes[-1] * k / count)) for k in range(1, count)]
    cuts = sorted({0, *ends, len(records)})
    return [list(records[start:end]) for start, end in pairwise(cuts)]


def size(some: Sequence[Record]) -> int:
    """Tokens of these records."""
    return sum(tokens(contents(read(some))))


def by_ops(some: Sequence[Sequence[Record]], share: int = SHARE) -> list[Content]:
    """One log that grows, and `ctxkit compact` after each part."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as folder:
        path, total = Path(folder) / "log.jsonl", 0
        for part in some:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in part)
            total += size(part)
            log = Log.open(path, env=ENVIRONMENT)
            try:
                log.compact(budget=total * share // 100, strategy="extract")
            except NothingChanges:
                continue
        log = Log.open(path, env=ENVIRONMENT)
        return [log.full(one) for one in log.entries()]


def of_itself(some: Sequence[Sequence[Record]], share: int = SHARE) -> list[Content]:
    """The naive chain: what a compaction left is all that the next one has."""
    left: list[Content] = []
    total = 0
    for part in some:
        total += size(part)
        left = compact([*lines(left), *part], total * share // 100, "extract")
    return left


def newest(some: Sequence[Sequence[Record]], share: int = SHARE) -> list[Content]:
    """The oldest steps dropped after each part."""
    left: list[Record] = []
    total = 0
    for part in some:
        left += part
        total += size(part)
        log = read(left)
        ends, found = borders(log), contents(log)
        sizes = [0, *accumulate(tokens(found))]
        starts = [place for place in [0, *ends] if sizes[-1] - sizes[place] <= total * share // 100]
        left = left[min(starts) :]
    return contents(read(left)) if left else []


WAYS: dict[str, Callable[[Sequence[Sequence[Record]]], list[Content]]] = {
    "ctxkit extract": by_ops, "extract of its own summaries": of_itself, "newest only": newest,
}  # fmt: skip


def chains(case: Case, ask: Asked) -> list[Chain]:
    """Every way, after each number of rounds."""
    total = size(case.prefix)
    found = []
    for rounds in ROUNDS:
        some = parts(case.prefix, rounds)
        for way, run in WAYS.items():
            made = run(some)
            keys, questions = answered(ask.questions, honest.whole(honest.said(made)))
            used = sum(tokens(made)) / total
            found.append(Chain(half(case), case.main, way, rounds, keys, questions, used))
    return found


def _of(given: tuple[Case, Asked]) -> list[Chain]:
    return chains(*given)


def table(found: Sequence[Chain]) -> Iterator[str]:
    """A row for each way and half."""
    yield (
        f"| | half | {' | '.join(f'keys, {n}' for n in ROUNDS)} | "
        f"{' | '.join(f'questions, {n}' for n in ROUNDS)} | tokens used, {ROUNDS[-1]} |"
    )
    yield "|---|---|" + "---|" * (2 * len(ROUNDS) + 1)
    for name in ("reported", "tuned"):
        for way in WAYS:
            some = [one for one in found if one.main and (one.half, one.way) == (name, way)]
            by = {n: [one for one in some if one.rounds == n] for n in ROUNDS}
            cells = [cell(mean([one.keys for one in by[n]])) for n in ROUNDS]
            cells += [cell(mean([one.questions for one in by[n]])) for n in ROUNDS]
            used = 100 * sum(one.used for one in by[ROUNDS[-1]]) / max(1, len(by[ROUNDS[-1]]))
            yield f"| {way} | {name} ({len(by[1])} cases) | {' | '.join(cells)} | {used:.1f} |"


def main() -> int:
    """Print the table; with --write, put it into docs/compaction.md."""
    words = argparse.ArgumentParser(prog="just bench-chains", description=__doc__)
    words.add_argument("--case", default="", metavar="NAME", help="cases with this in their name")
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--write", action="store_true", help="the table, into docs/compaction.md")
    given = words.parse_args()
    paths = files(SHARED)
    if not paths:
        print("the shared transcripts are not here", file=sys.stderr)
        return 2
    questions = {one.case: one for one in asked()}
    cases = [one for one in all_cases(paths) if one.name in questions and one.main and given.case in one.name]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("fork")) as pool:
        found = [one for some in pool.map(_of, [(case, questions[case.name]) for case in cases]) for one in some]
    print("\n".join(table(found)))
    if given.write and not given.case:
        put(ROOT, "chains", list(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
