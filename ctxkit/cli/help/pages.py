"""Pages: what a command is, as structure; help, man pages and completions are made from it.

The facts come from where they are declared: the table of commands (`cli/registry.py`), the function of the command
(docstring and parameters), EXAMPLES and the table of exit codes. Reading a page imports the module of that command
alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctxkit.cli import options as options_of
from ctxkit.cli.help.examples import EXAMPLES, FIRST_STEPS
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS, GROUPS
from ctxkit.errors import MEANING

SUMMARY = "Unix commands for the context of LLM conversations."

DESCRIPTION = (
    "A log is append-only: every change is an op that is appended and can be undone. LOG is a path, or - (or nothing) "
    "for standard input. With a path a command appends to the log; with - it copies the log to standard output and "
    "adds its op, so commands make pipes.",
    "LOG can be a session's name, too: @ is the newest of this folder's project, @2 the one before, @codex, @claude or "
    "@pi the newest of an agent, @3f2a... the beginning of an id, '@words of a title' the only one with these words. "
    "./@x is a file called @x. `ctxkit FILE` is `ctxkit show FILE`; `ctxkit` alone, on a terminal, shows the newest "
    "sessions. On a terminal a command without LOG lets one be picked.",
    "`ctxkit COMMAND --help` has the examples and options of a command. Results go to standard output, everything else "
    "to standard error. On a terminal, text that is longer than the screen goes through a pager.",
)

WRITER = (
    "In a pipe: with - for LOG the log is read from standard input and copied to standard output unchanged, followed "
    "by what is added; reports go to standard error. On exit 0 and 1 the whole log is printed, on others nothing."
)
READER = "In a pipe: with - for LOG, or without it, the log is read from standard input."

OWN = "Options"
"""The heading of the options that are a command's own."""


class Parameter(NamedTuple):
    """An option or an argument.

    `names`: an option's spellings, the short one first; none for an argument. `metavar`: how its value is called in
    help ("" for a switch). `key`: what the code calls it. `heading`: what it is listed under. `choices`: the values
    that are possible, where they are few. `many`: an argument that may repeat.
    """

    key: str
    names: tuple[str, ...]
    metavar: str
    help: str
    heading: str
    choices: tuple[str, ...]
    required: bool
    many: bool


class Page(NamedTuple):
    """A command, or (`name` "") the program: `description` in paragraphs, `exits` as code and meaning.

    `commands`: title of a group, and name and line of each of its commands; empty for a command.
    """

    name: str
    summary: str
    usage: str
    description: tuple[str, ...]
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]
    examples: tuple[tuple[str, str], ...]
    exits: tuple[tuple[int, str], ...]
    commands: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    shared: frozenset[str] = frozenset()
    """Headings of options that several commands have."""

    def by_heading(self) -> dict[str, list[Parameter]]:
        """Heading -> its arguments and options, in order."""
        found: dict[str, list[Parameter]] = {}
        for one in (*self.arguments, *self.options):
            found.setdefault(one.heading, []).append(one)
        return found


HELP = Parameter("help", ("-h", "--help"), "", "Show this help.", OWN, (), False, False)


def page(name: str) -> Page:
    """The page of one command; imports its module. `name` is in COMMANDS."""
    parsed = command_parser(name)
    summary, *description = _paragraphs(parsed.help)
    headings = _headings(parsed.callback)
    listed = [_parameter(found, headings) for found in parsed.params]
    arguments = tuple(one for one in listed if not one.names)
    options = (*(one for one in listed if one.names), HELP)
    words = [f"{one.names[-1]} {one.metavar}" for one in options if one.required]
    usage = " ".join(["ctxkit", name, *words, "[OPTIONS]", *(one.metavar for one in arguments)])
    keys = {one.key for one in listed}
    if name == "add" or "op_id" in keys:
        description.append(WRITER)
    elif name != "config" and any(one.key == "log" and not one.required for one in arguments):
        description.append(READER)
    bundles = getattr(inspect.unwrap(parsed.callback), "bundles", ())
    shared = frozenset(_heading(one) for one in bundles if one.__module__ == options_of.__name__)
    return Page(name, summary, usage, tuple(description), arguments, options, EXAMPLES[name], exits(), shared=shared)


def overview() -> Page:
    """The page of the program; imports no command."""
    options = (
        Parameter("no_pager", ("--no-pager",), "", "No pager (before the command).", OWN, (), False, False),
        Parameter("quiet", ("-q", "--quiet"), "", "As behind the command.", OWN, (), False, False),
        Parameter("dry_run", ("-n", "--dry-run"), "", "As behind the command.", OWN, (), False, False),
        Parameter("json", ("--json",), "", "As behind the command.", OWN, (), False, False),
        Parameter("version", ("-V", "--version"), "", "Print the version.", OWN, (), False, False),
        HELP,
    )
    groups = tuple(
        (title, tuple((one.name, one.summary) for one in COMMANDS.values() if one.group == group))
        for group, title in GROUPS.items()
    )
    return Page("", SUMMARY, "ctxkit COMMAND [LOG] …", DESCRIPTION, (), options, FIRST_STEPS, exits(), groups)


def every() -> Iterator[Page]:
    """The program's page, then one of each command."""
    yield overview()
    for name in COMMANDS:
        yield page(name)


def exits() -> tuple[tuple[int, str], ...]:
    """The exit codes of all commands, each with its meaning."""
    return tuple((int(code), text) for code, text in MEANING.items())


def _paragraphs(docstring: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(docstring or "").split("\n\n")]


def _headings(callback: Any) -> dict[str, str]:
    """For each option that comes in a bundle the bundle's first line, without its full stop."""
    command = inspect.unwrap(callback)
    bundles = getattr(command, "bundles", ())
    own: frozenset[str] = getattr(command, "declared", frozenset())
    return {key: _heading(bundle) for bundle in bundles for key in bundle.__annotations__ if key not in own}


def _heading(bundle: type) -> str:
    return _paragraphs(bundle.__doc__)[0].rstrip(".")


def _parameter(found: Any, headings: dict[str, str]) -> Parameter:
    option = found.param_type_name == "option"
    names = tuple(sorted((*found.opts, *found.secondary_opts), key=len)) if option else ()
    choices = tuple(map(str, getattr(found.type, "choices", None) or ()))
    switch = option and found.is_flag
    metavar = "" if switch else found.metavar or "|".join(choices) or str(found.type.name).upper()
    heading = headings.get(found.name, OWN if option else "Arguments")
    many = found.nargs == -1
    return Parameter(found.name, names, metavar, found.help or "", heading, choices, bool(found.required), many)
