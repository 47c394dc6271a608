"""A hostile log through every command: pipes, terminals of 80 and 20 columns, a pager, with and without colour.

Nothing reaches a terminal but text and ctxkit's own colours. The families are those of `hostile.py`; every command is
in ROWS, with every form that prints what somebody else wrote.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyte
import pytest

from ctxkit.cli.registry import COMMANDS, COMPLETE
from ctxkit.cli.terminal.pager import PAGED
from tests.cli.hostile import (
    ALL,
    FAMILIES,
    SESSIONS,
    bad_characters,
    beside,
    configs,
    folder_of,
    hostile,
    many,
    plain,
    session,
    typed,
)
from tests.cli.runner import Ran, ctxkit
from tests.cli.screens import all_on_pty, on_pty
from tests.effort import some

ROWS: dict[str, list[str]] = {
    "show": [
        "LOG", "LOG --oneline", "LOG --full", "LOG --explain", "LOG --explain --agent BAD", "LOG --at 4",
        "LOG --agent BAD --thread BAD", "LOG --agent noBAD", "LOG --thread noBAD", "LOG --at noBAD", "BAD", "LOG BAD",
        "LOG --grep (BAD", "LOG --last BAD", "LOG --since BAD", "LOG --now BAD", "LOG --after-mark noBAD",
        "LOG --optionBAD", "LOG --conversation BAD", "LOG --status LOG", "LOG --status noBAD", "LOG --sidecar noBAD",
    ],
    "status": ["LOG", "LOG --short --context-limit 9", "LOG --plot", "LOG --svg", "LOG --files",
               "LOG --agent BAD --thread BAD", "LOG --agent noBAD", "LOG --context-limit BAD",
               "LOG --context-limit 9", "LOG --by agent", "LOG --by agent --at noBAD"],
    "log": ["LOG", "LOG --at 4", "LOG --tokens"],
    "diff": ["LOG 5 now", "LOG 5 now --full", "LOG 5 now --stat", "LOG 1 BAD", "LOG BAD", "LOG OTHER",
             "OTHER LOG --full"],
    "why": ["LOG 1- 6.", "LOG BAD"],
    "recall": [
        "LOG -e BAD", "LOG --regex .", "LOG LOG -e BAD", "LOG OTHER --regex .", "LOG BADno", "LOG a --state BAD",
        "LOG --regex (BAD", "LOG . --apply --yes", "LOG --apply --state out --yes", "LOG a --agent noBAD",
        "LOG BAD --apply --dry-run", "DIR --regex .", "DIR -c a", "DIR -l a", "noBAD a", "LOG DIR -i A",
        "LOG --apply --role user",
    ],
    "sessions": ["DIR", "LOG --grep .", "DIR --grep (BAD", "DIR --format BAD", "DIR --since BAD", "noBAD",
                 "DIR --grep noBAD"],
    "cat": ["LOG"],
    "init": ["LOG --profile BAD", "LOG", "noBAD/BAD", "LOG --agent BAD --agent-config OTHER",
             "LOG --agent BAD --agent-config noBAD"],
    "add": ["LOG hi", "LOG BAD --role BAD --agent BAD --thread BAD --name BAD --model BAD --dry-run", "LOG hi --ts BAD",
            "LOG BAD --messages", "noBAD hi"],
    "mark": ["LOG BAD", "BAD", "LOG --op-id BAD", "LOG a BAD"],
    "rewind": ["LOG BAD", "LOG none", "LOG noBAD"],
    "forget": ["LOG 3", "LOG --grep . --yes", "LOG --grep .", "LOG BAD", "LOG --tool BAD"],
    "remember": ["LOG 3", "LOG --role BAD"],
    "clear": ["LOG --agent BAD", "LOG"],
    "compact": ["LOG --target 30% --keep-last 0", "LOG --target BAD", "LOG --strategy BAD", "LOG --summary-file OTHER",
                "LOG --summary-file noBAD", "LOG BAD", "LOG --target BAD", "LOG --strategy mask --target 1% --dry-run",
                "LOG --agent noBAD", "LOG 2- --keep-last 0 --force"],
    "trim": ["LOG --max-tokens 60", "LOG --max-tokens BAD", "LOG --max-tokens 90 --exclude-tool BAD --dry-run",
             "LOG --overflow noBAD"],
    "edit": ["LOG --print", "LOG --print --plain", "LOG --print --role BAD", "LOG --draft OTHER", "LOG --draft noBAD",
             "LOG BAD --print",
             "LOG --print 3-4 --only-context", "LOG --draft noBAD --print"],
    "protect": ["LOG 3", "LOG BAD", "LOG 1 --off", "LOG 2 --off"],
    "window": ["LOG", "LOG --agent BAD", "LOG BAD", "LOG 8h --agent BAD", "LOG add BAD"],
    "undo": ["LOG", "LOG noBAD", "LOG 3", "LOG --redo"],
    "export": ["LOG --to chat", "LOG --to openai", "LOG --to anthropic", "LOG --to gemini", "LOG --to BAD",
               "LOG --to openai --model BAD --agent noBAD"],
    "snapshot": ["LOG -m BAD --tag BAD", "LOG --all --json", "LOG --summary-file OTHER", "LOG --summary-file noBAD",
                 "LOG --at BAD", "LOG --light -m BAD", "LOG --auto", "LOG --auto --tag BAD", "noBAD --light"],
    "restore": ["LOG latest", "LOG BAD", "LOG noBAD/x.json", "LOG OTHER", "LOG", "LOG - --summary"],
    "snapshots": ["LOG", "LOG BAD", "LOG --rm BAD", "LOG --agent BAD", "noBAD", "LOG --prune --sidecar noBAD"],
    "check": ["LOG"],
    "scan": ["LOG", "LOG --json", "BAD", "LOG LOG"],
    "recover": ["LOG", "LOG --yes", "LOG --point BAD", "LOG --point checkpoint", "LOG --dry-run", "LOG --yes --json",
                "LOG -o noBAD/x", "LOG -o OTHER", "noBAD -o -", "LOG -o DIR", "LOG -o noBAD/x --json"],
    "memory": ["add BAD", "list", "show", "search BAD", "supersede 1 BAD", "list --all", "extract LOG", "BAD",
               "list BAD", "supersede BAD", "add x --source BAD", "add x --source LOG#BAD",
               "search noBAD --cwd noBAD", "redo BAD"],
    "resume": ["LOG --to pi --cwd . --dry-run", "LOG --to pi --cwd noBAD", "LOG --to BAD", "LOG --map BAD",
               "LOG --id BAD", "noBAD", "LOG --map noBAD=BAD --to codex --dry-run"],
    "tool": ["call LOG OTHER", "schema --for BAD", "schema BAD", "BAD", "call LOG noBAD", "call noBAD -", "call LOG -"],
    "fleet": ["ingest DIR -o OUT", "ingest noBAD -o OUT", "ingest LOG -o OTHER", "BAD LOG -o OUT",
              "ingest BAD://x -o OUT", "ingest LOG", "ingest -o BAD"],
    "sql": ["LOG messages", "LOG BAD", "LOG noBAD messages", "noBAD messages", "DIR transcripts",
            "LOG messages --table", "LOG messages --json", "LOG messages --query BAD", "LOG messages --from BAD",
            "--schema BAD", "--views BAD", "LOG messages -o noBAD/x", "LOG messages --timeout BAD"],
    "metrics": ["DIR", "LOG", "noBAD", "LOG --events BAD", "LOG --serve BAD", "LOG --textfile noBAD/BAD"],
    "watch": ["--once LOG", "--once --json LOG", "--once noBAD", "LOG --all"],
    "config": ["LOG", "LOG --only-set", "LOG get model", "LOG get BAD", "LOG set BAD BAD", "LOG set model BAD",
               "LOG set limit BAD", "LOG unset BAD", "LOG BAD", "--user set model BAD", "--user BAD"],
    "help": ["", "BAD", "show", "--completion bash", "--completion BAD"],
    COMPLETE: ["zsh -- rewind LOG ", "zsh -- undo LOG ", "fish -- show LOG --agent ", "zsh -- forget LOG --role ",
               "zsh -- diff LOG ", "zsh -- BAD "],
    "": ["remarkBAD", "--version", "--optionBAD", "--help"],
}  # fmt: skip
"""Command -> the words behind it: every human form, and every error that repeats what was typed."""

CALLS = [f"{name} {words}".lstrip() for name, rows in ROWS.items() for words in rows]
FIRST = [f"{name} {rows[0]}".lstrip() for name, rows in ROWS.items()]
LOOKING = [call for call in CALLS if call.split(" ")[0] in ("show", "status", "log", "diff", "why", "recall", "check")]
BYTES = ("cat", COMPLETE)
"""What these write to a pipe is not for people; on a terminal it is."""

DRAFT = "edit LOG --print"
"""A draft holds the lines of messages as they are, at the beginning of its own; on standard output alone."""


def test_every_command_has_its_rows() -> None:
    """A new command is tried with hostile text, or this is red; nothing is tried that is gone."""
    assert set(ROWS) == {*COMMANDS, COMPLETE, ""}


class Place:
    """A folder with what the words of a row stand for."""

    def __init__(self, folder: Path, bad: str, log: bytes, config: str | None = None) -> None:
        self.folder, self.bad, self.made = folder, bad, log
        self.config = config
        (folder / "other.jsonl").write_bytes(session("pi", bad))
        self.dir = folder_of(folder, bad)

    def words(self, call: str, number: int = 0) -> list[str]:
        """The call, with a log of its own."""
        path = self.folder / f"chat{number}.jsonl"
        path.write_bytes(self.made)
        if self.config is not None:
            beside(path, self.bad, self.config)
        names = {"LOG": path, "OTHER": self.folder / "other.jsonl", "DIR": self.dir, "BAD": typed(self.bad),
                 "OUT": self.folder / "out"}  # fmt: skip
        pattern = re.compile("|".join(names))
        return [pattern.sub(lambda found: str(names[found[0]]), word) for word in call.split(" ")]


def proper(ran: Ran, call: str, *, own: bool = False, screen: bool = False) -> None:
    """Nothing but text (and, with `own`, our colours), no line that a transcript made up, no bug."""
    out = "" if call.startswith(BYTES) and not screen else ran.out.decode("utf-8")
    told = ran.err
    if own:
        out, told = plain(out), plain(told)
    assert (bad_characters(out), bad_characters(told)) == ([], [])
    assert "ctxkit: a bug:" not in told, told
    out = "" if call.startswith(DRAFT) else out
    assert "\nctxkit: all is well" not in f"\n{out}\n{told}" and "\nhint: rm" not in f"\n{told}"


@pytest.mark.one_in(4, first=3)
@pytest.mark.parametrize("bad", [*FAMILIES.values(), ALL], ids=[*FAMILIES, "all of them"])
def test_pipe(tmp_path: Path, bad: str) -> None:
    """Each family through commands of every kind; all of them at once through every row."""
    place = Place(tmp_path, bad, hostile(bad))
    for call in CALLS if bad == ALL else some(FIRST, 3, [*FAMILIES.values()].index(bad)):
        proper(ctxkit(*place.words(call)), call)


MODES: dict[str, dict[str, str]] = {
    "80 columns": {"COLUMNS": "80"},
    "20 columns": {"COLUMNS": "20"},
    "NO_COLOR": {"NO_COLOR": "1"},
    "CLICOLOR_FORCE": {"CLICOLOR_FORCE": "1"},
}


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sets the variables of a mode; its name."""
    name: str = request.param
    for key, value in MODES[name].items():
        monkeypatch.setenv(key, value)
    return name


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: a line that comes and goes by the clock is no part of what is looked at."""
    monkeypatch.setattr("ctxkit.cli.terminal.progress.AFTER", 3600)


LOGS = {**{name: session for name in SESSIONS}, "chat": lambda _, bad: hostile(bad), "many": lambda _, bad: many(bad)}


@pytest.mark.covering("mode", "format_")
@pytest.mark.parametrize("format_", LOGS)
def test_modes(tmp_path: Path, mode: str, format_: str) -> None:
    """Logs of every format, all families at once, in every mode."""
    screen = "columns" in mode
    place = Place(tmp_path, ALL, LOGS[format_](format_, ALL))
    calls = CALLS if format_ == "chat" else LOOKING if format_ != "many" else FIRST
    for call in some(calls, 8, [*MODES].index(mode) + [*LOGS].index(format_)):
        ran = ctxkit(*place.words(call), screen=screen, terminal=screen)
        proper(ran, call, own=mode != "NO_COLOR", screen=screen)


@pytest.mark.parametrize("format_", SESSIONS)
def test_sessions_are_what_they_shall_be(tmp_path: Path, format_: str) -> None:
    """Poisoned rows are still read as that program's: names, ids, tools, models and labels come through."""
    path = tmp_path / "log"
    path.write_bytes(session(format_, "\x1b]0;pwned\x07"))
    found = ctxkit("status", path)
    assert re.search(rf"format {format_.replace('_', '.')}, model .*␛", found.text), found.text
    assert len(ctxkit("show", path, "--json").values) > 4
    assert len(ctxkit("recall", path, "pwned", "--json").values) > 5


@pytest.mark.covering("bad", "format_")
@pytest.mark.parametrize("bad", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("format_", SESSIONS)
def test_every_family_in_every_format(tmp_path: Path, format_: str, bad: str) -> None:
    """What a command prints of a session of another program."""
    place = Place(tmp_path, bad, session(format_, bad))
    for call in (
        "show LOG --full",
        "show LOG --explain",
        "status LOG",
        "check LOG",
        "recall LOG --regex .",
        "why LOG 1-",
    ):
        proper(ctxkit(*place.words(call)), call)


@pytest.mark.covering("kind", "format_")
@pytest.mark.parametrize("kind", configs(""))
@pytest.mark.parametrize("format_", ["chat", "claude_code"])
def test_sidecar(tmp_path: Path, kind: str, format_: str) -> None:
    """Hostile config, comments, documents with hostile names, ops of a sidecar."""
    place = Place(tmp_path, ALL, LOGS[format_](format_, ALL), configs(ALL)[kind])
    for call in some(CALLS, 4) if kind == "right" and format_ == "chat" else FIRST:
        proper(ctxkit(*place.words(call)), call)
    assert (ctxkit(*place.words("config LOG")).code == 0) == (kind in ("right", "missing document"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("bad", FAMILIES.values(), ids=FAMILIES)
def test_sidecar_of_each_family(tmp_path: Path, bad: str) -> None:
    """Every family in every kind of config."""
    for number, config in enumerate(configs(bad).values()):
        (tmp_path / str(number)).mkdir()
        place = Place(tmp_path / str(number), bad, hostile(bad), config)
        for call in ("config LOG", "status LOG", "show LOG --explain", "config LOG set model x", "log LOG"):
            proper(ctxkit(*place.words(call)), call)


@pytest.mark.one_in(2)
def test_names(tmp_path: Path, mode: str) -> None:
    """The name of a log, its folder, its sidecar and its link are text of others too."""
    screen = "columns" in mode
    folder = folder_of(tmp_path, ALL)
    for path in [*folder.rglob("*")]:
        for name in ("show", "status", "check", "log", "mark", "init", "config", "diff", "add", "export"):
            words = [name, path, *(["--to", "chat"] if name == "export" else ["x"] if name == "add" else [])]
            proper(ctxkit(*words, screen=screen, terminal=screen), name, own=mode != "NO_COLOR", screen=screen)


VARIABLES: list[dict[str, str]] = [
    *({"COLUMNS": value} for value in ("-5", "0", "1", "9" * 30, "\x1b[31m", "８０", "²", "80x", " 80 ")),
    *({"LINES": value} for value in ("-5", "0", "9" * 30, "\x1b")),
    *({key: typed(ALL)} for key in ("PAGER", "CTXKIT_PAGER", "TZ", "LANG", "LESS", "TERM", "TMPDIR", "CTXKIT_MODEL",
                                    "CTXKIT_NOW", "CTXKIT_LIMIT", "CTXKIT_WINDOW_DEFAULT", "XDG_CONFIG_HOME",
                                    "NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "CTXKIT_DEBUG", "CTXKIT_LOG")),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("variables", VARIABLES, ids=lambda one: " ".join(f"{k}={v[:9]!r}" for k, v in one.items()))
def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Whatever stands in a variable: text, colours of our own, or an error; never a bug."""
    place = Place(tmp_path, ALL, hostile(ALL))
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    for call in ("show LOG --oneline", "show LOG", "status LOG", "log LOG", "check LOG", "config LOG", "why LOG 1-",
                 "diff LOG 5 now", "recall LOG -e a", "help show", "show LOG --agent noBAD"):  # fmt: skip
        proper(ctxkit(*place.words(call), screen=True, terminal=True), call, own=True, screen=True)


@pytest.mark.one_in(4, first=1)
@pytest.mark.parametrize("columns", [80, 20])
@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}], ids=["colour", "NO_COLOR"])
def test_terminal(tmp_path: Path, columns: int, variables: dict[str, str]) -> None:
    """A real one shows text: no title, no answer on stdin, the cursor never goes up or back over what stands there."""
    place = Place(tmp_path, ALL, hostile(ALL), configs(ALL)["right"])
    calls = some(CALLS, 4, 2 * bool(variables) + (columns == 20))
    texts = all_on_pty([place.words(call, n) for n, call in enumerate(calls)], tmp_path, columns, **variables)
    for call, raw in zip(calls, texts, strict=True):
        text = raw if variables else plain(raw)
        assert bad_characters(text) == [] and "ctxkit: a bug:" not in text, (call, text)
        _harmless(text, columns)


def _harmless(text: str, columns: int) -> None:
    screen = pyte.HistoryScreen(columns, 200)
    answers: list[str] = []
    screen.write_process_input = answers.append
    stream = pyte.Stream(screen)
    for line in text.split("\n"):
        row = screen.cursor.y
        stream.feed(line[:2000] + "\r\n")
        assert screen.cursor.y >= row
        if screen.cursor.y > 150:
            screen.reset()
    assert (screen.title, screen.icon_name, answers) == ("", "", [])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PAGED)
def test_pager(tmp_path: Path, name: str) -> None:
    """A pager gets nothing that a terminal obeys, but our own colours."""
    keeper = tmp_path / "keeper"
    keeper.write_text(f'#!/bin/sh\ncat >"{tmp_path}/kept"\n')
    keeper.chmod(0o755)
    place = Place(tmp_path, ALL, hostile(ALL), configs(ALL)["right"])
    first = ROWS[name][0] if name != "recall" else ROWS[name][1]  # one that finds something
    words = place.words(f"{name} {first}".strip())
    if name == "snapshots":
        ctxkit("snapshot", words[1], "-m", typed(ALL).replace("\n", " ").replace("\r", " "))
    seen = on_pty(words, 20, lines_=3, CTXKIT_PAGER=str(keeper))
    kept = plain((tmp_path / "kept").read_text())
    assert kept and (bad_characters(kept), bad_characters(plain(seen.raw.decode().replace("\r\n", "\n")))) == ([], [])
