"""What runs on a push and what runs whole: scripts that bash can read, modules that are there, limits that add up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import effort

ROOT = Path(__file__).resolve().parents[1]
FULL = (ROOT / ".ci/full").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["run", "full"])
def test_bash_reads_it(name: str) -> None:
    """No error of syntax waits for a night."""
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / name)], check=True, timeout=60)


def test_the_steps_of_the_full_run() -> None:
    """Each has a limit, an hour in all at most; each module and script is there, and each of `just torture`."""
    assert sum(map(int, re.findall(r"\bstep (\d+) ", FULL))) <= 60
    modules = re.findall(r"-m (tests\.[a-z.]+)", FULL)
    justfile = (ROOT / "justfile").read_text(encoding="utf-8").partition("\ntorture:\n")[2].partition("\n\n")[0]
    torture = set(re.findall(r"-m (tests\.[a-z.]+)", justfile))
    assert len(torture) == 3 and {"tests.fuzz", "tests.resume", *torture} <= set(modules)
    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
    for extra in ("fleet", "fleet-ray"):
        assert re.search(rf"^step \d+ sh tests/fleet/alone.sh {extra}\b", FULL, re.M), extra
    assert "tests/smoke.sh" in FULL and (ROOT / "tests/smoke.sh").is_file() and ".ci/run" in FULL


def test_a_push_runs_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of examples, of other things and of every so many points; `--whole` runs all of each."""
    monkeypatch.setattr(effort, "WHOLE", False)
    assert [effort.examples(n) for n in (10, 60, 6000)] == [10, effort.LEAST, 6000 // effort.PART]
    assert (effort.part(200), effort.part(1), effort.one_of(7)) == (200 // effort.PART, 1, 7)
    pieces = [effort.some(range(10), 3, case) for case in range(3)]
    assert sorted(n for piece in pieces for n in piece) == [*range(10)]
    monkeypatch.setattr(effort, "TIMES", 4)
    assert [effort.examples(n) for n in (20, 6000)] == [20, 4 * (6000 // effort.PART)]
    assert effort.part(200) == 4 * (200 // effort.PART)
    assert (effort.one_of(47), effort.one_of(3), len(effort.some(range(10), 3))) == (11, 1, 10)
    monkeypatch.setattr(effort, "WHOLE", True)
    assert (effort.examples(60), effort.part(200), effort.one_of(7), len(effort.some("abc", 3))) == (60, 200, 1, 3)
