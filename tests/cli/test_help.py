"""ctxkit help: examples first, whole at every width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxkit.cli import help as helping
from ctxkit.cli.ink import Ink
from ctxkit.cli.pages import overview, page
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.safe import cells
from tests.cli.runner import ctxkit, good, shell


def texts(name: str, width: int) -> list[str]:
    """Help in lines, without colours."""
    found = helping.lines(page(name) if name else overview(), width)
    return ["".join(part.text if isinstance(part, Ink) else part for part in line) for line in found]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_widths(name: str) -> None:
    """No line is wider than the terminal, and the words are the same at each width."""
    words: set[str] = set()
    for width in (20, 33, 40, 80, 200):
        found = texts(name, width)
        assert max(map(cells, found)) <= width
        words.add("".join("".join(found).replace("\\", "").split()))
    assert len(words) == 1


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_examples_come_first(name: str) -> None:
    """A line that says what it is, and the examples, as they are typed."""
    found = texts(name, 100)
    assert found[found.index("") + 1] == "Examples:" and found.index("") <= 2
    for line, note in (page(name) if name else overview()).examples:
        assert f"  {line}" in found and f"      {note}" in found


@pytest.mark.parametrize("width", range(20, 60, 7))
def test_a_broken_example_is_the_same_command(width: int, tmp_path: Path) -> None:
    """What is broken for a narrow terminal can be pasted, unless a quoted text does not fit at all."""
    line = "ctxkit add chat.jsonl 'two words' --role assistant --thread long-name | ctxkit show -"
    broken = "\n".join("".join(map(str, parts)) for parts in helping._example(line, width))
    script = 'ctxkit() { printf "<%s>" "$@"; cat; }\n'
    assert shell(script + broken + " </dev/null", tmp_path).out == shell(script + line + " </dev/null", tmp_path).out


def test_a_quoted_text_that_does_not_fit(tmp_path: Path) -> None:
    """It is broken without a backslash, which would become part of it."""
    assert "\\" not in str(list(helping._example("ctxkit add chat.jsonl 'a text of more than twenty cells'", 20)))


def test_no_colour_in_a_pipe() -> None:
    """Plain text, whatever it is read by."""
    assert b"\x1b" not in good("help", "show").out


def test_colour_where_it_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings are bold; the words stay."""
    plain = good("help", "show").text
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    inked = good("show", "-h").text
    assert inked.startswith("Print the context") and "\x1b[1mExamples:\x1b[0m" in inked
    assert re.sub("\x1b\\[[0-9;]*m", "", inked) == plain


def test_head(tmp_path: Path) -> None:
    """`| head -1` is quiet."""
    ran = shell("ctxkit show --help | head -1", tmp_path)
    assert (ran.out, ran.err) == (b"Print the context that a model would be sent.\n", "")


def test_json() -> None:
    """The page as an object."""
    [value] = good("help", "window", "--json").values
    assert (
        value["name"] == "window" and {"command": "ctxkit window chat.jsonl", "note": "what it is"} in value["examples"]
    )
    [value] = good("help", "--json").values
    assert [one["name"] for one in value["commands"]] == sorted(
        COMMANDS, key=[one["name"] for one in value["commands"]].index
    )


def test_unknown() -> None:
    """The nearest is named."""
    ran = ctxkit("help", "shwo")
    assert (ran.code, ran.err) == (2, "ctxkit: no such command: shwo\nhint: ctxkit show?\n")
