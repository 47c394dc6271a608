"""The blocks of `status --by agent`: no line wider than it may be, and no name that does anything to a terminal."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal.agents_view import lines
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import plain_text
from ctxkit.logfile.parameters import ValueWithOrigin
from ctxkit.measure.agent_contexts import AgentContext, AssembledText
from ctxkit.measure.status import Budget

WINDOW = ValueWithOrigin(7200, "op 3")


def one(name: str) -> AgentContext:
    """An agent with a full bar and two texts."""
    budget = Budget(900, "o200k_base", ValueWithOrigin(1000, "flag"), 100, 0, 0, 90.0, "red")
    texts = [AssembledText("system", "", 12), AssembledText("docs", f"{name}.md", 1)]
    return AgentContext(name, "cyan", True, 4, "2026-02-01T10:00:00Z", 2, 3, WINDOW, "m", budget, texts)


def test_lines() -> None:
    """A name, its rows, a blank line, the next."""
    text = "\n".join(map(plain_text, lines([one("frodo"), one("sam")], 80)))
    first, second = text.split("\n\n")
    assert first.replace("frodo", "sam") == second
    assert first.split("\n")[0] == "frodo" and "90 %" in first
    assert "messages  3 in the context, 2 of them its own; 4 of its own in the log," in first
    assert "window    2h (op 3)" in first and first.endswith(
        "assembly  system: 12 tokens\n          docs (frodo.md): 1 token"
    )


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize(
    "name", ["frodo", "a\x1b[31m\nb", "名" * 60, "x" * 90], ids=["short", "hostile", "wide", "long"]
)
def test_widths(name: str, width: int) -> None:
    """Long and hostile names are broken at the width, and made visible."""
    shown = [plain_text(line) for line in lines([one(name)], width)]
    assert max(map(cells, shown)) <= width
    assert not any("\x1b" in line or "\n" in line for line in shown)
