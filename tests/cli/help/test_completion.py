"""completing: which word of a call is typed, and answers that never disturb."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit.cli.help import completion
from ctxkit.cli.help.candidates import FILES, FOLDERS, NOTHING, CompletionTimeout
from ctxkit.cli.help.completion import complete
from ctxkit.cli.registry import COMMANDS
from tests.cli.runner import ctxkit, process, small
from tests.homes import repository, session


def values(*words: str | Path) -> list[str]:
    """What the last word can become."""
    *typed, current = map(str, words)
    return [one.value for one in complete(typed, current).candidates]


def test_commands_and_the_programs_options() -> None:
    """All commands with their lines; behind a dash the options that stand before a command."""
    assert values("") == list(COMMANDS) == values("--no-pager", "")
    assert {one.value: one.text for one in complete([], "").candidates}["undo"] == "undo an op, or the newest undo"
    assert values("-") == ["--no-pager", "--log-format", "--version", "--help"]
    assert values("nonsense", "") == []


def test_arguments_and_options(tmp_path: Path) -> None:
    """Which parameter is meant: by place, by the option before it, or by what stands before the equals sign."""
    path = small(tmp_path, marks=["a"])
    assert complete(["rewind"], "") == FILES
    assert values("rewind", path, "") == ["a"] == values("rewind", "--dry-run", path, "")
    assert values("rewind", "--op-id", "x", path, "") == ["a"] == values("rewind", "--op-id=x", path, "")
    assert values("rewind", path, "a", "") == []
    assert values("show", path, "--after-mark", "") == ["a"]
    assert values("show", path, "--after-mark", "a", "--rol")[0] == "--full"
    assert complete(["show", str(path), "--after-mark="], "").kind == "words"
    assert complete(["show", str(path)], "--after-mark=x").prefix == "--after-mark="
    assert values("show", path, "--after-mark=") == ["a"]
    assert complete(["show"], "--sidecar=x") == FOLDERS._replace(prefix="--sidecar=")
    assert complete(["show", "--full"], "") == FILES and complete(["show"], "--full=") == NOTHING._replace(
        prefix="--full="
    )
    assert complete(["show", "--"], "-x") == FILES
    assert complete(["show"], "--nonsense=") == NOTHING
    assert "window.max" in values("config", path, "get", "") == values("config", "--user", "set", "")


def test_bash_gets_what_it_inserts(tmp_path: Path) -> None:
    """Quoted, filtered by what is typed; a file after < is a file."""
    path = small(tmp_path, marks=["two words", "other"])
    assert ctxkit("__complete", "bash", f"ctxkit rewind {path} t").text == "words\ntwo\\ words\n"
    assert ctxkit("__complete", "bash", "ctxkit show - <").text == "files\n"
    assert ctxkit("__complete", "bash", "ctxkit export --to=o", " =").text == "words\nopenai\n"
    assert ctxkit("__complete", "bash", "ctxkit export --to=o", " ").text == "words\n--to=openai\n"


def test_other_shells_get_words_and_descriptions(tmp_path: Path) -> None:
    """Not quoted, with a tab between."""
    path = small(tmp_path, marks=["two words"])
    assert ctxkit("__complete", "zsh", "--", "rewind", path, "").text == "words\ntwo words\tmark after message 11\n"
    assert "show\tprint the context\n" in ctxkit("__complete", "fish", "--", "").text


DISTURBED = {
    "missing": None,
    "empty": b"",
    "no log": b"just text\n" * 20,
    "binary": bytes(range(256)) * 64,
    "torn": b'{"role":"user","content":"x"}\n{"ctxkit":"mark","la',
    "misfit": b'{"role":"user","content":"x"}\n{"ctxkit":"mark","v":1,"id":"a","at":{"messages":9},"label":"m"}\n',
}


@pytest.mark.parametrize("name", DISTURBED)
def test_what_cannot_be_read_completes_nothing(name: str, tmp_path: Path) -> None:
    """No word on standard error, exit 0, no candidates, nothing created, and the log is as it was."""
    path = tmp_path / "chat.jsonl"
    content = DISTURBED[name]
    if content is not None:
        path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    ran = process("__complete", "zsh", "--", "rewind", path, "")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out in (b"", b"words\n")
    assert sorted(tmp_path.iterdir()) == before and (content is None or path.read_bytes() == content)


def test_a_pipe_in_the_logs_place(tmp_path: Path) -> None:
    """It is not opened: nobody writes to it."""
    os.mkfifo(tmp_path / "pipe")
    ran = process("__complete", "fish", "--", "rewind", tmp_path / "pipe", "")
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


@pytest.mark.parametrize("words", [[], ["bash"], ["zsh"], ["fish", "--"], ["tcsh", "--", ""], ["bash", "'"]])
def test_odd_calls(words: list[str]) -> None:
    """A script of another version may ask otherwise: no answer, or one, but never an error."""
    ran = ctxkit("__complete", *words)
    assert (ran.code, ran.err) == (0, "")


def test_the_deadline_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too slow is as good as nothing."""

    def slow(*_: object) -> None:
        raise CompletionTimeout

    monkeypatch.setattr(completion, "complete", slow)
    ran = ctxkit("__complete", "zsh", "--", "")
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


def test_sessions_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind @ the sessions of this project, wherever a log can stand; the marks of one that is named so."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    assert values("show", "@") == []
    session(tmp_path, "claude-code", tmp_path / "shop", words="The login fails", at=100)
    session(tmp_path, "codex", tmp_path / "shop", "019ed99c-d00d-7613-b2e7-d2f512f78afd")
    expected = ["@", "@2", "@claude", "@codex", "@3f2a91c0", "@019ed99c"]
    for words in (
        ["show"],
        [],
        ["sessions"],
        ["recall"],
        ["diff", "x"],
        ["mark"],
        ["tool", "call"],
        ["export", "--full"],
    ):
        assert values(*words, "@") == expected, words
    assert complete(["show"], "@").candidates[0].text == "claude-code  The login fails"
    assert values("show", "@", "@") == [] == values("show", "--grep", "@")
    ctxkit("mark", "@codex", "before")
    assert values("rewind", "@codex", "") == ["before"]
    breaks = " \t\n\"'@><=;|&(:"  # as bash has them
    assert ctxkit("__complete", "bash", "ctxkit show @co", breaks).text == "words\n@codex\n"
    assert ctxkit("__complete", "bash", "ctxkit show @co").text == "words\n@codex\n"
