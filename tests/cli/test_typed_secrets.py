"""A secret that was typed does not stay: whatever option or word of whatever command it is in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.cli.flags import FLAGS
from ctxkit.cli.parser import command_parser
from ctxkit.logfile.append import UNKEPT
from tests.canary_sessions import canary
from tests.cli.runner import SMALL, ctxkit, good
from tests.damage.test_commands import CALLS

KEPT = {("add", "text"), ("add", "name"), ("add", "agent"), ("add", "thread"), ("add", "model"), ("add", "ts")}
"""What becomes part of a message."""
WORDS: dict[str, tuple[str, ...]] = {
    "mark": ("a {}",), "rewind": ("a {}",), "recall": ("a {}",), "memory": ("add", "the key is {}"),
    "sql": ("select '{}' from messages",), "window": ("{}h",), "undo": ("{}",), "restore": ("{}",), "why": ("{}",),
    "forget": ("{}",), "protect": ("{}",), "snapshots": ("--rm", "{}"), "sessions": ("{}",), "tool": ("{}",),
}  # fmt: skip
"""Words of a command, beside the log, that are typed."""


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path), path.read_bytes()


def _kept(canaries: list[str], *folders: Path) -> list[tuple[str, str]]:
    """The files in which one of the canaries stands, by its last letters; the names of files are the user's."""
    return [
        (name, one) for folder in folders for name, data in _files(folder) for one in canaries
        if one[-12:].encode() in data
    ]  # fmt: skip


def options_of(command: str) -> list[str]:
    """The options of a command that take a text, by the names of their parameters."""
    found = []
    for one in command_parser(command).params:
        flag = FLAGS.get((one.name or "").rstrip("_"))
        if flag is not None and flag.metavar is not None and flag.read is None:
            found.append(one.name.rstrip("_") if one.name else "")
    return found


@pytest.mark.parametrize("command", CALLS)
def test_no_typed_secret_stays(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each option and each word, as it is and with words around it: no file that was written has it, and what was
    appended without it is said.
    """
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "chat.jsonl"
    log.write_bytes(SMALL)
    options, words = CALLS[command]
    canaries, ends = [], []
    for option in options_of(command):
        if (command, option) in KEPT:
            continue
        for form in ("{}", "say {}", "{}=1"):
            one = canary()
            canaries.append(one)
            made = [flag for flag in options if flag != FLAGS[option].name]
            ran = ctxkit(command, *made, FLAGS[option].name, form.format(one), "--", "chat.jsonl", *words, stdin=b"")
            ends.append(ran)
            assert ran.code != 70, (option, ran.err)
    for word in WORDS.get(command, ()):
        if "{" in word:
            one = canary()
            canaries.append(one)
            given = [each.format(one) for each in WORDS[command]]
            before = given[:1] if command in ("memory", "tool") else []
            place = [] if command in ("memory", "sessions") else ["chat.jsonl"]
            ends.append(ctxkit(command, *options, *before, *place, *given[len(before) :], stdin=b""))
    assert _kept(canaries, tmp_path, Path.home()) == []


@pytest.mark.parametrize(
    "call",
    [
        ("mark", "LOG", "a {}"), ("forget", "LOG", "--grep", "{}|question", "--yes"), ("memory", "add", "it is {}"),
        ("compact", "LOG", "--force", "--focus", "{}", "--yes"), ("snapshot", "LOG", "--light", "-m", "at {}"),
        ("snapshot", "LOG", "-m", "at {}", "--tag", "{}"), ("trim", "LOG", "--max-tokens", "60", "--tool", "{}"),
        ("protect", "LOG", "--grep", "{}|question"), ("remember", "LOG", "--grep", "{}|question", "--yes"),
    ],
)  # fmt: skip
def test_it_is_said(call: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written without it says so on standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    one = canary()
    ran = ctxkit(*(word.format(one).replace("LOG", "chat.jsonl") for word in call))
    if ran.code == 0:
        assert UNKEPT in ran.err
    assert _kept([one], tmp_path, Path.home()) == []


def test_a_message_is_kept(tmp_path: Path) -> None:
    """What is added as a message is content, and stays as it is."""
    log, one = tmp_path / "chat.jsonl", canary()
    log.write_bytes(SMALL)
    good("add", log, f"the key is {one}")
    assert json.loads(log.read_bytes().splitlines()[-1])["content"] == f"the key is {one}"


def test_a_variable_that_the_shell_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of the environment is a secret wherever it is typed."""
    monkeypatch.setenv("SHOP_TOKEN", "plainwordsofours")
    log = tmp_path / "chat.jsonl"
    log.write_bytes(SMALL)
    good("forget", log, "--grep", "plainwordsofours|question", "--yes")
    assert b"plainwordsofours" not in log.read_bytes()


def test_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger of a map knows its call again without the secret in its options; another secret is another call."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    (tmp_path / "counting.py").write_text("def count(log, **options):\n    yield {'n': len(log.messages)}\n")
    one, other = canary(), canary()
    call = ("fleet", "map", "counting:count", "chat.jsonl", "--ledger", "done", "--jobs", "1", "--set")
    ends = [ctxkit(*call, f"key={key}").code for key in (one, one, other)]
    assert ends[0] == ends[1] != 2 == ends[2]
    assert _kept([one, other], tmp_path / "done") == []


@pytest.mark.parametrize("option", ["--agent", "--thread", "--name", "--model"])
def test_a_name_that_is_a_secret(tmp_path: Path, option: str) -> None:
    """Is refused: a message's text is kept as it is, and its names are typed."""
    log = tmp_path / "a.jsonl"
    ran = ctxkit("add", log, "--create", "hello", option, canary())
    assert ran.code == 2 and f"{option} looks like a secret" in ran.err and not log.exists()
    good("add", log, "--create", "hello", option, "a-name-of-some-length")
