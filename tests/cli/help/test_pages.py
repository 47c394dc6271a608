"""Pages: commands as structure."""

from __future__ import annotations

import pytest

from ctxkit.cli.help.pages import OWN, READER, WRITER, overview, page
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import ExitCode


def test_a_page() -> None:
    """Everything that help, a man page and a completion need, from where it is declared."""
    found = page("export")
    assert (
        found.summary
        == "Print the context as a request that the provider accepts, or as a session file that an agent can resume."
    )
    assert found.usage.startswith("ctxkit export --to ") and found.usage.endswith(" [OPTIONS] [LOG]...")
    options = {one.key: one for one in found.options}
    assert options["to"].required and options["to"].choices[:2] == ("chat", "openai")
    assert options["quiet"].names == ("-q", "--quiet") and options["quiet"].metavar == ""
    assert (options["at"].heading, options["model"].heading) == ("State to read", OWN)
    assert [one.metavar for one in found.arguments] == ["[LOG]..."]
    assert [code for code, _ in found.exits] == list(ExitCode)


@pytest.mark.parametrize("name", COMMANDS)
def test_pages_are_whole(name: str) -> None:
    """Every parameter is there, with words; nothing holds a line break."""
    found = page(name)
    keys = {one.key for one in (*found.arguments, *found.options)}
    assert keys == {param.name for param in command_parser(name).params if not getattr(param, "hidden", False)} | {
        "help"
    }
    assert found.summary.endswith(".") and found.examples
    for one in (*found.arguments, *found.options):
        assert one.help.strip() and "\n" not in one.help
        assert one.names or one.metavar


@pytest.mark.parametrize(("name", "text"), [("forget", WRITER), ("add", WRITER), ("mark", WRITER), ("show", READER),
                                            ("check", READER)])  # fmt: skip
def test_what_a_pipe_does(name: str, text: str) -> None:
    """Writers say that they copy the log, readers that they read it; what takes no stream says nothing."""
    assert page(name).description[-1] == text
    assert not {READER, WRITER} & set(page("init").description)


def test_overview() -> None:
    """All commands by group."""
    found = overview()
    assert [name for _, group in found.commands for name, _ in group] and found.name == ""
    assert sorted(name for _, group in found.commands for name, _ in group) == sorted(COMMANDS)
