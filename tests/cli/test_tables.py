"""Tables of shares and files fit any width."""

from __future__ import annotations

import pytest

from ctxkit.cli import tables
from ctxkit.cli.ink import Ink
from ctxkit.cli.safe import cells
from ctxkit.shares import Share, Touched

SHARES = [Share("Bash\x1b[31m and a very long name of a tool " * 3, 12, 250_000, "3"), Share("漢字", 1, 5, "9")]
FILES = [Touched("a/" * 60 + "x.py", ["1"] * 40, [], "1", 1234, ["1"]), Touched("b", [], ["7"], "7", 1, [])]


def text(line: tables.Line) -> str:
    return "".join(span.text if isinstance(span, Ink) else span for span in line)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider(width: int) -> None:
    """However long names and paths are; nothing acts on the terminal."""
    found = [*tables.shares(SHARES, width, 500_000), *tables.shares(SHARES, width, 500_000, numbered=True)]
    for line in map(text, [*found, *tables.files(FILES, width)]):
        assert cells(line) <= width and "\x1b" not in line


def test_words() -> None:
    """Tokens, percent of the whole, messages or the number of one."""
    assert text(list(tables.shares(SHARES, 80, 500_000))[1]) == "      5    0 %  漢字 (1)"
    assert text(list(tables.shares(SHARES, 80, 500_000, numbered=True))[1]) == "      5    0 %  9 漢字"
    assert [text(line) for line in tables.files(FILES, 80)][2:] == ["    1  b", "       written 7"]
