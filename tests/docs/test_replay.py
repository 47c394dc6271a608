"""docs/replay.md is written from the tables of fixtures/rules, and every citation of a rule finds it there."""

from __future__ import annotations

import re

from tests.core.test_rules import TABLES, Case
from tests.docs.pages import DOCS, ROOT, settle, with_part

PAGE = DOCS / "replay.md"
CITING = [*ROOT.glob("ctxkit/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]


def heading(rule: str) -> str:
    """A rule as its heading names it."""
    return f"### Rule {rule}" if rule.isdigit() else f"### {rule}"


def case_lines(case: Case, under: str) -> list[str]:
    """A case as it stands in its block: its sentence as a comment, then its lines."""
    others = [rule for rule in case.rules if rule != under]
    also = f" (also {', '.join(others)})" if others else ""
    return [f"# {case.says}{also}", *(f"{key + ':':<11}{text}" for key, text in case.lines)]


def elsewhere(rule: str) -> list[str]:
    """Where the cases of a rule stand that has none of its own."""
    under = dict.fromkeys(heading(under) for table in TABLES for under, case in table.cases if rule in case.rules)
    return ["Its cases: " + ", ".join(f"[{title[4:]}]({link(title)})" for title in under) + "."]


def link(title: str) -> str:
    """A heading as a link to it."""
    return "#" + re.sub(r"[^\w -]", "", title[4:].lower()).replace(" ", "-")


def page() -> str:
    """All tables: a section each, a heading for each rule, a block with its cases."""
    lines: list[str] = []
    for table in TABLES:
        lines += ["", f"## {table.title}"]
        for rule, sentence in table.rules.items():
            blocks = [case_lines(case, rule) for under, case in table.cases if under == rule]
            shown = ["```text", *"\n\n".join(map("\n".join, blocks)).split("\n"), "```"] if blocks else elsewhere(rule)
            lines += ["", heading(rule), "", sentence, "", *shown]
    return "\n".join(lines[1:])


def test_page(update: bool) -> None:
    """Every rule, its sentence and its cases."""
    settle(PAGE, with_part(PAGE.read_text(encoding="utf-8"), "rules", page()), update=update)


def test_citations_resolve() -> None:
    """`replay 38` names a rule of that page, `reliability F12` a case of the page of damage."""
    numbers = {rule for table in TABLES for rule in table.rules}
    cases = set(re.findall(r"^\| ([A-Z]\d\d) \|", (DOCS / "reliability.md").read_text(encoding="utf-8"), re.M))
    lost = [
        f"{path.relative_to(ROOT)}: {page} {one}"
        for path in CITING
        for page, cited in re.findall(
            r"\b(replay|reliability)\s([A-Z]?\d+(?:(?:, | and | to |-)[A-Z]?\d+)*)", path.read_text(encoding="utf-8")
        )
        for one in re.findall(r"[A-Z]?\d+", cited)
        if one not in (numbers if page == "replay" else cases)
    ]
    assert lost == []


def test_no_document_is_cited_that_is_not_here() -> None:
    """What a rule is from stands in docs/, so that a reader finds it."""
    named = r"\b(?:DESIGN|REPLAY|TRUTH|FORMATS|COMPACTION|RELIABILITY|LIVE|PERFORMANCE|FINDINGS|REQUIREMENTS|HOUSE)\b"
    cited = re.compile(rf"{named}(?:\.md|[,:]? (?:sections?|rules?|finding|[A-Z]?\d))|\bissue \d")
    lost = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in CITING
        for found in cited.findall(path.read_text(encoding="utf-8"))
        if path.name != "changelog.md"
    ]
    assert lost == []
