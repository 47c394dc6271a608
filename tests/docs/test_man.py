"""The man pages in docs/man/ are those of the source; they render without a warning, and `man` finds them."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import ExitCode
from tests.docs.man_page import every_page, plain
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "man"
NAMES = ["ctxkit.1", *(f"ctxkit-{name}.1" for name in COMMANDS)]


@cache
def pages() -> dict[str, str]:
    """Each page by the name of its file."""
    return dict(every_page())


def run(*words: str | Path, **env: str) -> tuple[str, str]:
    """What a program prints, on both streams."""
    done = subprocess.run(
        list(map(str, words)), env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout, done.stderr


def shown(name: str, columns: int) -> str:
    """A page as `man` shows it."""
    out, err = run("man", "--warnings", "-l", FOLDER / name, MANWIDTH=str(columns), MANPAGER="cat", MANROFFOPT="-ww")
    assert err == ""
    return re.sub(".\b", "", out)


@pytest.mark.parametrize("name", NAMES)
def test_page(name: str, update: bool) -> None:
    """The page in the repository is what the source says; `just docs` writes it."""
    path = FOLDER / name
    if update:
        path.write_text(pages()[name], encoding="ascii")
    assert path.read_text(encoding="ascii") == pages()[name], "`just docs` rewrites it"


def test_one_page_per_command(update: bool) -> None:
    """And one for the program; none of a command that is gone. The same source makes the same bytes."""
    if update:
        for path in FOLDER.iterdir():
            if path.name not in pages():
                path.unlink()
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(pages())
    assert sorted(pages()) == sorted(NAMES)
    assert dict(every_page()) == pages()


@pytest.mark.one_in(3)
@pytest.mark.needs("man", "groff")
@pytest.mark.parametrize("name", NAMES)
def test_renders(name: str) -> None:
    """Without a warning and without a line that is too long; with name, synopsis, examples and every exit code."""
    check(name, 80)


@pytest.mark.full("the same as at 80 columns, drawn anew")
@pytest.mark.needs("man", "groff")
@pytest.mark.parametrize("name", NAMES)
def test_renders_narrow(name: str) -> None:
    """The same at 40 columns."""
    check(name, 40)


def check(name: str, columns: int) -> None:
    """A page at a width has no warning, its parts and no line that is too long."""
    text = shown(name, columns)
    assert [heading for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO")
            if f"\n{heading}\n" not in text] == []  # fmt: skip
    exits = text.partition("\nEXIT STATUS\n")[2]
    assert {int(code) for code in re.findall(r"^ +(\d+)(?= |$)", exits, re.M)} >= set(map(int, ExitCode))
    verbatim = {line.strip() for line in pages()[name].splitlines()}
    long = [line for line in text.splitlines() if len(line) > columns]
    assert [line for line in long if plain(line.strip()) not in verbatim] == []


@pytest.mark.needs("mandoc")
@pytest.mark.parametrize("name", NAMES)
def test_lint(name: str) -> None:
    """mandoc, which is `man` elsewhere, has no complaint but that there is no date."""
    out, err = run("mandoc", "-Tlint", "-Wwarning", FOLDER / name)
    assert [line for line in (out + err).splitlines() if "missing date" not in line] == []


def test_the_page_of_the_program_has_all() -> None:
    """Commands, configuration, environment and files."""
    page = pages()["ctxkit.1"]
    assert all(plain(f"ctxkit {name}") in page for name in COMMANDS)
    assert "window.default" in page and "NO_COLOR" in page and plain("LOG.ctxkit/ops.jsonl") in page


def test_what_roff_would_act_on() -> None:
    """Backslashes, quotes, leading dots and letters beyond ASCII come out as they went in."""
    assert plain(".so x") == "\\&.so x" and plain("a\\nb") == "a\\enb" and plain("é…") == "\\[u00E9]\\[u2026]"


@pytest.mark.needs("groff")
@pytest.mark.parametrize("words", [".so /etc/passwd", "'\"x", "\\fB\\n[x]", "a -- b ~ ^ ` é …", "\\(ga", "'tis"])
def test_words_are_printed_as_they_are(words: str) -> None:
    """By groff itself."""
    source = f".TH X 1\n.SH NAME\n.nf\n{plain(words)}\n"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"],
        input=source, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert words in done.stdout and done.stderr == ""
