"""docs/contributing.md says which tests and cases a push leaves to the full run: as their marks say it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, settle, with_part

MARK = re.compile(
    r"^[ ]*(?:pytestmark = pytest|@pytest)\.mark\.(?P<rule>full|one_in|covering)\((?P<given>[^\n]*)\)$", re.M
)
FUNCTION = re.compile(r"^[ ]*(?:async )?def (test_\w+)\(", re.M)


def rule(name: str, call: ast.Call) -> str:
    """What a push runs of a test with this mark, in words."""
    given = [ast.literal_eval(one) for one in call.args]
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    if name == "full":
        return f"nothing: {given[0]}"
    if name == "one_in":
        return f"one case in {given[0]}"
    words = ", ".join(f"`{one}`" for one in given)
    if named.get("pairs"):
        return f"each pair of values of {words} once"
    times = named.get("times", 1)
    return f"each value of {words} {'once' if times == 1 else f'{times} times'}"


def marked(path: Path) -> Iterator[tuple[str, str]]:
    """The rule of each marked test of a file, and its name; of a whole file the file's."""
    text = path.read_text(encoding="utf-8")
    assert len(MARK.findall(text)) == len(re.findall(r"\bmark\.(?:full|one_in|covering)\(", text)), path
    for found in MARK.finditer(text):
        call = ast.parse(f"f({found['given']})", mode="eval").body
        assert isinstance(call, ast.Call)
        whole = found[0].lstrip().startswith("pytestmark")
        function = FUNCTION.search(text, found.end())
        assert whole or function, (path, found[0])
        yield rule(found["rule"], call), "" if whole or function is None else function[1].removeprefix("test_")


def test_the_table(update: bool) -> None:
    """A row for each rule, with the tests that it is for; whoever marks a test finds it here."""
    rows: dict[str, dict[str, list[str]]] = {}
    for path in sorted({*(ROOT / "tests").rglob("test_*.py")} - {ROOT / "tests/test_cases.py"}):
        for words, name in marked(path):
            rows.setdefault(words, {}).setdefault(path.relative_to(ROOT / "tests").as_posix(), []).append(name)
    lines = ["| a push runs | of these tests |", "|---|---|"]
    for words, files in sorted(rows.items()):
        tests = "; ".join(f"{file} {', '.join(names)}".strip() for file, names in files.items())
        lines.append(f"| {words} | {tests} |")
    page = DOCS / "contributing.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "left out", "\n".join(lines)), update=update)
    assert len(rows) > 5
