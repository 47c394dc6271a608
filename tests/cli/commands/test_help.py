"""ctxkit help: examples first, whole at every width.

Completion: real shells complete commands, options and marks; what a log holds is never run, nor printed raw.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.cli.commands.help import FILES, SCRIPTS
from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import MEANING
from tests.cli.runner import ctxkit, good, shell, small
from tests.cli.shells import Shell, fish
from tests.homes import session

LABELS = [
    "before-refactor",
    "two words",
    "it's",
    'say "x"',
    "$(touch pwned)",
    "`touch pwned`",
    "~root",
    "a:b",
    "höher",
]
UNSEEN = ["esc\x1b[31mred", "esc\x1b]0;pwned\x07", "esc\nline", "esc\ttab", "esc\u202erev", "-rf", ""]
"""Labels that no shell may show or insert as they are; the last two are no words to type."""


def test_no_colour_in_a_pipe() -> None:
    """Plain text, whatever it is read by."""
    assert b"\x1b" not in good("help", "show").out


def test_colour_where_it_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings are bold; the words stay."""
    plain = good("help", "show").text
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    inked = good("show", "--help").text
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
        value["name"] == "window"
        and {"command": "ctxkit window chat.jsonl", "note": "show the window"} in value["examples"]
    )
    [value] = good("help", "--json").values
    assert [one["name"] for one in value["commands"]] == sorted(
        COMMANDS, key=[one["name"] for one in value["commands"]].index
    )


def test_exit_codes() -> None:
    """Each code with its meaning, once."""
    lines = good("help", "exit-codes").text.splitlines()
    assert [int(line.split()[0]) for line in lines] == [int(code) for code in MEANING] and "  66  no such log" in lines
    [value] = good("help", "exit-codes", "--json").values
    assert [one["code"] for one in value["exits"]] == [int(code) for code in MEANING]


def test_unknown() -> None:
    """The nearest is named."""
    ran = ctxkit("help", "shwo")
    assert (ran.code, ran.err) == (2, "ctxkit: no such command: shwo\nhint: ctxkit show?\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log with good and bad marks, and a neighbour."""
    path = small(tmp_path, marks=LABELS)
    for label in UNSEEN[:-1]:
        good("mark", path, "--", label)
    small(tmp_path, name="other file.jsonl")
    return tmp_path


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "zsh")])
def live(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shell]:
    """A shell in that folder."""
    opened = Shell(request.param, folder)
    yield opened
    opened.close()


def test_a_script_per_shell() -> None:
    """The command prints the file that the wheel ships; --json has it too."""
    for of, name in FILES.items():
        script = (SCRIPTS / name).read_bytes()
        assert good("help", "--completion", of.value).out == script
        [value] = good("help", "--completion", of.value, "--json").values
        assert value == {"shell": of.value, "file": name, "script": script.decode()}
    assert ctxkit("help", "--completion", "tcsh").code == 2
    assert ctxkit("help", "show", "--completion", "bash").code == 2


def test_commands_options_and_marks(live: Shell) -> None:
    """TAB completes a command, an option, a choice behind an equals sign or a blank, a file, a session, a mark."""
    assert live.tab("ctxkit rew") == "ctxkit rewind "
    assert live.tab("ctxkit show chat.jsonl --after") == "ctxkit show chat.jsonl --after-mark "
    assert live.tab("ctxkit export chat.jsonl --to anth") == "ctxkit export chat.jsonl --to anthropic "
    assert live.tab("ctxkit export chat.jsonl --to=anth") == "ctxkit export chat.jsonl --to=anthropic "
    assert live.tab("ctxkit show oth") == r"ctxkit show other\ file.jsonl "
    assert live.tab("ctxkit rewind chat.jsonl bef") == "ctxkit rewind chat.jsonl before-refactor "
    assert (
        live.tab("ctxkit show chat.jsonl --before-mark=bef") == "ctxkit show chat.jsonl --before-mark=before-refactor "
    )
    assert live.tab("cat chat.jsonl | ctxkit forget ./chat.jsonl --dry") == (
        "cat chat.jsonl | ctxkit forget ./chat.jsonl --dry-run "
    )
    session(live.folder, "codex", live.folder, "019ed99c-d00d-7613-b2e7-d2f512f78afd")
    assert live.tab("ctxkit show @co") == "ctxkit show @codex "
    assert live.tab("ctxkit forget @019") == "ctxkit forget @019ed99c "
    assert live.tab("ctxkit nonsense chat.jsonl bef") == "ctxkit nonsense chat.jsonl bef"
    assert live.tab("ctxkit rewind missing.jsonl bef") == "ctxkit rewind missing.jsonl bef"


def words_of(live: Shell, line: str) -> list[str]:
    """The line as the shell itself takes it apart, run with another program."""
    (live.folder / "words").unlink(missing_ok=True)
    rest = line.removeprefix("ctxkit ")
    live.child.sendline(f"printf '%s\\0' {rest} >words; echo PRIN''TED")
    live.child.expect_exact("PRINTED\r\n")
    return (live.folder / "words").read_text().split("\0")[:-1]


@pytest.mark.one_in(2)
def test_hostile_labels_are_quoted(live: Shell) -> None:
    """A label of any characters becomes one word that means it, and nothing of it is run."""
    begun = {(label[0] if label[0].isalpha() else f"\\{label[0]}"): label for label in LABELS}
    for typed, label in begun.items():
        line = live.tab(f"ctxkit rewind chat.jsonl {typed}")
        assert words_of(live, line) == ["rewind", "chat.jsonl", label], line
    assert not (live.folder / "pwned").exists()


def test_what_cannot_be_shown_is_left_out(live: Shell) -> None:
    """Labels with control characters and the like are not offered, and never reach the terminal."""
    assert live.tab("ctxkit rewind chat.jsonl es") == "ctxkit rewind chat.jsonl es"
    listed = live.listed("ctxkit rewind chat.jsonl ")
    assert "before-refactor" in listed and "höher" in listed
    assert "esc" not in listed and "\x1b]" not in listed and "\u202e" not in listed
    assert not (live.folder / "pwned").exists()


@pytest.mark.needs("zsh")
def test_zsh_describes(folder: Path) -> None:
    """zsh lists commands with their line, options with their help."""
    shell = Shell("zsh", folder)
    assert "take messages out of the context" in shell.listed("ctxkit ")
    assert "Messages after the newest mark with this label" in shell.listed("ctxkit show --")
    shell.close()


@pytest.mark.needs("fish")
def test_fish(folder: Path) -> None:
    """fish completes a command, an option and a mark, with descriptions."""
    assert fish("ctxkit rew", folder) == [("rewind", "drop the messages that came after a mark")]
    assert fish("ctxkit show --after", folder) == [("--after-mark", "Messages after the newest mark with this label.")]
    assert fish("ctxkit rewind chat.jsonl bef", folder) == [("before-refactor", "mark after message 11")]
    assert ("--to=anthropic", "") in fish("ctxkit export chat.jsonl --to=", folder)
    assert [word for word, _ in fish("ctxkit show oth", folder)] == ["other file.jsonl"]
    assert [word for word, _ in fish("ctxkit show --sidecar=prog", folder)] == ["--sidecar=programs/"]
    assert {word for word, _ in fish("ctxkit rewind chat.jsonl ", folder)} == set(LABELS)
    assert {word for word, _ in fish("ctxkit rewind -- chat.jsonl ", folder)} == {*LABELS, "-rf"}
    assert fish("ctxkit rewind missing.jsonl ", folder) == []
    assert not (folder / "pwned").exists()


def test_json_is_ascii(folder: Path) -> None:
    """The machine form is a JSON object."""
    assert json.loads(good("help", "--completion", "fish", "--json").text)["shell"] == "fish"
