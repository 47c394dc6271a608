"""Parsers: made of a command's function; who asks for help gets HelpAsked, which `app.py` answers."""

from __future__ import annotations

import pytest

from ctxkit.cli.parser import HelpAsked, command_parser, program_parser
from ctxkit.cli.registry import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_asked_for(name: str) -> None:
    """`-h` and `--help` of a command name it."""
    for word in ("-h", "--help"):
        with pytest.raises(HelpAsked) as asked:
            command_parser(name).make_context(f"ctxkit {name}", [word])
        assert (asked.value.name, asked.value.brief) == (name, word == "-h")


def test_the_program() -> None:
    """Without a command the help is that of the program; its parser knows every command."""
    with pytest.raises(HelpAsked) as asked:
        program_parser().make_context("ctxkit", ["--help"])
    assert asked.value.name is None
    parser = program_parser()
    assert parser.list_commands(None) == list(COMMANDS)
    assert parser.get_command(None, "nothing") is None
    assert parser.get_command(None, "mark").name == "mark"
