"""The catalogue on docs/reliability.md: every row is there, with tests that exist and the codes that they see."""

from __future__ import annotations

import re

import pytest

from tests.damage.catalogue import CATALOGUE, DEVIATIONS
from tests.damage.rows import ALL
from tests.damage.test_arguments import VALUES
from tests.damage.test_documents import ROWS
from tests.docs.pages import DOCS, ROOT, settle, with_part

TRIED = {"matrix": ALL, "documents": ROWS, "arguments": VALUES}
IDS = [f"{kind}{n:02}" for kind, last in (("F", 31), ("C", 12), ("J", 18)) for n in range(1, last + 1)]


def codes(key: str) -> str:
    """The codes that the rows with this id give."""
    rows = [(*row.codes, *row.closer) for name, row in ALL.items() if name.startswith(key)]
    rows += [row.codes for name, row in ROWS.items() if name.startswith(key)]
    rows.append(CATALOGUE[key].codes)
    return ", ".join(f"`{code}`" for code in dict.fromkeys(code for found in rows for code in found))


def shown_by(key: str) -> list[str]:
    """The tests of a row."""
    places = {f"tests/damage/test_{name}.py": rows for name, rows in TRIED.items()}
    found = [f"{place} -k {key}" for place, rows in places.items() if any(name.startswith(key) for name in rows)]
    return [*found, *CATALOGUE[key].tests]


def table() -> str:
    """The rows as the page prints them."""
    lines = ["| | what | what is read, or said | codes | `check` | shown by |", "|---|---|---|---|---|---|"]
    for key, entry in CATALOGUE.items():
        tests = "<br>".join(f"`{one}`" for one in shown_by(key))
        lines.append(f"| {key} | {entry.what} | {entry.outcome} | {codes(key)} | {entry.check} | {tests} |")
    deviations = ["", "Where it is otherwise than one may expect:", ""]
    return "\n".join([*lines, *deviations, *(f"- {keys}: {why}." for keys, why in DEVIATIONS)])


def test_page(update: bool) -> None:
    """The page prints what is tested."""
    page = DOCS / "reliability.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "damage", table()), update=update)


def test_every_row_is_there() -> None:
    """None is left out, and what is tried has a row."""
    assert list(CATALOGUE) == IDS
    assert {name[:3] for name in (*ALL, *ROWS, *VALUES)} <= set(IDS)


@pytest.mark.parametrize("key", IDS)
def test_its_tests_exist(key: str) -> None:
    """A row without a test is none."""
    named = shown_by(key)
    assert named
    for one in named:
        path, _, name = one.partition(" ")[0].partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not name or re.search(rf"^def {name}\(", text, re.M), one


@pytest.mark.parametrize("key", [key for key in IDS if codes(key) and CATALOGUE[key].check != "65"])
def test_check_says_so(key: str) -> None:
    """Where a code is reported, `check` ends with 1; where none is, with 0."""
    assert "1" in CATALOGUE[key].check
