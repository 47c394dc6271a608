"""`--log-format json`: every line on standard error is an event of the schema, whatever fails in whatever command."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ctxkit.cli.app import log_format
from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import Warned
from tests.cli.runner import ctxkit, lines, message, process, small
from tests.damage.test_commands import CALLS
from tests.docs.test_schemas import EVENT, TOKEN

CANARY = "canary-5f1e"
EVENTS = jsonschema.Draft202012Validator(EVENT)
TOKENS = jsonschema.Draft202012Validator(TOKEN)


def events(err: str) -> list[dict[str, Any]]:
    """The lines on standard error, each of the schema."""
    found = [json.loads(line) for line in err.splitlines()]
    for one in found:
        if "event_log" in one:  # else the op that a pipe prints
            EVENTS.validate(one)
    return [one for one in found if "event_log" in one]


@pytest.fixture(autouse=True)
def in_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For all commands here, in a folder of a telling name."""
    folder = tmp_path / CANARY
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CTXKIT_LOG_FORMAT", "json")


WRONG: dict[str, bytes | None] = {
    "missing.jsonl": None,
    "text.txt": f"{CANARY} is no log\n".encode(),
    "damaged.jsonl": lines(message("user", CANARY)) + b'{"role":"user","content":"' + CANARY.encode() + b"\n\0\0{}{\n",
    "misfit.jsonl": lines(
        message("user", CANARY),
        {"ctxkit": "forget", "v": 1, "id": "0123456789ab", "at": {"messages": 9, "last": "0" * 12}, "ids": "7"},
    ),
    "empty.jsonl": b"",
    f"{CANARY}.jsonl": lines(*(message("user", f"{CANARY} {n}") for n in range(4))),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("command", COMMANDS)
def test_all_commands(command: str) -> None:
    """On logs that are missing, no logs, damaged, refused, empty; with options and numbers that are wrong."""
    options, words = CALLS.get(command, ((), ()))
    calls = [[command, "--no-such-option", CANARY], [command, *options, "--", "one", "two", "three", *[CANARY] * 3]]
    for name, raw in WRONG.items():
        if raw is not None:
            Path(name).write_bytes(raw)
        plain = options if command == "watch" else ()  # without --once it does not end
        calls += [[command, *plain, "--", name, *more] for more in ((), ("99", CANARY))]
        calls.append([command, *options, "--", name, *words])
    failed = 0
    for call in calls:
        ran = ctxkit(*call)
        found = events(ran.err)
        assert CANARY not in ran.err and os.getcwd() not in ran.err, call
        errors = [one for one in found if one["event"] in ("error", "compaction")]
        assert len(errors) <= 1, (call, ran.err)
        assert ran.code in (0, 1) or ran.code in {one["code"] for one in found}, (call, ran.err)
        assert all(one["code"] == ran.code and one["command"] == command for one in errors), (call, ran.err)
        failed += bool(errors)
    assert failed or command == "help"


@pytest.mark.parametrize(
    ("call", "event", "reason", "code"),
    [
        (["show", "none.jsonl"], "error", "no-such-log", 66),
        (["show", "chat.jsonl", "--bad"], "error", "usage", 2),
        (["nonsense"], "error", "usage", 2),
        (["compact", "chat.jsonl"], "compaction", "bad-config", 78),
        (["compact", "chat.jsonl", "99"], "compaction", "unknown-message", 2),
        (["clear", "chat.jsonl"], "checkpoint", "made", None),
        (["snapshot", "chat.jsonl", "--light"], "checkpoint", "made", None),
        (["forget", "chat.jsonl", "2"], None, "", None),
        (["show", "torn.jsonl"], "warning", "damage", None),
        (["recall", ".", CANARY], "warning", "misfit", 65),
        (["compact", "chat.jsonl", "--summary-model", "openai/x", "--force"], "fallback", "fallback", None),
    ],
)
def test_what_happened(
    call: list[str], event: str | None, reason: str, code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its kind, its short name and its exit code."""
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    path = small(Path())
    Path("torn.jsonl").write_bytes(path.read_bytes() + b'{"role":"us\n{}')
    Path("misfit.jsonl").write_bytes(WRONG["misfit.jsonl"] or b"")
    found = [(one["event"], one["reason"], one["code"]) for one in events(ctxkit(*call).err)]
    assert (event, reason, code) in found if event is not None else not found


def test_the_log_is_known_as_in_the_token_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same digest; a line of that is of its schema; what cannot be opened is known by its path."""
    small(Path())
    monkeypatch.setenv("CTXKIT_LOG", "tokens.jsonl")
    [one] = events(ctxkit("trim", "chat.jsonl", "--max-tokens", "2").err)
    records = [json.loads(line) for line in Path("tokens.jsonl").read_text().splitlines()]
    for record in records:
        TOKENS.validate(record)
    assert one["log"] == records[-1]["log"]
    first, again = (events(ctxkit("show", "none.jsonl").err)[0]["log"] for _ in range(2))
    assert first == again != events(ctxkit("show", "other.jsonl").err)[0]["log"]


def test_quiet_leaves_errors() -> None:
    """And no warnings."""
    small(Path())
    assert events(ctxkit("clear", "chat.jsonl", "-q").err) == []
    assert [one["reason"] for one in events(ctxkit("show", "none.jsonl", "-q").err)] == ["no-such-log"]


def test_a_closed_standard_output() -> None:
    """Is said in the same form."""
    small(Path())
    ran = process("show", "chat.jsonl", before=["sh", "-c", '"$@" >&-', "sh"])
    assert (ran.code, [one["reason"] for one in events(ran.err)]) == (74, ["output-failed"])


def test_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no words either, also with CTXKIT_DEBUG."""
    small(Path())
    monkeypatch.setenv("CTXKIT_DEBUG", "1")
    monkeypatch.setattr("ctxkit.cli.commands.show.opened", lambda *args, **named: 1 / 0)
    [one] = events(ctxkit("show", "chat.jsonl").err)
    assert (one["event"], one["reason"], one["code"]) == ("error", "bug", 70)


@pytest.mark.parametrize(
    ("words", "rest", "form"),
    [
        ("--log-format json show a", "show a", "json"),
        ("show a --log-format json", "show a", "json"),
        ("show --log-format=json a", "show a", "json"),
        ("show a", "show a", "env"),
        ("show a --log-format text", "show a", "text"),
        ("add a -- --log-format json", "add a -- --log-format json", "env"),
        ("show a --log-format", "show a", ""),
        ("--log-format text --log-format json show", "show", "text"),
    ],
)
def test_the_option(words: str, rest: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anywhere before `--`; of several, the first counts; else the environment's."""
    monkeypatch.setenv("CTXKIT_LOG_FORMAT", "env")
    assert log_format(words.split()) == (rest.split(), form)


def test_an_unknown_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is refused before anything is done."""
    ran = ctxkit("--log-format", "xml", "show", "a")
    assert ran.code == 2 and "no log format is called 'xml': nothing was done" in ran.err
    monkeypatch.setenv("CTXKIT_LOG_FORMAT", "")
    assert ctxkit("show", "none.jsonl").err.startswith("ctxkit: none.jsonl")


def test_names_of_warnings_are_closed() -> None:
    """Another one is refused."""
    assert re.fullmatch("[a-z-]+", "".join(Warned.REASONS))
    with pytest.raises(ValueError, match="nonsense"):
        Warned("words", "nonsense")
