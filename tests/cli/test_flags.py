"""Flags: one declaration, one meaning a name, and no option that is declared anywhere else."""

from __future__ import annotations

import enum
import re
import types
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from typer.models import OptionInfo

from ctxkit import cli
from ctxkit.changes.filter_schema import PROVIDERS
from ctxkit.cli.flags import CHOICES, FLAGS, Flag
from ctxkit.cli.help.pages import every_flag
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS
from tests.cli.runner import ctxkit, good, small

CLI = Path(cli.__file__).parent
PROGRAM = {"log_format", "no_pager", "version"}
"""Flags of the program itself."""


@cache
def options(name: str) -> list[Any]:
    """The options of a command, as its parser has them."""
    return [one for one in command_parser(name).params if one.param_type_name == "option"]


def test_options_are_declared_in_the_table_alone() -> None:
    """No other file makes an option; so a name cannot get a second meaning."""
    made = {path.name for path in CLI.rglob("*.py") if "typer.Option(" in path.read_text(encoding="utf-8")}
    assert made == {"options.py", "parser.py"}


def test_the_table_is_in_order() -> None:
    """By long names, each once, short names too."""
    names = [flag.name for flag in FLAGS.values()]
    assert names == sorted(names)
    spelled = [word for flag in FLAGS.values() for word in flag.names.replace("/", " ").split()]
    assert len(spelled) == len(set(spelled))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_as_declared(name: str) -> None:
    """Its spellings, its value, and its meaning are those of the table."""
    for one in options(name):
        flag = FLAGS[one.name.rstrip("_")]
        assert [*one.opts, *one.secondary_opts] == flag.names.replace("/", " ").split()
        assert one.help == flag.on.get(name, flag.help)
        assert (flag.metavar is None) == one.is_flag, one.name
        assert (flag.metavar == CHOICES) == (one.metavar is None and not one.is_flag), one.name


def kind(annotation: Any) -> Any:
    """The type of a value: str, int, bool, list, an enum."""
    plain = [part for part in (get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,))
             if part is not type(None)]  # fmt: skip
    [found] = plain
    found = get_origin(found) or found
    return enum.Enum if isinstance(found, type) and issubclass(found, enum.Enum) else found


def test_a_flag_takes_one_type_everywhere() -> None:
    """What one command reads as a number, no other reads as text."""
    types_of: dict[str, set[Any]] = {}
    for name in COMMANDS:
        command = COMMANDS[name].load()
        for key, annotation in command.__annotations__.items():
            first, *more = get_args(annotation)
            if isinstance(more[0], OptionInfo) and not more[0].hidden:
                types_of.setdefault(key.rstrip("_"), set()).add(kind(first))
    assert {key: found for key, found in types_of.items() if len(found) > 1} == {}


def test_no_flag_is_left_over() -> None:
    """Each is taken by a command, or by the program; what is said for a command is of one that takes it."""
    used = {one.name.rstrip("_"): set[str]() for name in COMMANDS for one in options(name)}
    for name in COMMANDS:
        for one in options(name):
            used[one.name.rstrip("_")].add(name)
    assert used.keys() | PROGRAM == FLAGS.keys()
    for key, flag in FLAGS.items():
        assert flag.on.keys() <= used.get(key, set()) and flag.help not in flag.on.values(), key


def test_words_of_the_table() -> None:
    """A meaning is a sentence; the providers of a tool are those that there are."""
    for flag in FLAGS.values():
        for text in (flag.help, *flag.on.values()):
            assert re.fullmatch(r".*(\.|…)", text), text
    assert FLAGS["for"].metavar == "|".join(PROVIDERS)


def test_a_flag_knows_its_names() -> None:
    """The long one, and that of the parameter."""
    assert (Flag("-n --dry-run", "x").name, Flag("-n --dry-run", "x").key) == ("--dry-run", "dry_run")
    assert Flag("--on/--off", "x").key == "on"


def test_a_flag_that_is_not_declared() -> None:
    """A command cannot take it."""
    from ctxkit.cli.options import takes

    def command(*, nowhere_declared: bool = False) -> None:
        """Words."""

    with pytest.raises(KeyError, match="nowhere_declared"):
        takes()(command)


WRITERS = [name for name, one in COMMANDS.items() if one.group == "change" and name not in ("init", "add")]


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_takes_yes(name: str) -> None:
    """A script may say --yes to each of them, whether it asks or not."""
    assert "-y" in {word for one in options(name) for word in one.opts}


@pytest.mark.parametrize(
    "call", ["protect 3", "compact 3-8 --force", "trim --max-tokens 60", "clear", "mark x", "undo"]
)
def test_yes_where_nothing_is_asked(call: str, tmp_path: Path) -> None:
    """It is taken, and changes nothing of what is done."""
    path = small(tmp_path, marks=["a"])
    name, *words = call.split()
    said = good(name, path, *words, "--dry-run").err
    assert good(name, path, *words, "--dry-run", "-y").err == said and good(name, path, *words, "--yes").code == 0


def test_help_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its commands, at every width; as objects, too."""
    text = good("help", "flags").text
    assert "--context-limit N" in text and re.search(r"--keep-last N .*\n(.*\n)*? +compact, trim\n", text)
    found = good("help", "flags", "--json").values[0]["flags"]
    assert [one["names"][-1] for one in found if one["names"][-1] == "--json"] == ["--json"]
    assert {name for one in found for name in one["commands"]} == set(COMMANDS)
    monkeypatch.setenv("COLUMNS", "40")
    narrow = good("help", "flags").text
    assert max(map(len, narrow.splitlines())) <= 40
    assert len(list(every_flag())) == len(found) == len(FLAGS) - len(PROGRAM)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_url_is_written_to(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option that names what is written refuses a URL, which would be a path here; exit 2, nothing is made."""
    monkeypatch.chdir(tmp_path)
    log = small(tmp_path)
    for option in options(name):
        if not FLAGS[option.name.rstrip("_")].writes:
            continue
        words = ["map", "status", "."] if name == "fleet" else [log.name] if name != "sessions" else []
        ran = ctxkit(name, *words, FLAGS[option.name].name, "ftp://host/x")
        assert (ran.code, ran.out) == (2, b"") and "ftp://" in ran.err and "hint: name a path" in ran.err, (name, ran)
    assert list(tmp_path.iterdir()) == [log]


def test_what_is_written_is_marked() -> None:
    """These, and no other flag."""
    written = {"archive", "ledger", "output", "parquet", "sidecar", "textfile"}
    assert {key for key, flag in FLAGS.items() if flag.writes} == written
