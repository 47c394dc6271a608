"""`python -m tests.fuzz --seconds 60`: so long on each format; each input is judged, each distinct bug made smaller.

Input N of a format is the same in every run: `--only codex --number 17` repeats one. A bug's input is written below
`--keep`, with the sidecar that it needs; what is mended stays in `fixtures/fuzz/found`, which the tests run.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.judge import Bug, judged
from tests.fuzz.seeds import FAMILIES, Case, drawn

MEMORY = 3 << 30
TRIES = 120
"""Smaller inputs that are tried for a bug."""


def verdict(case: Case, family: str, number: int, nets: Counter[str] | None = None, most: int = 6) -> list[Bug]:
    """What is wrong with input `number`: the dice of its commands are its own."""
    return judged(case, random.Random(f"commands {family} {number}"), nets=nets, most=most)


def smaller(case: Case, still: Callable[[Case], bool]) -> Case:
    """The same bug with fewer files and lines, as far as some tries go."""
    tries = TRIES

    def better(files: dict[str, bytes]) -> bool:
        nonlocal tries
        tries -= 1
        return tries > 0 and still(Case(case.name, files))

    files = dict(case.files)
    for name in [name for name in files if name != case.name]:
        without = {key: raw for key, raw in files.items() if key != name}
        files = without if better(without) else files
    for name in files:
        size = max(len(files[name].splitlines()) // 2, 1)
        while size:
            at = 0
            while at < len(lines := files[name].splitlines(keepends=True)) and len(lines) > 1:
                less = {**files, name: b"".join(lines[:at] + lines[at + size :])}
                if better(less):
                    files = less
                else:
                    at += size
            size //= 2
    return Case(case.name, files)


def main() -> int:
    """Run it, and print what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--only", choices=FAMILIES, action="append", help="this format; can be repeated")
    parser.add_argument("--number", type=int, help="this input alone: as in a run, then by every command")
    parser.add_argument("--start", type=int, default=0, help="the first input's number")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-found", help="a folder")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    home = tempfile.mkdtemp(prefix="fuzz-home-")
    os.environ.update(HOME=home, XDG_CACHE_HOME=f"{home}/cache", COLUMNS="80", TZ="UTC", PAGER="cat", LANG="C.UTF-8")
    bugs: dict[str, tuple[str, int, str]] = {}
    nets: Counter[str] = Counter()
    total = 0
    for family in asked.only or FAMILIES:
        began, number, seen = time.monotonic(), asked.start if asked.number is None else asked.number, 0
        while time.monotonic() < began + asked.seconds:
            case = drawn(family, number)
            found = verdict(case, family, number, nets)
            if asked.number is not None:
                found += verdict(case, family, number, nets, 1000)
            for bug in found:
                if bug.key not in bugs:
                    bugs[bug.key] = (family, number, bug.text)
                    print(f"{family} {number}: {bug.key}\n  {bug.text}", flush=True)
                    kept(asked.keep, case, family, number, bug.key)
            seen, number = seen + 1, number + 1
            if asked.number is not None:
                break
        total += seen
        print(f"{family}: {seen} inputs, {time.monotonic() - began:.0f} s", flush=True)
    for key, count in nets.most_common():
        print(f"caught by a net: {count} x {key}")
    print(f"{total} inputs, {len(bugs)} distinct bugs")
    for key, (family, number, _) in bugs.items():
        print(f"  --only {family} --number {number}: {key}")
    return 1 if bugs else 0


def kept(folder: Path, case: Case, family: str, number: int, key: str) -> None:
    """The input of a bug, as small as it could be made."""
    less = smaller(case, lambda one: any(bug.key == key for bug in verdict(one, family, number)))
    slug = "".join(char if char.isalnum() else "-" for char in key.lower())
    place = folder / f"{family}-{number}-{slug}"
    place.mkdir(parents=True, exist_ok=True)
    less.put(place)


if __name__ == "__main__":
    sys.exit(main())
