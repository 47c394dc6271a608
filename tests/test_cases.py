"""A push runs a part of large tables: which one, and that nothing is lost of it."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest

from tests.cases import covering

pytest_plugins = ["pytester"]

AXES = {"a": "uvwxyz", "b": "123", "c": "+-*/"}
ROWS = [list(zip(AXES, values, strict=True)) for values in product(*AXES.values())]


def test_each_value_is_met_so_often() -> None:
    """Few cases are enough for the longest parameter, and no value of another is met too seldom."""
    for times in (1, 2, 5):
        taken = covering(ROWS, times=times)
        met = [value for number in taken for value in ROWS[number]]
        assert all(met.count((name, value)) >= times for name, values in AXES.items() for value in values)
        assert len(taken) <= 2 * times * len(AXES["a"]) < len(ROWS)


def test_each_pair_is_met() -> None:
    """Each value of a parameter stands beside each value of another one, in fewer than half of all cases."""
    taken = covering(ROWS, pairs=True)
    met = {pair for number in taken for pair in combinations(ROWS[number], 2)}
    assert met == {pair for row in ROWS for pair in combinations(row, 2)}
    assert 24 <= len(taken) < len(ROWS) / 1.5


def test_values_meet_others() -> None:
    """It is no diagonal of a table as it was written: another order of rows takes the same ones."""
    taken = {tuple(ROWS[number]) for number in covering(ROWS)}
    turned = ROWS[::-1]
    assert {tuple(turned[number]) for number in covering(turned)} == taken


MARKED = """
import pytest

class Unlike:
    pass

@pytest.mark.full("takes long")
def test_long(): pass

@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("n", range(9))
def test_table(n): pass

@pytest.mark.covering("n", "way")
@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("way", [Unlike(), print, "x", None])
def test_product(n, way): pass

def test_short(): pass
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "passed", "left"),
    [([], 1 + 3 + 4, 1 + 6 + 12), (["-m", "full"], 1 + 6 + 12, 1 + 3 + 4), (["-m", "full or not full"], 27, 0),
     (["--whole"], 27, 0), (["--times", "7"], 27, 0)],
)  # fmt: skip
def test_push_and_full_run_are_all(pytester: pytest.Pytester, words: list[str], passed: int, left: int) -> None:
    """What a push leaves out is what `-m full` runs: together each case once."""
    root = Path(__file__).resolve().parents[1]
    pytester.makepyfile(test_marked=MARKED)
    pytester.makeconftest(
        f"import sys; sys.path.insert(0, {str(root)!r})\nfrom tests.conftest import pytest_addoption, "
        "pytest_configure, pytest_collection_modifyitems"
    )
    names = "full: -\none_in: -\ncovering: -\nquick: -\ntorture: -\nslow: -".replace("\n", "\n  ")
    pytester.makeini(f"[pytest]\nmarkers =\n  {names}\n")
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)
    found.assert_outcomes(passed=passed, deselected=left)
