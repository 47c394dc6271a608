"""What runs on a push and what runs whole: scripts that bash can read, modules that are there, limits that add up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import effort

ROOT = Path(__file__).resolve().parents[1]
FULL = (ROOT / ".ci/full").read_text(encoding="utf-8")
RUN = (ROOT / ".ci/run").read_text(encoding="utf-8")
STEP = re.compile(r"^(?:[^#\n]* )?step ([a-z-]+) (\d+) ", re.M)
"""The head of a step: its name, and the seconds of its share."""


@pytest.mark.parametrize("name", ["run", "full", "steps.sh"])
def test_bash_reads_it(name: str) -> None:
    """No error of syntax waits for a night."""
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / name)], check=True, timeout=60)


def test_the_steps_of_the_full_run() -> None:
    """Each module and script is there, and each of `just torture`; what a push leaves out is run."""
    modules = re.findall(r"-m (tests\.[a-z_.]+)", FULL)
    justfile = (ROOT / "justfile").read_text(encoding="utf-8").partition("\ntorture:\n")[2].partition("\n\n")[0]
    torture = set(re.findall(r"-m (tests\.[a-z.]+)", justfile))
    assert len(torture) == 3 and {"tests.fuzz", "tests.resume", *torture} <= set(modules)
    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
    for extra in ("fleet", "fleet-ray"):
        assert re.search(rf"^step {extra} \d+ sh tests/fleet/alone.sh {extra}\b", FULL, re.M), extra
    for words in (
        ".ci/run",
        "tests/smoke.sh",
        '-m "full and not torture"',
        "-m torture --times",
        "--real-litellm",
        "--real-start",
    ):
        assert words in FULL, words


@pytest.mark.parametrize(("script", "most"), [(RUN, 600), (FULL, 3600)], ids=["run", "full"])
def test_the_shares_add_up(script: str, most: int) -> None:
    """All steps in their shares end in time: 10 minutes for what decides, an hour for all of it."""
    steps = STEP.findall(script)
    assert sum(int(seconds) for _, seconds in steps) <= most, steps
    assert len({name for name, _ in steps}) == len(steps)


def steps(script: str) -> str:
    """What the shared part prints for these lines."""
    lines = f". {ROOT}/.ci/steps.sh\n{script}"
    return subprocess.run(["bash", "-euc", lines], capture_output=True, text=True, check=False, timeout=30).stdout


def test_a_run_ends_in_time() -> None:
    """A step that hangs is ended; one without any time left is not run, and fails; a slow one says so."""
    said = steps("most=60\nstep hangs 1 sh -c 'sleep 30 && echo end'\nstep good 9 true\nstep bad 9 false\nsummary")
    assert "end" not in said.splitlines() and re.search(r"^hangs +3 s of +1  exit 124, over its share$", said, re.M)
    assert re.search(r"^good +0 s of +9  exit 0$", said, re.M) and re.search(r"^bad .*  exit 1$", said, re.M)
    assert "exit not run: the time is over" in steps("most=0\nstep one 9 true\nsummary")


def test_one_step_alone() -> None:
    """`--only STEP` runs it and no other; the names are listed, and one that is not there is a mistake."""
    ran = steps("only=two\nmost=9\nstep one 9 echo ONE\nstep two 9 echo TWO\nsummary")
    assert "TWO" in ran.splitlines() and "ONE" not in ran
    listed = subprocess.run(["bash", ".ci/full", "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout.split() == [name for name, _ in STEP.findall(FULL)] and len(listed.stdout.split()) > 9
    wrong = subprocess.run(
        ["bash", ".ci/full", "--only", "smok"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (2, "") and "no step 'smok'" in wrong.stderr


def test_who_ends_the_run_ends_all_of_it(tmp_path: Path) -> None:
    """`.ci/run` is its own guard: a signal to it reaches its step and what that started: no tests go on behind it."""
    (tmp_path / ".ci").mkdir()
    head = RUN.partition("\nroot=")[0]
    assert head != RUN
    script = f"{head}\nmost=60\n. {ROOT}/.ci/steps.sh\nstep long 50 sh -c 'echo ready; sleep 60; echo end'\n"
    (tmp_path / ".ci/run").write_text(script, encoding="utf-8")
    command = ["timeout", "--kill-after=10", "2", "bash", str(tmp_path / ".ci/run")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20)  # waits until nobody holds its output
    assert (ended.returncode, ended.stdout.splitlines()[1:]) == (124, ["ready"])


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
