"""A page describes a command as data; help, completions and man pages (tests/docs/man_page.py) are made from it.

Its sources are the table of commands (`cli/registry.py`), the function of the command (docstring and parameters),
EXAMPLES and the table of exit codes. Reading a page imports only the module of that command.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctxkit.cli import options as options_of
from ctxkit.cli.flags import CHOICES, FLAGS
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
"""The heading of the options that belong to one command."""


class Parameter(NamedTuple):
    """An option or an argument.

    `names`: the spellings of an option, the shortest first; empty for an argument. `metavar`: the name of its value in
    help, "" for a switch. `key`: its name in the code. `heading`: its section in help. `choices`: the possible values,
    if they are fixed. `many`: whether an argument may repeat.
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
    """The page of a command, or of the program (`name` ""). `description` is in paragraphs.

    `exits`: exit codes and their meanings. `commands`: each group with its title and its commands (name, summary);
    empty for the page of a command.
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
    """Headings of options that several commands share."""

    def by_heading(self) -> dict[str, list[Parameter]]:
        """Return the arguments and options under each heading, in order."""
        found: dict[str, list[Parameter]] = {}
        for one in (*self.arguments, *self.options):
            found.setdefault(one.heading, []).append(one)
        return found


HELP = Parameter("help", ("-h", "--help"), "", "Show this help.", OWN, (), False, False)


def page(name: str) -> Page:
    """Return the page of a command, and import its module. `name` is in COMMANDS."""
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
    """Return the page of the program; no command is imported."""
    switches = (FLAGS["no_pager"], FLAGS["log_format"], FLAGS["version"])
    listed = (
        Parameter(one.key, tuple(one.names.split()), one.metavar or "", one.help, OWN, (), False, False)
        for one in switches
    )
    options = (*listed, HELP)
    groups = tuple(
        (title, tuple((one.name, one.summary) for one in COMMANDS.values() if one.group == group))
        for group, title in GROUPS.items()
    )
    return Page("", SUMMARY, "ctxkit COMMAND [LOG] …", DESCRIPTION, (), options, FIRST_STEPS, exits(), groups)


FEW = 12
"""If at most this many commands do not take a flag, those are listed instead of the ones that take it."""


class FlagUse(NamedTuple):
    """A flag and the `commands` that take it. `metavar` names its value, "" for a switch.

    `on`: commands on which it means something of their own, and what.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    on: tuple[tuple[str, str], ...]
    many: bool
    commands: tuple[str, ...]

    @property
    def where(self) -> str:
        """The commands that take it, in words; `all but ...` if few do not."""
        others = [name for name in COMMANDS if name not in self.commands]
        if len(others) > FEW:
            return ", ".join(self.commands)
        return f"all but {', '.join(others)}" if others else "all commands"


def every_flag() -> Iterator[FlagUse]:
    """Yield all flags of the commands, sorted by name; imports every command."""
    used: dict[str, list[tuple[str, Any]]] = {}
    for name in COMMANDS:
        for one in command_parser(name).params:
            if one.param_type_name == "option":
                used.setdefault(one.name.rstrip("_"), []).append((name, one))
    for key, flag in sorted(FLAGS.items(), key=lambda item: item[1].name):
        if key in used:
            metavar = "WORD" if flag.metavar == CHOICES else flag.metavar or ""
            names = tuple(flag.names.replace("/", " ").split())
            many = any(one.multiple for _, one in used[key])
            yield FlagUse(names, metavar, flag.help, tuple(flag.on.items()), many, tuple(name for name, _ in used[key]))


def exits() -> tuple[tuple[int, str], ...]:
    """Return the exit codes of all commands, each with its meaning."""
    return tuple((int(code), text) for code, text in MEANING.items())


def _paragraphs(docstring: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(docstring or "").split("\n\n")]


def _headings(callback: Any) -> dict[str, str]:
    """Map each option of a bundle to the first line of the bundle, without its full stop."""
    command = inspect.unwrap(callback)
    bundles = getattr(command, "bundles", ())
    return {key: _heading(bundle) for bundle in bundles for key in bundle.__annotations__}


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
