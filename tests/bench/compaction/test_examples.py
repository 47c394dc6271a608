"""The made sessions of the page of examples, and the page."""

from __future__ import annotations

import io
import re

import pytest

from ctxkit import Log
from tests.bench.__main__ import ROOT
from tests.bench.compaction.examples import PAGE, Example, examples, page, summary
from tests.bench.compaction.honest import said as said_by
from tests.bench.compaction.honest import whole

ALL = list(examples())


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_each_has_what_is_looked_for(one: Example) -> None:
    """Word for word; and the same bytes every time."""
    log = Log.open(io.BytesIO(one.raw), env={})
    said = " ".join(whole(said_by([log.full(entry) for entry in log.entries()])).split())
    assert all(" ".join(need.split()) in said for need in one.needs)
    assert ("Codex" in one.name) == (log.opening.format.name == "codex")


def test_the_same_every_time() -> None:
    assert [one.raw for one in examples() if "Codex" not in one.name] == [
        one.raw for one in ALL if "Codex" not in one.name
    ]


def test_headings() -> None:
    """The committed page has a part for each."""
    committed = (ROOT / PAGE).read_text(encoding="utf-8")
    expected = [f"## {number}. {one.name}" for number, one in enumerate(ALL, 1)]
    assert re.findall(r"^## .*", committed, re.M) == expected


@pytest.mark.full("eight sessions, each summarized by two processes")
def test_page() -> None:
    """Of this checkout beside itself: both columns equal, eight blocks of two; the committed page has the same ones."""
    text = "\n".join(page(ROOT))
    rows = re.findall(r"^\| \d\. .* \| (\d of \d) \| (\d of \d) \|$", text, re.M)
    assert len(rows) == 8 and all(before == after for before, after in rows)
    assert text.count("**Before**") == text.count("**After**") == 8
    committed = (ROOT / PAGE).read_text(encoding="utf-8")
    assert re.findall(r"^## .*", text, re.M) == re.findall(r"^## .*", committed, re.M)


def test_summary() -> None:
    """Fits its budget, and counts what of the needs the context has."""
    made = summary(ALL[0]._replace(needs=("no such words", "[messages ")), ROOT)
    assert made.total // 10 < made.budget < made.total // 5 and made.text.startswith("[messages ")
    assert made.found == 1
