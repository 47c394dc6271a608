"""`just bench-compact`: how much of what was needed later a compacted context still has, on real sessions."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ctxkit.cut.rank.facts import CLASSES
from tests.bench.compaction import made
from tests.bench.compaction.intervals import mean
from tests.bench.compaction.measures import MEASURES
from tests.bench.compaction.own import OWN
from tests.bench.compaction.ready import Ready, all_cases, generic, ready
from tests.bench.compaction.runs import STRATEGIES, Run, all_runs
from tests.bench.compaction.sessions import MADE, files
from tests.bench.compaction.writing import BUDGETS, write
from tests.shared import SHARED


def main() -> int:
    """Run, and print a line for each strategy and budget; with --write, put tables and pictures into docs/.

    2 where there is nothing to write of: what is measured on made sessions is no figure.
    """
    asked = _asked()
    start = time.monotonic()
    if asked.write and not files(SHARED):
        print("the shared transcripts are not here: nothing was written", file=sys.stderr)
        return 2
    paths = at_hand(made_ones=asked.made and not asked.write)
    everything = [ready(case) for case in all_cases(paths)]
    common = generic(everything)
    if asked.write:
        write(everything, paths, common, asked.jobs, asked.part)
        print(f"{time.monotonic() - start:.1f} s")
        return 0
    chosen = [one for one in everything if _is_chosen(one, asked)][: asked.cases]
    names = [name for name in STRATEGIES if asked.only is None or (name in OWN) == (asked.only == "ctxkit")]
    names = [name for name in names if not asked.strategy or any(part in name for part in asked.strategy)]
    sessions = len({one.case.session for one in chosen})
    print(f"{len(chosen)} cases of {sessions} sessions ({asked.half}), {sum(one.total for one in chosen):,} tokens of "
          f"prefixes; {len(common):,} generic items; read in {time.monotonic() - start:.1f} s", flush=True)  # fmt: skip
    runs = []
    for done in all_runs(chosen, names, asked.budget or BUDGETS, common, asked.jobs):
        runs.append(done)
        if asked.verbose:
            print(line(f"  {done.case}", [done]), flush=True)
    print(f"{'':32}   %   n    FRR   ctx   VLR     H |  {' '.join(f'{name[:9]:>9}' for name in CLASSES)} |  used  s")
    for name in names:
        for budget in asked.budget or BUDGETS:
            print(line(name, [one for one in runs if (one.strategy, one.budget) == (name, budget)]))
    print(f"{time.monotonic() - start:.1f} s")
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just bench-compact", description=__doc__)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="all", help="tuned on odd, reported on even")
    parser.add_argument("--only", choices=("ctxkit", "baselines"), help="these strategies")
    parser.add_argument("--strategy", action="append", metavar="NAME", help="with this in its name; may be repeated")
    parser.add_argument("--cases", type=int, metavar="N", help="the first N cases")
    parser.add_argument("--case", default="", metavar="NAME", help="cases with this in their name")
    parser.add_argument("--budget", type=int, action="append", metavar="P", help="percent; may be repeated")
    parser.add_argument("--others", action="store_true", help="cases of other formats than Claude Code and Codex")
    parser.add_argument("--uncapped", action="store_true", help="more than 12 cases of a repository, too")
    parser.add_argument("--made", action="store_true", help="on made sessions instead of the real ones")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (default 2)")
    parser.add_argument("--verbose", action="store_true", help="a line for each case too")
    parser.add_argument("--write", action="store_true", help="all of it, into docs/compaction.md and docs/pictures")
    parser.add_argument("--part", choices=("recall", "models", "speed", "goosedump"), help="of --write: this alone")
    return parser.parse_args()


def _is_chosen(one: Ready, asked: argparse.Namespace) -> bool:
    case = one.case
    whose = case.main != asked.others and (asked.uncapped or not case.beyond)
    return whose and asked.half in ("all", case.half) and asked.case in case.name


def at_hand(made_ones: bool) -> list[Path]:
    """The real sessions; where they are not at hand, or not wanted, some that are made."""
    found = [] if made_ones else files(SHARED)
    if found:
        return found
    if not made_ones:
        print("the shared transcripts are not here: made sessions take their place", file=sys.stderr)
    folder = Path(tempfile.mkdtemp(prefix="ctxkit-bench-")) / MADE
    folder.mkdir()
    return made.write(folder)


def line(label: str, runs: Sequence[Run]) -> str:
    """Means of these runs, which are of one strategy and budget."""
    done = [one for one in runs if not one.why]
    if not done:
        return f"{label[:32]:32} {runs[0].budget:3}  skipped: {runs[0].why}" if runs else label
    means = {name: mean([one.scores[name] for one in done]) for name in MEASURES}
    cells = {name: "  -  " if one is None else f"{100 * one.mean:5.1f}" for name, one in means.items()}
    first = " ".join(cells[name] for name in ("FRR", "FRR_ctx", "VLR", "H"))
    rest = " ".join(f"{cells[name]:>9}" for name in CLASSES)
    used, took = sum(one.share for one in done) / len(done), sum(one.seconds for one in done)
    return f"{label[:32]:32} {done[0].budget:3} {len(done):3}  {first} |  {rest} | {100 * used:5.1f} {took:.1f}"


if __name__ == "__main__":
    sys.exit(main())
