"""candidates: what can stand in a parameter's place; nothing unsafe, nothing unbounded."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ctxkit.cli.help import candidates
from ctxkit.cli.help.candidates import (
    FILES,
    FOLDERS,
    MOST,
    NOTHING,
    Candidate,
    CompletionTimeout,
    completions,
    deadline,
    for_parameter,
)
from ctxkit.cli.help.pages import Parameter, page
from ctxkit.cli.registry import COMMANDS
from tests.cli.hostile import FAMILIES
from tests.cli.runner import FOREIGN, good, lines, message, small


def parameter(command: str, key: str) -> Parameter:
    """A parameter of a command."""
    shown = page(command)
    return next(one for one in (*shown.arguments, *shown.options) if one.key == key)


def values(command: str, key: str, **given: object) -> list[str]:
    """What completes it."""
    answer = for_parameter(parameter(command, key), {name: str(value) for name, value in given.items()})
    return [one.value for one in answer.candidates]


def test_every_log_is_a_file() -> None:
    """Each command's LOG completes to files, each --sidecar to folders."""
    for name in COMMANDS:
        shown = page(name)
        for one in (*shown.arguments, *shown.options):
            if one.key == "log":
                assert for_parameter(one, {}) == FILES, name
            if one.key == "sidecar":
                assert for_parameter(one, {}) == FOLDERS, name


def test_tools(tmp_path: Path) -> None:
    """--tool completes to the tools of the log."""
    path = tmp_path / "chat.jsonl"
    called = [message("assistant", "", tool_calls=[{"id": f"c{k}", "type": "function", "function": {
        "name": name, "arguments": "{}"}}]) for k, name in enumerate(("Read", "Bash", "Bash"))]  # fmt: skip
    path.write_bytes(lines(*called))
    assert values("forget", "tool", log=path) == ["Bash", "Read"]
    assert values("trim", "exclude_tool", log=path) == ["Bash", "Read"]


def test_fixed_values() -> None:
    """Choices, words of a metavar, config keys, commands."""
    assert values("export", "to")[:2] == ["chat", "openai"]
    assert values("help", "completion") == ["bash", "zsh", "fish"]
    assert values("window", "words") == ["set", "add", "sub", "reset", "off"]
    assert values("window", "words", words="set") == []
    assert values("help", "name") == list(COMMANDS)
    assert {"window.default", "compact.auto"} <= set(values("config", "key"))
    assert for_parameter(parameter("show", "grep"), {}) == NOTHING


def test_values_of_the_log(tmp_path: Path) -> None:
    """Marks that can be rewound to, ops, those that can be undone, roles, agents: newest first or sorted."""
    path = small(tmp_path, marks=["a", "b"])
    good("forget", path, "2")
    good("undo", path)
    path.write_bytes(path.read_bytes() + lines(message("user", "x", 20, agent="ada", thread="t 1")))
    assert values("rewind", "label", log=path) == values("show", "after_mark", log=path) == ["b", "a"]
    assert values("undo", "op", log=path) == ["2", "1"]
    assert values("diff", "a", log=path) == values("diff", "b", log=path) == ["b", "a", "4", "3", "2", "1", "now"]
    assert values("show", "at", log=path) == ["4", "3", "2", "1", "now"]
    assert values("show", "role", log=path) == ["assistant", "system", "tool", "user"]
    assert values("show", "agent", log=path) == ["ada"] and values("show", "thread", log=path) == ["t 1"]
    told = for_parameter(parameter("undo", "op"), {"log": str(path)}).candidates
    assert told[0] == Candidate("2", "mark 'b'")


STATE = Parameter("a", (), "[A]", "", "", (), False, False)
LOGS = Parameter("words", (), "LOG... TEXT", "", "", (), False, True)


def test_parameters_of_other_shapes(tmp_path: Path) -> None:
    """States, or another log; logs before a text."""
    path = small(tmp_path, marks=["a"])
    states = for_parameter(STATE, {"log": str(path)})
    assert ([one.value for one in states.candidates], states.kind) == (["a", "1", "now"], "files")
    assert for_parameter(LOGS, {"words": "x"}) == FILES


def test_a_foreign_log_has_the_marks_of_its_sidecar(tmp_path: Path) -> None:
    """Also where --sidecar names another folder."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    good("mark", path, "here")
    good("mark", path, "there", "--sidecar", tmp_path / "other")
    assert values("rewind", "label", log=path) == ["here"]
    assert values("rewind", "label", log=path, sidecar=tmp_path / "other") == ["there"]


def test_snapshots(tmp_path: Path) -> None:
    """Those of the log, newest first, behind `latest`, told by time and description."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "before the refactor")
    for command, key in (("restore", "snapshot"), ("snapshots", "ids")):
        [latest, one] = for_parameter(parameter(command, key), {"log": str(path)}).candidates
        assert latest.value == "latest" and len(one.value) == 8 and one.text.endswith(" before the refactor")


def test_a_home_that_is_not_expanded_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~/chat.jsonl` and `$LOGS/chat.jsonl` are found, as the shell will find them."""
    small(tmp_path, marks=["a"])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOGS", str(tmp_path))
    assert values("rewind", "label", log="~/chat.jsonl") == values("rewind", "label", log="$LOGS/chat.jsonl") == ["a"]


def test_standard_input_and_large_logs_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits for anybody."""
    path = small(tmp_path, marks=["a"])
    assert values("rewind", "label", log="-") == values("rewind", "label") == []
    monkeypatch.setattr(candidates, "LARGEST", 10)
    assert values("rewind", "label", log=path) == []


@pytest.mark.parametrize("bad", FAMILIES.values(), ids=FAMILIES)
def test_what_acts_on_a_terminal_is_left_out(bad: str) -> None:
    """A value that cannot be shown as it is goes; in a description it is made visible, on one line."""
    [kept] = completions([Candidate(f"x{bad}"), Candidate("good", bad)]).candidates
    assert kept.value == "good" and "\n" not in kept.text and "\x1b" not in kept.text and "\t" not in kept.text


def test_bounds() -> None:
    """Not too many, none too long, none twice, none empty."""
    many = completions(Candidate(str(i % 9999)) for i in range(99999)).candidates
    assert len(many) == MOST and many[0].value == "0"
    assert completions([Candidate("x" * (MOST + 1)), Candidate("")]).candidates == ()
    assert [one.value for one in completions([Candidate("a"), Candidate("a")]).candidates] == ["a"]


def test_the_deadline() -> None:
    """What takes too long is stopped, whatever it catches; what does not is left alone."""
    with pytest.raises(CompletionTimeout), deadline(0.05):
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue
    with deadline(60):
        pass
