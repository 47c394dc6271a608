"""Every `console` block of README.md and docs/ shows what its commands print: they are run, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, name, settle
from tests.docs.sandbox import make, run, short_folder

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.S | re.M)


def commands(block: str) -> list[str]:
    """The commands of a block: lines after `$ `, with the lines after `> ` that go on with them."""
    found: list[str] = []
    fresh = False
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
            fresh = True
        elif (line == ">" or line.startswith("> ")) and fresh:
            found[-1] += "\n" + line[2:]
        else:
            fresh = False
    return found


def shown(command: str, output: str) -> str:
    """A command and its output as a block has them."""
    lines = output if not output or output.endswith("\n") else output + "\n"
    for bug in ("ctxkit: a bug", "Traceback (most recent call last)"):
        assert bug not in lines, f"{command!r}: {lines}"
    assert not re.search(r"^(\$ |```)", lines, re.M), f"the output of {command!r} looks like a command or a fence"
    first, *others = command.split("\n")
    return "\n".join([f"$ {first}", *(f"> {line}".rstrip(" ") for line in others), lines])


def executed(text: str, folder: Path, *, by_shell: bool = False) -> str:
    """The page with every block as it is when it is run; `by_shell`: each line by a shell, which starts programs."""
    blocks = [commands(block) for block in BLOCK.findall(text)]
    lines = [command for block in blocks for command in block]
    results = iter(run(make(folder, by_shell=by_shell), lines, by_shell=by_shell))
    bodies = iter(["".join(shown(command, next(results)[0]) for command in block) for block in blocks])
    return BLOCK.sub(lambda _: f"```console\n{next(bodies)}```", text)


WITH_BLOCKS = [path for path in PAGES if BLOCK.search(path.read_text(encoding="utf-8"))]
NEEDS = {"docs/git.md": ["git"]}
"""Programs that the commands of a page need, besides those that every system has."""
RUN = [
    pytest.param(path, id=name(path), marks=[pytest.mark.needs(*NEEDS[name(path)])] if name(path) in NEEDS else [])
    for path in WITH_BLOCKS
]


@pytest.mark.parametrize("path", RUN)
def test_blocks_show_what_happens(path: Path, update: bool) -> None:
    """Each command of the page, run in order in one folder, prints what the page shows."""
    text = path.read_text(encoding="utf-8")
    with short_folder() as folder:
        settle(path, executed(text, folder), update=update)


@pytest.mark.full("each line in a process of its own shows the same as most of them in this one")
@pytest.mark.parametrize("path", RUN)
def test_the_same_by_a_shell(path: Path) -> None:
    """No line is run in this process: so what a page shows does not come from what another line left there."""
    with short_folder() as folder:
        settle(path, executed(path.read_text(encoding="utf-8"), folder, by_shell=True), update=False)


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    """A page that shows something else than what happens is not equal to what is run."""
    page = "```console\n$ echo 'a\n> b'; false\na\nc\n$ echo $?\n1\n```\n"
    assert executed(page, tmp_path) == page.replace("c\n", "b\n")


def test_a_traceback_is_no_output(tmp_path: Path) -> None:
    """A page never takes it as what a command prints, even where pages are rewritten."""
    page = "```console\n$ python3 -c 'raise SystemError'\n```\n"
    with pytest.raises(AssertionError, match="Traceback"):
        executed(page, tmp_path)


def test_there_are_blocks() -> None:
    """The guide is among the pages that are run."""
    assert "docs/guide.md" in map(name, WITH_BLOCKS)
