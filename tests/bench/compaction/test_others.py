"""The agents' own summaries, the speed, goosedump, and the whole run on made sessions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.compaction import goosedump, made, speed, summaries
from tests.bench.compaction.cases import Case, split
from tests.bench.compaction.ready import make_ready
from tests.bench.compaction.runs import STRATEGIES
from tests.bench.compaction.test_cases import BOUNDARY, SUMMARY, claude_code, row
from tests.shared import HERE


def test_summaries_of_the_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The context before a compaction, the summary, and what came after it; small ones are left out."""
    path = tmp_path / "claude-code" / "one.jsonl"
    path.parent.mkdir()
    path.write_bytes(
        claude_code(row("1", None, "one"), row("2", "1", "two"), BOUNDARY, SUMMARY, row("3", "s", "three"))
    )
    assert list(summaries.written([path])) == []
    monkeypatch.setattr(summaries, "LEAST", 1)
    [found] = summaries.written([path])
    assert [record["content"] for record in found.case.prefix] == ["one", "two"]
    assert [record["content"] for record in found.case.suffix] == ["three"]
    assert found.summary.parts[0].text.startswith("This session is being continued")  # type: ignore[union-attr]
    elsewhere = tmp_path / "pi" / "one.jsonl"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(path.read_bytes())
    assert list(summaries.written([elsewhere])) == []


@pytest.mark.full("a size of text per process, of the bench")
def test_speed() -> None:
    """A process of its own for each size that there is text for."""
    case = make_ready(Case("made", 1, "harbour", True, False, *split(made.session(1, "harbour"))))
    [found] = speed.timed([case], [5000, 10_000_000], runs_of=1)
    assert 5000 <= found.tokens < 7000 and found.after <= found.tokens // 4 + 1
    assert found.seconds > 0 and found.again > 0


def test_what_goosedump_prints() -> None:
    """The words of its rows, without what is none."""
    printed = 'Error: no\n{"content":"x"}\n{"message":{"content":"a\\nb"}}\n[1]\n{"message":{"content":[]}}'
    assert list(goosedump._said(printed)) == ["a\nb"]


def test_facts_kept_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a session: what its summary keeps, and what ctxkit's keep; not there, no rows."""
    found = goosedump._scored("one", made.session(1, "harbour"), "nothing of it", 0.5)
    assert found.results["goosedump"][1:] == (0.0, 0.5)
    some, more = found.results["ctxkit, 10 %"], found.results["ctxkit, 30 %"]
    assert some[0] <= found.tokens * 0.1 < more[0] <= found.tokens * 0.3 and 0.2 < some[1] < more[1]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert list(goosedump.beside([Path("claude-code/one.jsonl")])) == []


@pytest.mark.full("every strategy, twice, by programs of the bench")
def test_the_whole_run(tmp_path: Path) -> None:
    """A line for each strategy and budget, on made sessions, nothing of the user's read or written."""
    words = [sys.executable, "-m", "tests.bench.compaction", "--made", "--half", "odd", "--budget", "25", "--verbose"]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([*words], cwd=HERE.parent, env=environment, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("2 cases of 2 sessions (odd)")
    assert sum(line.startswith("  made/") for line in lines) == 2 * len(STRATEGIES)
    assert [line[:14] for line in lines if line.startswith("ctxkit")] == [
        "ctxkit extract",
        "ctxkit mask   ",
        "ctxkit truncat",
    ]
    assert (tmp_path / ".cache/ctxkit/bench-compact").is_dir()
    again = subprocess.run([*words], cwd=HERE.parent, env=environment, capture_output=True, text=True, check=True)
    assert [line[:40] for line in again.stdout.splitlines()[1:-1]] == [line[:40] for line in lines[1:-1]]


def test_made_figures_are_never_written(tmp_path: Path) -> None:
    """Without the real sessions, --write does nothing and says so."""
    words = [sys.executable, "-m", "tests.bench.compaction", "--made", "--write"]
    environment = {"HOME": str(tmp_path), "CTXKIT_SHARED": str(tmp_path)}
    page = (HERE.parent / "docs/compaction.md").read_bytes()
    ran = subprocess.run(words, cwd=HERE.parent, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "the shared transcripts are not here: nothing was written\n")
    assert (HERE.parent / "docs/compaction.md").read_bytes() == page
