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
    """Each module and script is there, and each of `just torture`."""
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


def test_the_full_run_ends_within_the_hour() -> None:
    """A step never gets more than what is left of it; without any left it is not run, and fails."""
    step = re.search(r"^step\(\) \{.*?^\}$", FULL, re.M | re.S)
    assert step is not None and "hour=$((SECONDS + 3600))" in FULL

    def ran(hour: str) -> str:
        script = f"failed=()\nhour={hour}\n{step[0]}\nstep 1 sh -c 'sleep 30 && echo end'\necho \"${{failed[@]}}\""
        return subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True, timeout=20).stdout

    assert "(exit 124)" in ran("$((SECONDS + 1))")
    assert "(exit not run: the hour is over)" in ran("$SECONDS")


def test_who_ends_the_run_ends_all_of_it(tmp_path: Path) -> None:
    """`.ci/run` is its own guard: a signal to it reaches what it started, so that no tests go on behind a full run."""
    (tmp_path / ".ci").mkdir()
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    head = run.partition("\nroot=")[0]
    assert head != run
    (tmp_path / ".ci/run").write_text(f"{head}\necho ready\nsleep 60\n", encoding="utf-8")
    command = ["timeout", "--kill-after=10", "2", "bash", str(tmp_path / ".ci/run")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20)  # waits until nobody holds its output
    assert (ended.returncode, ended.stdout) == (124, "ready\n")


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
