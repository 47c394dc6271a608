"""A page per command: the help as it is, examples that run, and the sections that a reader looks for."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.cli.app import run as cli
from ctxkit.cli.help.examples import EXAMPLES
from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import ExitCode
from tests.cli.runner import ctxkit
from tests.docs.pages import DOCS, settle, with_part
from tests.docs.sandbox import make, run

HEADINGS = ["When to use", "Not for", "Examples", "What is appended", "With --json", "Exit codes"]

PREPARED = (
    "ctxkit mark chat.jsonl before-refactor",
    "ctxkit add chat.jsonl --role assistant --ts 2026-02-12T09:12:00Z 'I will put the clock into a global.'",
    "ctxkit snapshot chat.jsonl -m 'before the refactor'",
    "ctxkit forget chat.jsonl 6-7",
    "ctxkit window chat.jsonl 48h",
    "ctxkit protect chat.jsonl 13",
    "ctxkit mark chat.jsonl scratch",
    "ctxkit undo chat.jsonl",
    "printf 'window = \"8h\"\\n' >gardener.toml",
)
"""What was done to the log before an example runs: marks to rewind to, ops to undo and redo, a window to widen, a
snapshot, an archetype."""
NOTE = "ctxkit memory add 'python 3.11 runs the tests'"
"""What was done before an example of notes: they are kept by the path of the folder."""
NOT_FORGOTTEN = "ctxkit undo chat.jsonl 2"
"""What was done before the summary of a snapshot is brought in: it tells nothing that was forgotten since."""


ANSWERS = {"diff": {0, 1}, "sessions": {0, 1}}
"""Commands whose 1 is an answer."""


def page(command: str) -> Path:
    """Where a command is documented."""
    return DOCS / "commands" / f"{command}.md"


def help_text(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `ctxkit COMMAND --help` prints."""
    assert cli([command, "--help"]) == ExitCode.DONE
    return capsys.readouterr().out


def examples(command: str) -> str:
    """The examples as a page shows them."""
    lines = [f"{line}  # {note}" for line, note in EXAMPLES[command]]
    return "```sh\n" + "\n".join(lines) + "\n```"


def every_example() -> Iterator[tuple[str, str]]:
    """Command and command line of each example."""
    for command, lines in EXAMPLES.items():
        for line, _ in lines:
            yield command, line


@pytest.mark.parametrize("command", COMMANDS)
def test_page(command: str, capsys: pytest.CaptureFixture[str], update: bool) -> None:
    """The page holds the help and the examples, letter by letter."""
    text = page(command).read_text(encoding="utf-8")
    text = with_part(text, "help", f"```text\n{help_text(command, capsys)}```")
    settle(page(command), with_part(text, "examples", examples(command)), update=update)


@pytest.mark.parametrize("command", COMMANDS)
def test_sections(command: str) -> None:
    """Every page has the sections, in order, none of them empty, and exit codes that exist."""
    text = page(command).read_text(encoding="utf-8")
    assert text.startswith(f"# ctxkit {command}\n")
    pieces = re.split(r"^## (.+)\n", text, flags=re.M)
    assert pieces[1::2] == HEADINGS
    assert all(body.strip() for body in pieces[2::2])
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", pieces[-1], re.M)]
    assert codes == sorted(set(codes)) and codes[0] == ExitCode.DONE
    assert set(codes) <= set(ExitCode)


def test_no_page_without_a_command() -> None:
    """What was removed is not documented any more; what is documented has examples."""
    assert {path.stem for path in (DOCS / "commands").glob("*.md")} == set(COMMANDS)
    assert set(EXAMPLES) == set(COMMANDS)


SHELL = re.compile(r"^(?!ctxkit )|[|<>$`;&*~]")
"""What only a shell understands."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's logs with the work of PREPARED done."""
    work = make(tmp_path_factory.mktemp("prepared"))
    ran = run(work, PREPARED)
    assert [status for _, status in ran] == [0] * len(PREPARED), ran
    return work


@pytest.mark.parametrize(("command", "line"), list(every_example()), ids=lambda value: value)
def test_examples_run(command: str, line: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example does what it says: exit 0 (or an answer), on the guide's logs after a little work on them.

    A line that needs a shell runs in one; the others run in this process.
    """
    assert f"ctxkit {command}" in line
    work = make(tmp_path)
    shutil.copytree(prepared, work, dirs_exist_ok=True)
    if SHELL.search(line):
        before = [NOTE] if "memory" in line else []
        output, status = run(work, [*before, f"set -o pipefail; {line}"], first=len(PREPARED))[-1]
    else:
        monkeypatch.chdir(work)
        monkeypatch.setenv("EDITOR", "sed -i '$s/$/./'")
        if command == "memory":
            assert ctxkit(*shlex.split(NOTE)[1:]).code == 0
        if command == "restore" and "--summary" in line:
            assert ctxkit(*shlex.split(NOT_FORGOTTEN)[1:]).code == 0
        ran = ctxkit(*shlex.split(line)[1:])
        output, status = ran.text + ran.err, ran.code
    ended = {128 + signal.SIGPIPE} if "| head" in line else set()  # which does not wait for the rest
    assert status in ANSWERS.get(command, {0}) | ended, output
    assert "appended" not in output, "an example that does nothing"
