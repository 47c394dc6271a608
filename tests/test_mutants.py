"""The mutants of `tests/mutants` fit the code, and each says what it breaks. `just mutants` tries them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants.__main__ import MOST, Copy, Fate, is_well, table
from tests.mutants.faults import MUTANTS, Mutant, Stale

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"core", "store", "logfile", "formats", "cut", "export", "api"}
MADE_UP = Mutant("made-up", "core", "The sum is wrong.", "ctxkit/core/sum.py", "a + b", "a - b", 1)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_fits(mutant: Mutant) -> None:
    """What it changes stands once in its file, in its room, and what comes out compiles and is other code."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    made = mutant.applied(text)
    compile(made, mutant.path, "exec")
    assert made != text and mutant.path.startswith(f"ctxkit/{mutant.room}/")
    assert mutant.fault.endswith(".") and "\n" not in mutant.fault


def test_number() -> None:
    """There are 24, with names of their own, in every room, and at least 12 that three tests at most noticed."""
    assert len({one.name for one in MUTANTS}) == len(MUTANTS) == 24
    assert set(Counter(one.room for one in MUTANTS)) == ROOMS
    assert sum(0 < one.killers <= 3 for one in MUTANTS) >= 12
    assert all(one.killers for one in MUTANTS)
    assert sum(bool(one.full) for one in MUTANTS) <= MOST


@pytest.mark.parametrize(("text", "found"), [("a * b", "is not there any more"), ("a + b + a + b", "stands 2 times")])
def test_that_does_not_fit(text: str, found: str) -> None:
    """A change that is not found, or found twice, is an error that names the file."""
    assert MADE_UP.applied("return a + b") == "return a - b"
    with pytest.raises(Stale, match=f"what it changes in ctxkit/core/sum.py {found}"):
        MADE_UP.applied(text)


def test_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    """It is not tried, its file is as it was, and the run fails."""
    copy = Copy.__new__(Copy)
    copy.root = tmp_path
    path = tmp_path / MADE_UP.path
    path.parent.mkdir(parents=True)
    path.write_text("a * b", encoding="utf-8")
    fate = copy.tried(MADE_UP)
    assert (fate.by, path.read_text(encoding="utf-8")) == ("", "a * b")
    assert fate.words.startswith("ERROR: what it changes in ctxkit/core/sum.py is not there any more")
    assert "made-up" in table([fate])
    assert not is_well([fate])


class Told(Copy):
    """A copy of one file in which no test runs: the first test that fails is told for each run."""

    def __init__(self, root: Path, told: list[str]) -> None:
        self.root, self.told, self.asked = root, told, list[list[str]]()
        (path := root / MADE_UP.path).parent.mkdir(parents=True)
        path.write_text("a + b", encoding="utf-8")

    def _failed(self, words: Sequence[str]) -> str:
        fault = (self.root / MADE_UP.path).read_text(encoding="utf-8") == "a - b"
        self.asked.append([*words, "with" if fault else "without"])
        return self.told.pop(0)

    def _check_imports(self) -> None:
        pass


def test_what_kills(tmp_path: Path) -> None:
    """A test that fails with the fault, alone too, and not without it; what fails now and then is passed over."""
    copy = Told(tmp_path / "1", ["tests/core/test_x.py::luck", "", "tests/core/test_x.py::one", "yes", ""])
    assert copy.tried(MADE_UP).words == "killed by tests/core/test_x.py::one"
    alone = ["tests/core/test_x.py::one", "with"], ["tests/core/test_x.py::one", "without"]
    assert copy.asked[2:] == [["tests/core", "--deselect=tests/core/test_x.py::luck", "with"], *alone]
    assert Told(tmp_path / "2", ["one", "yes", "yes"]).tried(MADE_UP).words == "ERROR: one fails without the fault, too"
    assert Told(tmp_path / "3", ["", ""]).tried(MADE_UP).words == "SURVIVED"


def test_when_all_is_well() -> None:
    """Every mutant is killed; only what names the command of `.ci/full` that kills it may be alive, and two at most."""
    left = MADE_UP._replace(full="python -m tests.kills")
    killed, alive, spared = Fate(MADE_UP, "tests/x.py::test", 1.0), Fate(MADE_UP, "", 1.0), Fate(left, "", 1.0)
    assert is_well([killed, spared, spared]) and not is_well([killed, alive]) and not is_well([spared] * (MOST + 1))
