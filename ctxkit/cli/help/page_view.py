"""How a page of help looks: examples first, laid out for the width of the terminal; and its machine form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxkit.cli.help.pages import Page, Parameter, overview, page
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped

TERM = 24
"""Cells of the first column, where there is room for two."""
TWO_COLUMNS = 60
"""From so many columns on, a list has two."""

Line = list[str | Styled]


def show(name: str | None) -> None:
    """Print the help of a command, or of the program."""
    for line in lines(page(name) if name else overview(), layout.width()):
        streams.out(*line)


def as_json(found: Page) -> dict[str, object]:
    """A page as an object: `name`, `summary`, `usage`, `description`, `arguments`, `options`, `examples`, ..."""
    return {
        "name": found.name,
        "summary": found.summary,
        "usage": found.usage,
        "description": list(found.description),
        "arguments": [one._asdict() for one in found.arguments],
        "options": [one._asdict() for one in found.options],
        "examples": [{"command": line, "note": note} for line, note in found.examples],
        "exits": [{"code": code, "meaning": text} for code, text in found.exits],
        "commands": [{"name": name, "summary": text} for _, group in found.commands for name, text in group],
    }


def lines(found: Page, columns: int) -> Iterator[Line]:
    """The help of a page in lines of at most `columns` cells; nothing is left out at any columns."""
    yield from wrapped([found.summary], columns, 0, hard=True)
    yield from _title("Examples", columns)
    for line, note in found.examples:
        yield from _example(line, columns)
        yield from wrapped([f"      {note}"], columns, 6, hard=True)
    yield []
    yield from wrapped([Styled("Usage:", "bold"), f" {found.usage}"], columns, 4, hard=True)
    for paragraph in found.description:
        yield []
        yield from wrapped([paragraph], columns, 0, hard=True)
    for title, group in found.commands:
        yield from _title(title, columns)
        for name, text in group:
            yield from _entry(name, text, columns)
    for title, parameters in found.by_heading().items():
        yield from _title(title, columns)
        for one in parameters:
            yield from _entry(_spelled(one), one.help, columns)
    yield []
    codes = "; ".join(f"{code} {text}" for code, text in found.exits)
    yield from wrapped([Styled("Exit codes:", "bold"), f" {codes}."], columns, 4, hard=True)


def _title(text: str, columns: int) -> Iterator[Line]:
    yield []
    yield from wrapped([Styled(f"{text}:", "bold")], columns, 2, hard=True)


def _spelled(one: Parameter) -> str:
    return f"{', '.join(one.names)} {one.metavar}".strip() + (" (required)" if one.names and one.required else "")


def _entry(term: str, text: str, columns: int) -> Iterator[Line]:
    """A term and what it means: side by side where there is room, else below it."""
    indent = TERM if columns >= TWO_COLUMNS else 6
    if columns >= TWO_COLUMNS and cells(term) + 4 <= TERM:
        yield from wrapped([f"  {term}{' ' * (TERM - 2 - cells(term))}{text}"], columns, TERM, hard=True)
        return
    yield from wrapped([f"  {term}"], columns, 6, hard=True)
    yield from wrapped([f"{' ' * indent}{text}"], columns, indent, hard=True)


def _example(line: str, columns: int) -> Iterator[Line]:
    """A command line; where it must be broken, the break is one that a shell takes back."""
    if cells(line) + 2 <= columns:
        yield [f"  {line}"]
        return
    words = [word.replace(" ", HELD) for word in _SHELL_WORD.findall(line)]
    fits = max(map(cells, words)) <= columns - 6  # else a quoted text is broken, which no backslash mends
    broken = list(wrapped([f"  {' '.join(words) if fits else line}"], columns - 2, 4, hard=True))
    for one in broken[:-1]:
        yield [*_released(one), " \\" if fits else ""]
    yield _released(broken[-1])


HELD = "\0"
"""Stands for a blank where no line may be broken."""

_SHELL_WORD = re.compile(r"(?:'[^']*'|[^ '])+")


def _released(line: Line) -> Line:
    return [str(part).replace(HELD, " ") for part in line]
