"""The tests that a run had to skip for want of real sessions: `.ci/run` runs them after the README's command.

`python -m tests.real REPORT` prints their functions as pytest names them, of a report that `--junitxml` wrote;
`--count REPORT` says how many tests passed, failed and were skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]


def cases(report: Path) -> Iterator[ElementTree.Element]:
    """The test cases of a report."""
    return ElementTree.parse(report).iter("testcase")


def skipped(report: Path) -> list[str]:
    """The functions with a case that was skipped, each once; modules that lack a library of their own are not here."""
    names: dict[str, None] = {}
    for case in cases(report):
        path = case.get("classname", "").replace(".", "/") + ".py"
        if case.find("skipped") is not None and (ROOT / path).is_file():
            names[f"{path}::{case.get('name', '').partition('[')[0]}"] = None
    return list(names)


def counted(report: Path) -> str:
    """In the words of a test runner's last line."""
    kinds = {"failed": ("failure", "error"), "skipped": ("skipped",)}
    found = {
        kind: sum(any(case.find(tag) is not None for tag in tags) for case in cases(report))
        for kind, tags in kinds.items()
    }
    passed = sum(1 for _ in cases(report)) - sum(found.values())
    return f"{passed} passed, {found['failed']} failed, {found['skipped']} skipped"


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        print(counted(Path(sys.argv[2])))
    else:
        print("\n".join(skipped(Path(sys.argv[1]))))
