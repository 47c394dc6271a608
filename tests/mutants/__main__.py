"""The power of the suite: each mutant of `faults.py` must be killed, `python -m tests.mutants [NAME...]`.

A mutant is put into a copy of the checkout. First the test file of the mutated module runs, then the tests of its room,
then the rest of the suite as every day runs it; the first failure ends it. Two mutants run at a time, each in a copy of
its own. What is printed: a line for each mutant, with the test that killed it, and a table at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.mutants.faults import MUTANTS, Mutant, Stale

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis", "*.egg-info", "build", "dist")
"""What a copy of the checkout does not have."""
OF_SOURCE = ("tests/test_mutants.py", "tests/test_architecture.py")
"""Tests that read the source instead of running it: that these notice a change proves nothing."""
AT_ONCE = 2
MOST = 2
"""The most mutants that the fast suite may leave to `.ci/full`."""
HANGS = 1800
"""Seconds after which a run hangs: three times what one test may take, and longer than the whole suite."""
MEMORY, SPACE = Path("/dev/shm"), 3 << 30
"""Where the copies are if so many bytes are free there: a disk takes long to make folders, as conftest.py says."""
_FIRST = re.compile(r"^FAILED (tests/.+?) \((?:setup|call|teardown)\): ", re.M)
"""The line that conftest.py prints at once for a test that fails."""
_stamps = count(int(time.time()) - 1_000_000, 10)
"""Times of changed files, none twice: compiled code is taken for current if size and second are the same."""


class Fate(NamedTuple):
    """What became of a mutant. `by`: the test that killed it, "" if it survived; `fault`: why nothing can be said."""

    mutant: Mutant
    by: str
    seconds: float
    fault: str = ""

    @property
    def words(self) -> str:
        """The same for a line of the table."""
        if self.fault:
            return f"ERROR: {self.fault}"
        if self.by:
            return f"killed by {self.by}"
        return f"left to {self.mutant.full}" if self.mutant.full else "SURVIVED"


class Copy:
    """A copy of the checkout, in which one mutant after the other is tried."""

    def __init__(self, folder: Path) -> None:
        self.root, self.own = folder / "copy", folder / "files"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        self.env = _environment(self.root)

    def tried(self, mutant: Mutant) -> Fate:
        """Put the mutant in, run the tests, and put the file back."""
        began, path = time.monotonic(), self.root / mutant.path
        whole = path.read_text(encoding="utf-8")
        try:
            _write(path, mutant.applied(whole))
            by = self._killer(mutant)
            if by:
                _write(path, whole)
                if self._failed([by]):
                    raise _Unclear(f"{by} fails without the fault, too")
        except (Stale, _Unclear) as error:
            return Fate(mutant, "", time.monotonic() - began, str(error))
        finally:
            _write(path, whole)
        return Fate(mutant, by, time.monotonic() - began)

    def _killer(self, mutant: Mutant) -> str:
        """The first test that fails, and fails again alone: what fails now and then proves nothing. "" if all pass."""
        self._check_imports()
        room, own = f"tests/{mutant.room}", mutant.own_tests
        near = [[own], [room, f"--ignore={own}"]] if (self.root / own).is_file() else [[room]]
        rest = ["-n", "2", *(f"--ignore={one}" for one in (room, *OF_SOURCE))]
        for words in (*near, rest):
            while by := self._failed(words):
                if self._failed([by]):
                    return by
                words = [*words, f"--deselect={by}"]
        return ""

    def _failed(self, words: Sequence[str]) -> str:
        """The first test that fails in a run of pytest; "" if all pass."""
        if self.own.exists():
            shutil.rmtree(self.own, ignore_errors=True)
        self.own.mkdir()
        started = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--color=no"]
        base = f"--basetemp={self.own / 'base'}"
        try:
            ran = subprocess.run(
                [*started, base, *words], cwd=self.root, env={**self.env, "TMPDIR": str(self.own)},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=HANGS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _Unclear(f"the tests take over {HANGS} s: {' '.join(words)}") from error
        if ran.returncode in (0, 5):  # all passed; no test is there
            return ""
        found = _FIRST.search(ran.stdout)
        if ran.returncode not in (1, 2) or found is None:  # 2: of several processes
            last = "\n".join((ran.stdout + ran.stderr).strip().splitlines()[-5:])
            raise _Unclear(f"pytest {' '.join(words)} ended with {ran.returncode}: {last}")
        return found[1]

    def _check_imports(self) -> None:
        """Whether a program that is started elsewhere imports the mutant, not the checkout or what is installed."""
        code = "import ctxkit; print(ctxkit.__file__)"
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=self.own.parent, env=self.env, capture_output=True, text=True, check=False
        )
        if not ran.stdout.startswith(str(self.root)):
            raise _Unclear(f"ctxkit is imported from {ran.stdout.strip() or ran.stderr.strip()[-200:]}, not the copy")


class _Unclear(Exception):
    """The tests could not be run, so that nothing is known about a mutant."""


def _environment(root: Path) -> dict[str, str]:
    """The environment of the tests: the copy's package comes before the installed one, and there are no real sessions.

    So it is on a stranger's machine, where the suite must notice a fault, too.
    """
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join([str(root), *([before] if before else [])])
    env["CTXKIT_SHARED"] = str(root.parent / "none")
    return env


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    stamp = next(_stamps)
    os.utime(path, (stamp, stamp))


def run(mutants: Sequence[Mutant]) -> list[Fate]:
    """Try these mutants, two at a time, and print a line for each."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > SPACE
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=MEMORY if roomy else None) as folder:
        free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(min(AT_ONCE, len(mutants))):
            (own := Path(folder) / str(number)).mkdir()
            free.put(Copy(own.resolve()))

        def tried(mutant: Mutant) -> Fate:
            copy = free.get()
            try:
                fate = copy.tried(mutant)
            finally:
                free.put(copy)
            print(f"{mutant.name}: {fate.words} ({fate.seconds:.0f} s)", flush=True)
            return fate

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(tried, mutants))


def table(fates: Sequence[Fate]) -> str:
    """What became of each mutant, as lines with aligned columns."""
    rows = [("mutant", "room", "seconds", "")]
    rows += [(one.mutant.name, one.mutant.room, f"{one.seconds:.0f}", one.words) for one in fates]
    wide = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d}".rstrip() for a, b, c, d in rows)


def is_well(fates: Sequence[Fate]) -> bool:
    """Whether each mutant could be tried, and was killed; at most two may be left to `.ci/full`, which says how."""
    alive = [one for one in fates if not one.by]
    return not any(one.fault or not one.mutant.full for one in alive) and len(alive) <= MOST


def main() -> int:
    """Exit 1 if a mutant survives that `.ci/full` does not kill, or no longer applies."""
    parser = argparse.ArgumentParser(prog="just mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--list", action="store_true", help="the mutants and their faults; nothing is run")
    asked = parser.parse_args()
    known = {one.name: one for one in MUTANTS}
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"no mutant {', '.join(unknown)}: --list names them")
    chosen = [known[name] for name in asked.names] or list(MUTANTS)
    if asked.list:
        print(*(f"{one.name} ({one.room}, {one.path}): {one.fault}" for one in chosen), sep="\n")
        return 0
    began = time.monotonic()
    fates = run(chosen)
    killed = sum(bool(one.by) for one in fates)
    print(f"\n{table(fates)}\n\n{killed} of {len(fates)} killed, {time.monotonic() - began:.0f} s")
    return 0 if is_well(fates) else 1


if __name__ == "__main__":
    sys.exit(main())
