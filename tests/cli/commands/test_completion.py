"""completion: real shells complete commands, options and marks; what a log holds is never run, nor printed raw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.cli.commands.completion import FILES, SCRIPTS
from tests.cli.runner import ctxkit, good, small
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log with good and bad marks, and a neighbour."""
    path = small(tmp_path, marks=LABELS)
    for label in UNSEEN[:-1]:
        good("mark", path, "--", label)
    small(tmp_path, name="other file.jsonl")
    return tmp_path


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "zsh")])
def shell(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shell]:
    """A shell in that folder."""
    opened = Shell(request.param, folder)
    yield opened
    opened.close()


def test_a_script_per_shell() -> None:
    """The command prints the file that the wheel ships; --json has it too."""
    for shell, name in FILES.items():
        script = (SCRIPTS / name).read_bytes()
        assert good("completion", shell.value).out == script
        [value] = good("completion", shell.value, "--json").values
        assert value == {"shell": shell.value, "file": name, "script": script.decode()}
    assert ctxkit("completion", "tcsh").code == 2


def test_commands_options_and_marks(shell: Shell) -> None:
    """TAB completes a command, an option, a choice behind an equals sign or a blank, a file, a session, a mark."""
    assert shell.tab("ctxkit rew") == "ctxkit rewind "
    assert shell.tab("ctxkit show chat.jsonl --after") == "ctxkit show chat.jsonl --after-mark "
    assert shell.tab("ctxkit export chat.jsonl --to anth") == "ctxkit export chat.jsonl --to anthropic "
    assert shell.tab("ctxkit export chat.jsonl --to=anth") == "ctxkit export chat.jsonl --to=anthropic "
    assert shell.tab("ctxkit show oth") == r"ctxkit show other\ file.jsonl "
    assert shell.tab("ctxkit rewind chat.jsonl bef") == "ctxkit rewind chat.jsonl before-refactor "
    assert (
        shell.tab("ctxkit show chat.jsonl --before-mark=bef") == "ctxkit show chat.jsonl --before-mark=before-refactor "
    )
    assert shell.tab("cat chat.jsonl | ctxkit forget ./chat.jsonl --dry") == (
        "cat chat.jsonl | ctxkit forget ./chat.jsonl --dry-run "
    )
    session(shell.folder, "codex", shell.folder, "019ed99c-d00d-7613-b2e7-d2f512f78afd")
    assert shell.tab("ctxkit show @co") == "ctxkit show @codex "
    assert shell.tab("ctxkit forget @019") == "ctxkit forget @019ed99c "
    assert shell.tab("ctxkit nonsense chat.jsonl bef") == "ctxkit nonsense chat.jsonl bef"
    assert shell.tab("ctxkit rewind missing.jsonl bef") == "ctxkit rewind missing.jsonl bef"


def words_of(shell: Shell, line: str) -> list[str]:
    """The line as the shell itself takes it apart, run with another program."""
    (shell.folder / "words").unlink(missing_ok=True)
    rest = line.removeprefix("ctxkit ")
    shell.child.sendline(f"printf '%s\\0' {rest} >words; echo PRIN''TED")
    shell.child.expect_exact("PRINTED\r\n")
    return (shell.folder / "words").read_text().split("\0")[:-1]


@pytest.mark.one_in(2)
def test_hostile_labels_are_quoted(shell: Shell) -> None:
    """A label of any characters becomes one word that means it, and nothing of it is run."""
    begun = {(label[0] if label[0].isalpha() else f"\\{label[0]}"): label for label in LABELS}
    for typed, label in begun.items():
        line = shell.tab(f"ctxkit rewind chat.jsonl {typed}")
        assert words_of(shell, line) == ["rewind", "chat.jsonl", label], line
    assert not (shell.folder / "pwned").exists()


def test_what_cannot_be_shown_is_left_out(shell: Shell) -> None:
    """Labels with control characters and the like are not offered, and never reach the terminal."""
    assert shell.tab("ctxkit rewind chat.jsonl es") == "ctxkit rewind chat.jsonl es"
    listed = shell.listed("ctxkit rewind chat.jsonl ")
    assert "before-refactor" in listed and "höher" in listed
    assert "esc" not in listed and "\x1b]" not in listed and "\u202e" not in listed
    assert not (shell.folder / "pwned").exists()


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
    assert json.loads(good("completion", "fish", "--json").text)["shell"] == "fish"
