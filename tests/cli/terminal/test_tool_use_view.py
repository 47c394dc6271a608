"""The ledger of calls at every width, and its machine form."""

from __future__ import annotations

import io

import pytest

from ctxkit import Log
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.tool_use_view import as_json, rows
from ctxkit.measure.tool_uses import ToolUse
from tests.cli.runner import SMALL

USES = [
    ToolUse(3, "Read", "/home/ada/shop/a-long-folder/another-one/and-another/cart.py", 4, tokens=12345.4, seconds=0.25),
    ToolUse(3, "Bash", "make \x1b[31mtest && " + "汉字" * 60, 4, True, 2, 100, 61.0),
    ToolUse(5, "mcp__a_server__a_tool_of_it", "x=1"),
]


def plain(spans: list[str | Styled]) -> str:
    """A line without its styles."""
    return "".join(span if isinstance(span, str) else span.text for span in spans)


def table(width: int) -> list[str]:
    """Its lines."""
    return [plain(row) for row in rows(Log.open(io.BytesIO(SMALL), env={}).state(), USES, width)]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_widths(width: int) -> None:
    """Nothing is wider; number, status, tokens and seconds are whole where there is room for columns."""
    found = table(width)
    assert max(map(cells, found)) <= width
    text = "\n".join(found)
    assert all(word in text for word in ("exit 2", "done", "open", "12,345"))
    assert ("n  tool" in text) == (width > 40) and (width < 80 or "cart.py" in text)


def test_escapes() -> None:
    """Nothing of a target acts on a terminal."""
    assert not any("\x1b" in line for line in table(200))


def test_json() -> None:
    """One object for each call."""
    state = Log.open(io.BytesIO(SMALL), env={}).state()
    assert as_json(state, USES[1])["status"] == "failed" and as_json(state, USES[2]) == {
        "n": 5, "tool": "mcp__a_server__a_tool_of_it", "target": "x=1", "status": "open", "exit": None, "result": None,
        "tokens": 0, "seconds": None,
    }  # fmt: skip
