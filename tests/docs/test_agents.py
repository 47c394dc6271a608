"""docs/agents.md: the small sessions that it names are there, and so is every rule that code and tests cite."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, ROOT
from tests.docs.test_replay import CITING

TEXT = (DOCS / "agents.md").read_text(encoding="utf-8")
FOLDERS = {
    "Claude Code": "claude-code", "Codex": "codex", "pi": "pi", "Gemini CLI": "gemini-cli", "Qwen Code": "qwen-code",
    "opencode": "opencode",
}  # fmt: skip
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", TEXT, re.M | re.S))
CITED = re.compile(r"\bagents, (Claude Code|Codex|pi|Gemini CLI|Qwen Code|opencode)\s(\d+(?:(?:,\s| and |-)\d+)*)")


def test_the_sessions_are_there() -> None:
    """A name in parentheses is the beginning of a file's name; `for …` behind it is a word to the reader."""
    assert set(SECTIONS) == {*FOLDERS, "What they leave"}
    lost = []
    for agent in FOLDERS:
        text = SECTIONS[agent]
        files = [path.name for path in (ROOT / "fixtures" / f"truth-{FOLDERS[agent]}").iterdir()]
        for names in re.findall(r"\(([a-z0-9-]+(?:, [a-z0-9-]+)*)(?: for [^)]*)?\)", text):
            lost += [name for name in names.split(", ") if not any(file.startswith(name) for file in files)]
    assert lost == ["opus-4-8", "opus-5", "opus-5-5", "sonnet-5", "fable-5"]  # models, not sessions


def test_citations_resolve() -> None:
    """`agents, Claude Code 8` names a rule of the page."""
    rules = {agent: set(re.findall(r"^(\d+)\. ", text, re.M)) for agent, text in SECTIONS.items()}
    lost = [
        f"{path.relative_to(ROOT)}: {agent} {number}"
        for path in CITING
        for agent, cited in CITED.findall(path.read_text(encoding="utf-8"))
        for number in re.findall(r"\d+", cited)
        if number not in rules[agent]
    ]
    assert lost == []
