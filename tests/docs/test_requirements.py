"""Tests that the documentation names are there: by their files' source, nothing is run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name

NODE = re.compile(r"`(tests/[\w./-]+\.py)(?:::(\w+)(?:\[([^\]`]+)\])?)?`")
ROW = re.compile(r"\d\.\d+|US\d\.\d|FR-\d{3}|SC-\d{3}|KE-\d|TC-\d|E\d")


@cache
def functions(path: Path) -> frozenset[str]:
    """The test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_tests_exist(page: Path) -> None:
    """Each `tests/file.py::test` of a page is a test function, each `[docs/page.md]` a page."""
    missing = []
    for file, function, parameter in NODE.findall(page.read_text(encoding="utf-8")):
        path = ROOT / file
        there = path.is_file() and (not function or (function.startswith("test_") and function in functions(path)))
        if not there or (parameter and not (ROOT / parameter).is_file()):
            missing.append(f"{file}::{function}[{parameter}]")
    assert missing == []


def rows() -> list[list[str]]:
    """The rows of the tables of requirements."""
    lines = (DOCS / "requirements.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "row"]


def test_every_row_has_a_test() -> None:
    """A row without a test is no row, and no requirement stands in two."""
    numbers = [number for row in rows() for number in row[0].split(", ")]
    assert len(numbers) > 50
    assert [number for number in numbers if not ROW.fullmatch(number)] == []
    assert sorted(numbers) == sorted(set(numbers))
    assert [row[0] for row in rows() if not NODE.search(row[3])] == []
