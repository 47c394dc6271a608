"""Secrets in a log: each is found, with its message and its place, and whether the context has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.redactor import Redactor
from ctxkit.search.secret_scan import in_text, secrets_in
from tests.canary_sessions import canary, filled
from tests.cli.runner import lines, message
from tests.damage.sessions import ALL, DOCUMENTS


@pytest.mark.parametrize("name", ALL)
def test_every_place(name: str, tmp_path: Path) -> None:
    """In sessions of every format whose every text has one: as many as `--redact` takes out, and none is shown."""
    data, canaries = filled(ALL[name])
    path = tmp_path / ALL[name].name
    path.write_bytes(data)
    log = Log.open(path, format=ALL[name].format)
    found = list(secrets_in(log))
    assert {one.masked for one in found} == {"ghp_…[36]"}
    assert not any(one[-12:] in repr(found) for one in canaries)
    inside = {int(one.message) for one in found if one.message and one.in_context}
    assert inside and inside <= set(log.listed())
    redactor = Redactor()
    for value in [loads(data)] if ALL[name] in DOCUMENTS.values() else map(loads, data.splitlines()):
        redactor.value(value)
    assert len(found) == redactor.count >= len(canaries)


def test_where_it_is(tmp_path: Path) -> None:
    """The part of the message, the op, the file beside; in the context or not."""
    keys = [canary() for _ in range(6)]
    path = tmp_path / "chat.jsonl"
    call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": json.dumps({"do": f"x {keys[1]}"})}}
    path.write_bytes(lines(
        message("user", f"say {keys[0]}"), {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"out {keys[2]}"}, message("assistant", "done", note=keys[3]),
        message("user", f"again {keys[4]}"), message("assistant", "yes"),
    ))  # fmt: skip
    log = Log.open(path)
    log.forget("1-4")
    (tmp_path / "chat.jsonl.ctxkit").mkdir(exist_ok=True)
    (tmp_path / "chat.jsonl.ctxkit" / "config.toml").write_text(f'[assembly]\nsystem = "{keys[5]}"\n')
    found = [(one.line, one.message, one.where, one.in_context) for one in secrets_in(Log.open(path))]
    assert found == [
        (1, "1", "text", False), (2, "2", "argument do of sh", False), (3, "3", "result", False),
        (4, "4", "note", False), (5, "5", "text", True), (2, "", "", False),
    ]  # fmt: skip


def test_ops_that_older_versions_wrote(tmp_path: Path) -> None:
    """What was typed stayed in ops: it is found there."""
    key = canary()
    op = {"ctxkit": "mark", "v": 1, "id": "m1", "at": {"messages": 1}, "label": key, "by": {"args": ["mark", key]}}
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "x"), op))
    assert [one.where for one in secrets_in(Log.open(path))] == ["mark label", "mark by.args[1]"]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"command": ["sh", "-c", "{}"]}, "argument command[2] of sh"),
        ({"command": {"2": "{}"}}, "argument command.2 of sh"),
        ({"command": "{}"}, "argument command of sh"),
        ({"edits": [{"new": ["{}"]}]}, "argument edits[0].new[0] of sh"),
        (["{}"], "argument [0] of sh"),
        ("{}", "arguments of sh"),
    ],
)
def test_arguments(arguments: object, where: str, tmp_path: Path) -> None:
    """A place in a list reads otherwise than a key."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": text.replace("{}", canary())}}
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "x"), {"role": "assistant", "content": None, "tool_calls": [call]}))
    assert [one.where for one in secrets_in(Log.open(path))] == [where]


@pytest.mark.parametrize(
    "row",
    ['{{"role":"user","content":"{0}","content":"{1}"}}', '{{"role": "user", "content": "{0}", "content": "{1}"}}'],
)
def test_a_key_that_is_there_twice(row: str, tmp_path: Path) -> None:
    """Readers of JSON take the last value; the file has both. One is in the context."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "x")) + row.format(canary(), canary()).encode() + b"\n")
    found = [(one.line, one.message, one.in_context) for one in secrets_in(Log.open(path))]
    assert sorted(found) == [(2, "2", False), (2, "2", True)]


def test_a_damaged_line(tmp_path: Path) -> None:
    """It is read as text."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "x")) + b'{"role": "user", "content": "' + canary().encode() + b"\n")
    assert [one.line for one in secrets_in(Log.open(path))] == [2]


def test_plain_text() -> None:
    """Lines from 1."""
    text = f"a\nb {canary()}\n\n{canary()} and {canary()}\n"
    assert [(one.line, one.masked, one.in_context) for one in in_text(text.encode())] == [
        (2, "ghp_…[36]", None), (4, "ghp_…[36]", None), (4, "ghp_…[36]", None),
    ]  # fmt: skip
    assert list(in_text(b"\xff\xfe nothing here")) == []
