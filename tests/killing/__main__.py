"""`python -m tests.killing 300`: so many random kills, their figures, and each that was not recovered, with why."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from pathlib import Path

from tests.killing.rounds import Outcome, play


def main() -> int:
    """Exit 1 where anything that must never happen did, or fewer than 95 % were recovered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--keep", action="store_true", help="keep the folders of rounds that failed")
    given = parser.parse_args()
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "XDG_CONFIG_HOME": f"{home}/config"}
        for seed in range(given.seed, given.seed + given.rounds):
            folder = Path(tempfile.mkdtemp(prefix=f"round-{seed}-"))
            one = play(seed, folder, native=seed % 2 == 0)
            found.append(one)
            for line in (one.reason, *one.violations):
                if line:
                    print(f"round {seed} ({'native' if one.native else 'claude-code'}): {line}", flush=True)
            if given.keep and (one.reason or one.violations):
                print(f"  kept: {folder}")
            else:
                _remove(folder)
    print(*figures(found), sep="\n")
    return int(any(one.violations for one in found) or rate(found) < 0.95)


def rate(found: list[Outcome]) -> float:
    """How many of them were recovered."""
    return sum(not one.reason for one in found) / len(found)


def figures(found: list[Outcome]) -> list[str]:
    """What the rounds came to."""
    lines = []
    for name, some in (("native", [o for o in found if o.native]), ("claude-code", [o for o in found if not o.native])):
        if some:
            lines.append(
                f"{name}: {len(some)} kills, {sum(one.written for one in some)} rows, {sum(one.ran for one in some)} "
                f"commands, {sum(one.torn for one in some)} torn ends, {sum(one.appended for one in some)} went back, "
                f"{sum(bool(one.violations) for one in some)} violations, {rate(some):.1%} recovered"
            )
    why = Counter(one.reason.split(":")[0] for one in found if one.reason)
    return [*lines, *(f"not recovered: {count} × {reason}" for reason, count in why.most_common())]


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
