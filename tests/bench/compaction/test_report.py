"""Tables and pictures, from a few runs that are made up."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.compaction import page
from tests.bench.compaction.goosedump import Beside
from tests.bench.compaction.measures import MEASURES
from tests.bench.compaction.plots import APART, _apart
from tests.bench.compaction.report import Figures, gates, halves
from tests.bench.compaction.runs import Run
from tests.bench.compaction.speed import Timed
from tests.shared import HERE

OWN, OTHER, NONE = "ctxkit extract", "observation masking", "langchain trim_messages"


def made(own: float, other: float) -> Figures:
    """Three cases, all alike, at the budgets of the gates; one strategy that did not run."""
    runs = []
    for budget in (10, 25, 40):
        for case in "abc":
            runs.append(Run(case, OWN, budget, dict.fromkeys(MEASURES, own), budget / 100, 1.0))
            runs.append(Run(case, OTHER, budget, dict.fromkeys(MEASURES, other), budget / 100, 1.0))
            runs.append(Run(case, NONE, budget, {}, 0.0, 0.0, "not installed"))
    return Figures(runs, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("own", "other", "passed", "above"), [(0.96, 0.5, "yes", "yes"), (0.5, 0.2, "no", "yes"), (0.96, 0.97, "yes", "no")]
)
def test_gates(own: float, other: float, passed: str, above: str) -> None:
    """The mean against the least, the interval against the best baseline."""
    figures = made(own, other)
    rows = {row.split(" | ")[0].strip("| "): row.split(" | ")[3:] for row in gates(figures, OWN, [OTHER])}
    asked = [name for name in rows if "≥ 90" in name or "≥ 95" in name or "≥ 75" in name]
    assert len(asked) == 11
    for name in asked:
        assert rows[name] == [passed, f"{above} |"], name
    better = "yes" if own > other else "no"
    assert rows["VLR at 40 %: ≥ observation masking"] == [better, f"{better} |"]


def test_tables() -> None:
    """Every strategy has its row, with wins, and with the reason where it did not run."""
    figures = made(0.8, 0.6)
    rows = list(page.recalls(figures, (10, 25)))
    assert f"| **{OWN}** | {' | '.join(['80.0 (80 to 80)'] * 4)} | 10.0 |  |" in rows
    assert f"| {OTHER} | {' | '.join(['60.0 (60 to 60)'] * 4)} | 25.0 | 3, 0, 0 |" in rows
    assert any(row.startswith(f"| {NONE} |") and "| not installed |" in row for row in rows)
    assert "Of 3 cases, those with something to measure: FRR 3, FRR_ctx 3, VLR 3, H 3." in rows
    widths = {row.count("|") for row in rows if row.startswith("|")}
    assert widths == {8, 10}  # the measures and the classes
    listed = list(halves({"even": figures, "odd": made(0.7, 0.1)}, (25,), [OWN]))
    assert listed[2:] == [
        f"| **{OWN}**, even | 3 | 80.0 | 80.0 | 80.0 |", f"| **{OWN}**, odd | 3 | 70.0 | 70.0 | 70.0 |",
    ]  # fmt: skip


def test_speeds_and_goosedump() -> None:
    """Seconds per 100K tokens; sessions without a summary are named."""
    assert list(page.speeds([Timed(200_000, 50_000, 1.0, 0.5)]))[2:] == ["| 200,000 | 50,000 | 1.00 | 0.50 | 0.50 |"]
    rows = list(page.besides([Beside("one", 1000, {"goosedump": (10, 0.25, 0.1)}), "two"]))
    assert "| one | 1,000 | 10, 25 %, 0.10 |" in rows and rows[-1].endswith("two.")
    assert list(page.besides([])) == ["goosedump is not installed here, or cannot be kept off the network."]


def test_pictures_are_svg() -> None:
    """Well-formed, a line for each strategy that ran, its name in it, nothing outside."""
    found = page.recall_picture(made(0.8, 0.6))
    root = ElementTree.fromstring(found)
    names = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert OWN in names and OTHER in names and NONE not in names
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    heights = [float(line.get("points", "").split()[0].split(",")[1]) for line in lines]
    assert len(lines) == 2 and heights[0] < heights[1]  # higher up is more
    speed = ElementTree.fromstring(page.speed_picture([Timed(n * 100_000, 1, n / 4, n / 8) for n in range(1, 20)]))
    for circle in speed.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 < float(circle.get("cx", "0")) < 880 and 0 < float(circle.get("cy", "0")) < 420


def test_names_stand_apart() -> None:
    """As near as can be to their lines, in their order."""
    found = _apart([100.0, 101.0, 100.5, 300.0])
    assert found[0] == 100 and found[2] == 100 + APART and found[1] == 100 + 2 * APART and found[3] == 300
    low = _apart([363.0, 364.0])
    assert low[1] <= 364 and low[1] - low[0] >= APART


def test_sections(tmp_path: Path) -> None:
    """The page has a place for each section, which is replaced as a whole; no place is an error."""
    (tmp_path / "docs").mkdir()
    text = (HERE.parent / page.PAGE).read_text(encoding="utf-8")
    path = tmp_path / page.PAGE
    path.write_text(text, encoding="utf-8")
    for name in ("cases", "recall", "halves", "gates", "models", "speed", "goosedump"):
        page.put(tmp_path, name, [f"| {name} \\1 |"])
    page.put(tmp_path, "gates", ["| again |"])
    found = path.read_text(encoding="utf-8")
    assert "| recall \\1 |" in found and "| gates" not in found and "| again |" in found
    with pytest.raises(ValueError, match="no place"):
        page.put(tmp_path, "nothing", [])
