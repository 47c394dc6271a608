"""Structural fuzzing: inputs of every format, the same in every run, and every bug that was ever found by it.

`python -m tests.fuzz` looks longer (`just fuzz`, `just night`).
"""

from __future__ import annotations

import random

import pytest

from ctxkit.formats.codex.reader import CodexReader
from ctxkit.logfile.tolerant import TolerantReader
from tests.effort import part
from tests.fuzz import mutate
from tests.fuzz.__main__ import smaller, verdict
from tests.fuzz.judge import judged
from tests.fuzz.seeds import FAMILIES, FOUND, SIDECAR, Case, drawn, of_path, seeds

EACH = part(30)
"""Inputs of every format."""
COMMANDS = part(150)
"""Commands that each input runs through which was found once, drawn anew for each."""
CORPUS = sorted(path for path in FOUND.iterdir() if not path.name.endswith(SIDECAR))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_was_found_stays_mended(path: object) -> None:
    """By many commands."""
    case = of_path(FOUND / getattr(path, "name", ""))
    assert judged(case, random.Random(case.name), most=COMMANDS) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_inputs(family: str) -> None:
    """The first of each format."""
    assert [bug for number in range(EACH) for bug in verdict(drawn(family, number), family, number)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_seeds(family: str) -> None:
    """And an input is the same in every run, but not the seed itself."""
    assert seeds(family)
    assert drawn(family, 3) == drawn(family, 3)
    assert any(drawn(family, number) not in seeds(family) for number in range(5))


def test_the_judge_sees_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the net the first reproduction is one, in the log and in the folder; and it is made smaller."""
    monkeypatch.setattr(TolerantReader, "feed", lambda self, block: self._reader.feed(block))
    case = of_path(FOUND / "codex-type-no-word.jsonl")

    def keys(one: Case) -> set[str]:
        return {bug.key for bug in judged(one, random.Random(0))}

    bug = f"TypeError formats/codex/reader.py:{CodexReader.feed.__name__}"
    assert bug in keys(case)
    less = smaller(case, lambda one: bug in keys(one))
    assert less.files[case.name].count(b"\n") < case.files[case.name].count(b"\n") // 2


def test_trees_are_written_as_they_were() -> None:
    """Doubled keys, huge numbers and odd strings included: damage is what the dice chose, nothing else."""
    raw = b'{"a": 1e999, "a": [-0, NaN, "\\ud800", {}, []], "": %s}' % (b"9" * 309)
    assert mutate.written(mutate.parsed(raw)).encode() == raw
