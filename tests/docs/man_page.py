"""Man pages in roff, made from the same pages as help. groff and mandoc accept them without warnings at any width.

They contain the version and no date, so the same source gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ctxkit.cli.help.pages import Page, Parameter, overview, page
from ctxkit.cli.registry import COMMANDS
from ctxkit.settings.keys import KEYS, PREFIX
from ctxkit.version import VERSION

ENVIRONMENT = (
    (f"{PREFIX}KEY", f"The config key KEY, in capitals, its dots as underscores: {PREFIX}WINDOW_DEFAULT=8h."),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "Whether the result is coloured; by default on a terminal only."),
    ("PAGER", "The program that shows what is longer than the screen; less by default."),
    ("COLUMNS", "The width, where it is not that of the terminal."),
    ("TZ", "The time zone of the times that are typed."),
    ("XDG_CONFIG_HOME", "Where the user's config is, in place of ~/.config."),
    ("TMPDIR", "Where a log on standard input of more than 8 MiB is kept while it is read."),
    (f"{PREFIX}DEBUG", "If set, a bug shows its traceback."),
)

FILES = (
    ("LOG.ctxkit/config.toml", "The config of a log, beside it."),
    ("LOG.ctxkit/ops.jsonl", "The ops on a log that another program owns."),
    ("ctxkit.toml", "Config for the logs in a folder and those below it."),
    ("~/.config/ctxkit/config.toml", "The user's config."),
)


def every_page() -> Iterator[tuple[str, str]]:
    """Yield the file name and the roff of each man page."""
    for one in (overview(), *map(page, COMMANDS)):
        yield f"{_title(one.name)}.1", roff(one)


def roff(page: Page) -> str:
    """Return the man page of a command, or of the program."""
    name = _title(page.name)
    line = COMMANDS[page.name].summary if page.name else page.summary.rstrip(".")
    parts = [
        '.\\" Written from the source by `just docs`: change nothing here.',
        f'.TH "{name.upper()}" 1 "" "ctxkit {VERSION}" "ctxkit"',
        ".ad l",
        ".nh",
        ".SH NAME",
        f"{plain(name)} \\- {plain(line)}",
        ".SH SYNOPSIS",
        *_synopsis(page.usage),
        ".SH DESCRIPTION",
        *_paragraphs([page.summary, *page.description] if page.name else page.description),
    ]
    for heading, group in page.commands:
        parts += [_section(heading), *_terms((f"ctxkit {command}", words) for command, words in group)]
    for heading, parameters in page.by_heading().items():
        parts += [_section(heading), *_terms(map(_entry, parameters))]
    parts += [".SH EXAMPLES"]
    for i, (command, note) in enumerate(page.examples):
        parts += [".PP"] * bool(i) + [_sentence(note), ".PP", ".RS 4", ".nf", plain(command), ".fi", ".RE"]
    parts += [".SH EXIT STATUS", *_terms((str(code), meaning) for code, meaning in page.exits)]
    parts += [".PP", "A signal ends it with 128 plus the number of the signal. A pipe that closes is quiet."]
    if not page.name:
        keys = ((key.name, f"{key.comment} (default: {key.default})") for key in KEYS if key.default is not None)
        parts += [".SH CONFIGURATION", *_terms(keys)]
        parts += [".SH ENVIRONMENT", *_terms(ENVIRONMENT), ".SH FILES", *_terms(FILES)]
    also = ["ctxkit"] if page.name else [_title(other) for other in COMMANDS]
    parts += [".SH SEE ALSO", *(f".BR {plain(one)} (1){',' * (one != also[-1])}" for one in also)]
    return "\n".join(parts) + "\n"


def plain(words: str) -> str:
    """Escape text for roff, so that it prints every character; the result is ASCII."""
    for found, printed in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("~", "\\(ti"), ("^", "\\(ha")):
        words = words.replace(found, printed)
    words = re.sub(r"(?<=\w)[|/=](?=\w)", r"\g<0>\\:", words)  # a line may break there
    escaped = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in words)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _title(name: str) -> str:
    return f"ctxkit-{name}" if name else "ctxkit"


def _section(heading: str) -> str:
    return f'.SH "{plain(heading.upper())}"'


def _synopsis(usage: str) -> Iterator[str]:
    """The usage with its command in bold; further lines are indented."""
    bold = re.match(r"ctxkit( [a-z]+)?", usage)
    size = bold.end() if bold else 0
    yield from (".HP", f"\\fB{plain(usage[:size])}\\fR{plain(usage[size:])}")


def _paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for i, paragraph in enumerate(paragraphs):
        yield from (".PP", _prose(paragraph)) if i else (_prose(paragraph),)


def _prose(words: str) -> str:
    """Escape text; text between backquotes becomes bold."""
    return re.sub(r"\\\(ga(.+?)\\\(ga", r"\\fB\1\\fR", plain(words))


def _sentence(words: str) -> str:
    return f"{_prose(words[:1].upper() + words[1:])}:"


def _entry(one: Parameter) -> tuple[str, str]:
    spelled = f"{', '.join(one.names)} {one.metavar}".strip()
    return spelled, one.help + (" Required." if one.names and one.required else "")


def _terms(terms: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in terms:
        yield from (".TP", f"\\fB{plain(term)}\\fR", _prose(meaning[:1].upper() + meaning[1:]))
