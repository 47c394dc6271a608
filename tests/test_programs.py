"""No file of another program is taken for ours: each is read right or refused by name, and none is ever written to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.cli.registry import COMMANDS
from ctxkit.formats.targets import REQUESTS
from tests.cli.runner import ctxkit, good, lines, message
from tests.damage.test_commands import CALLS
from tests.effort import examples
from tests.programs import ALL, FOLDER, Program

READ = [one for one in ALL.values() if one.format]
REFUSED = [one for one in ALL.values() if not one.format]
LOOKS_ELSEWHERE = {"config": 0, "init": 73, "scan": 0, "snapshots": 0, "sql": 65}
"""Commands that do not read the log as one (`sql` has a row for it), with their exit code on a file that is refused."""


def test_every_file_is_in_the_table() -> None:
    """And every row is a file; more than twenty programs are there."""
    assert {path.name for path in FOLDER.iterdir()} == {*ALL, "README.md"}
    assert len({one.name.partition(",")[0] for one in ALL.values()}) > 20


@pytest.mark.parametrize("program", READ, ids=lambda one: one.file)
def test_what_is_read_is_read_right(program: Program, tmp_path: Path) -> None:
    """As its format, with all of its messages, and the words that it holds; calls have their results."""
    path = program.put(tmp_path)
    log = Log.open(path)
    assert (log.opening.format.name, len(log.messages), log.native) == (program.format, program.messages, False)
    shown = good("show", path).text
    assert [words for words in program.said if words not in shown] == []
    unanswered = {call for one in log.messages for call in one.calls} - {
        key for one in log.messages for key in one.results
    }
    assert program.format == "cursor" or not unanswered


@pytest.mark.parametrize("program", READ, ids=lambda one: one.file)
def test_what_is_read_goes_on_as_chat(program: Program, tmp_path: Path) -> None:
    """An export is a native log that says the same, calls and results in pairs, also where results were made up."""
    path = program.put(tmp_path)
    there = tmp_path / "there.jsonl"
    there.write_bytes(good("export", path, "--to", "chat").out)
    log = Log.open(there)
    assert log.native
    shown = good("show", there).text
    assert [words for words in program.said if words not in shown] == []
    for to in REQUESTS:
        good("export", path, "--to", to)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("program", ALL.values(), ids=lambda one: one.file)
def test_no_command_writes_to_it(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the registry, one after another; where it is refused, each says so, and there is no op."""
    path = program.put(tmp_path)
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        if command not in CALLS or command in ("fleet", "metrics"):  # they take no log
            continue
        options, words = CALLS[command]
        ran = ctxkit(command, *options, "--", path.name, *words)
        assert path.read_bytes() == before, command
        assert "ctxkit: a bug" not in ran.err, (command, ran.err)
        if not program.format:
            packed = command == "scan" and path.suffix == ".eval"  # a zip archive
            assert ran.code == (65 if packed else LOOKS_ELSEWHERE.get(command, 65)), (command, ran.err)
            said = program.said[0] in ran.err and path.name in ran.err and "hint: " in ran.err
            assert command in LOOKS_ELSEWHERE or command == "sessions" or said, (command, ran.err)
    assert set(os.listdir()) <= {path.name, f"{path.name}.ctxkit"}
    ops = tmp_path / f"{path.name}.ctxkit" / "ops.jsonl"
    assert ops.exists() == bool(program.format)


FORMS = (
    ("config", (), ("set", "window.default", "8h")), ("init", ("--profile", "bot"), ()),
    ("add", ("--create",), ("hi",)), ("add", ("--role", "user", "--from", "chat"), ("hi",)),
    ("mark", ("--from", "chat"), ("x",)), ("window", (), ("off",)), ("snapshot", ("--auto",), ()),
    ("snapshots", ("--prune",), ()), ("undo", ("--force-replay",), ()), ("edit", ("--draft", "-"), ()),
    ("tool", ("cleanup",), ("x",)), ("recover", ("--yes", "--point", "step"), ()), ("check", ("--accept",), ()),
    ("forget", ("--yes", "--last", "2x"), ()),
)  # fmt: skip
"""Further forms of commands that write: options, and what stands behind the log."""


@pytest.mark.parametrize("program", REFUSED, ids=lambda one: one.file)
def test_no_form_of_a_command_writes_to_it(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for, and where it is itself what an output would go to."""
    path = program.put(tmp_path)
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    itself = [("export", ("--to", "chat", "-o", path.name), ()), ("recover", ("-o", path.name), ())]
    for command, options, words in (*FORMS, *itself):
        ran = ctxkit(command, *options, "--", path.name, *words)
        assert path.read_bytes() == before, (command, options)
        assert "ctxkit: a bug" not in ran.err and ran.code in (0, 2, 64, 65, 73), (command, ran.code, ran.err)
    assert not (tmp_path / f"{path.name}.ctxkit" / "ops.jsonl").exists()


OLDER: dict[str, tuple[list[dict[str, Any]], bytes]] = {
    "cursor": (
        [{"role": "user", "message": {"content": [{"type": "text", "text": "hi there"}]}},
         {"role": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}},
         {"role": "user", "message": {"content": [{"type": "text", "text": "more"}]}}],
        b'{"ctxkit":"forget","v":1,"id":"df5113167c0b","ts":"2026-11-22T18:36:14Z","at":{"messages":3,"last":'
        b'"c421299893b5","rows":3},"ids":"1","before":{"messages":3},"after":{"messages":2},"by":{"args":["forget",'
        b'"c.jsonl","1"],"version":"0.1.0"},"sum":"35a5a722e4f4f486"}\n',
    ),
    "goose": (
        [{"working_dir": "/x", "description": "port", "message_count": 2},
         {"role": "user", "created": 1, "content": [{"type": "text", "text": "where is it"}]},
         {"role": "assistant", "created": 2, "content": [{"type": "toolRequest", "id": "t1", "toolCall": {
             "status": "success", "value": {"name": "read", "arguments": {"path": "a"}}}}]}],
        b'{"ctxkit":"forget","v":1,"id":"a1c82307909c","ts":"2026-11-22T18:41:18Z","at":{"messages":2,"last":'
        b'"b75cbb7ebff1","rows":3},"ids":"1","before":{"messages":2},"after":{"messages":1},"by":{"args":["forget",'
        b'"g.jsonl","1"],"version":"0.1.0"},"sum":"1e9fd00405b61a83"}\n',
    ),
}  # fmt: skip
"""Rows, and the op that a ctxkit wrote behind them which read both as chat."""


@pytest.mark.parametrize("program", OLDER)
def test_an_op_of_an_older_version_holds(program: str, tmp_path: Path) -> None:
    """It is in force, ops go on behind it and are in force, too, and so do both when the program has gone on."""
    path = tmp_path / "session.jsonl"
    rows, op = OLDER[program]
    path.write_bytes(lines(*rows) + op)
    shown = good("show", path).text
    assert rows[1].get("content", [{"text": "hi there"}])[0]["text"] not in shown
    good("mark", path, "here")
    with path.open("ab") as file:
        file.write(lines(rows[-1]))
    good("forget", path, "3")
    assert path.read_bytes().count(b'"ctxkit":"') == 3 and not (tmp_path / "session.jsonl.ctxkit").exists()
    log = Log.open(path)
    assert (log.opening.format.name, len(log.names())) == (program, len(log.messages) - 2)
    assert "nothing found" in good("check", path).err
    moved = path.read_bytes().replace(rows[-1]["role"].encode() + b'"', b'system"')
    path.write_bytes(moved)
    assert ctxkit("show", path).code == 65  # an op that fits no longer is still told


@pytest.mark.parametrize("program", [one for one in READ if one.file.endswith(".jsonl")], ids=lambda one: one.file)
@pytest.mark.parametrize("format", ["chat", "cursor", "goose", "auto"])
def test_nor_when_another_format_is_asked_for(format: str, program: Program, tmp_path: Path) -> None:
    """`--from chat` on a file of another program is no leave to write to it."""
    path = program.put(tmp_path)
    before = path.read_bytes()
    for command, words in (("mark", ["x"]), ("forget", ["1"]), ("add", ["--role", "user", "hi"])):
        ctxkit(command, "--from", format, path, *words)
        assert path.read_bytes() == before


def test_folders_of_them(tmp_path: Path) -> None:
    """`sessions` lists those that are read, `recall` searches them, and both end well."""
    for program in ALL.values():
        program.put(tmp_path)
    found = {Path(one["path"]).name: one["format"] for one in good("sessions", tmp_path, "--json").values}
    assert found == {one.file: one.format for one in READ}
    hits = good("recall", tmp_path, "8080", "--json").values
    assert {Path(hit["log"]).name for hit in hits} == {one.file for one in READ}


_OWN = st.dictionaries(
    st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=9).filter(lambda key: key not in _TAKEN),
    st.recursive(st.text(max_size=9) | st.integers(-9, 9) | st.none(), lambda inner: st.lists(inner, max_size=3)),
    max_size=4,
)
_TAKEN = {"role", "content", "message", "payload", "parts", "messages", "history", "traj", "ctxkit", "type", "kind"}
_TAKEN |= {"contents", "input", "output", "choices", "request", "response", "result", "body", "params"}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(st.tuples(_OWN, st.text(max_size=300)), min_size=1, max_size=8),
    op=st.integers(0, 8),
    brother=st.sampled_from([{}, {"uuid": "u", "parentUuid": None}, {"message": {"content": "x"}}]),
)
def test_a_log_with_keys_of_its_owner_stays_native(
    rows: list[tuple[dict[str, Any], str]], op: int, brother: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever they are; and where an op of ours stands in it, ops go on there, even behind another program's keys."""
    path = tmp_path_factory.mktemp("own") / "chat.jsonl"
    records = [{**own, "role": "user", "content": words} for own, words in rows]
    path.write_bytes(lines(*records[:op]))
    if op:
        assert Log.open(path).native
        good("mark", path, "here")
    with path.open("ab") as file:
        file.write(lines(*({**one, **brother} for one in records[op:])))
    before = path.read_bytes()
    good("mark", path, "there")
    foreign = bool(brother) and not op and bool(records[op:])
    assert (path.read_bytes() != before) is not foreign
    assert len(good("log", path, "--json").values) == 1 + bool(op)


def test_ops_stay_in_the_sidecar_where_they_are(tmp_path: Path) -> None:
    """Also where the keys of the other program are no longer among the first rows, nor the last."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", "x" * 99, uuid="u", parentUuid=None) for _ in range(9))))
    good("forget", path, "2")
    path.write_bytes(lines(*(message("user", "x" * 99) for _ in range(9))))
    assert good("show", path, "--json").text.count("\n") == 8
    good("forget", path, "3")
    assert path.read_bytes().count(b"ctxkit") == 0


def test_a_long_log_is_not_read_to_tell_whose_it_is(tmp_path: Path) -> None:
    """Rows between the first 64 and the last are not looked at."""
    path = tmp_path / "chat.jsonl"
    plain, odd = message("user", "x" * 999), message("user", "x", uuid="u", parentUuid=None)
    for place, native in ((0, False), (63, False), (150, True), (299, False)):
        rows = [plain] * 300
        rows[place] = odd
        path.write_bytes(lines(*rows))
        assert Log.open(path).native is native, place


def test_a_page_with_examples_is_no_log(tmp_path: Path) -> None:
    """A message on a line of its own does not make a log of a text; an op of ours, or being asked, does."""
    path = tmp_path / "page.md"
    page = b"# How to\n\nWrite:\n\n" + lines(message("user", "hi")) + b"\nand then\n"
    path.write_bytes(page)
    ran = ctxkit("mark", path, "x")
    assert (ran.code, path.read_bytes()) == (65, page)
    assert "--from" in ran.err
    assert good("show", path, "--from", "chat").text


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([{"role": "user", "text2": "x" * 300, "content": None}], 65, "text2"),
        ([{"role": "user", "content": [{"kind": "words", "words": "x" * 300}]}] * 3, 65, "no message has any content"),
        ([{"role": "user", "content": ""}] * 3, 0, ""),
        ([message("user", "hi"), {"role": "user", "content": "", "pad": "x" * 300}], 0, "1 of 2 messages"),
        ([message("user", "x" * 300), {"role": "user", "content": "", "pad": "x" * 300}], 0, "1 of 2 messages"),
        ([message("user", "x")] * 2 + [{"role": "user", "content": "", "pad": "x"}], 0, ""),
        ([message("user", "x"), {"role": "user", "content": [{"kind": "words"}]}], 0, "1 of 2 messages"),
        ([{"role": "assistant", "content": None, "reasoning_content": "x" * 300}] * 3, 0, ""),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "x" * 300}]}], 0, ""),
        (
            [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "x" * 300}}]}],
            0,
            "",
        ),
        ([{"role": "user", "content": [{"type": "document", "source": "x" * 300}]}], 0, ""),
    ],
)
def test_a_log_that_says_nothing(rows: list[dict[str, Any]], code: int, words: str, tmp_path: Path) -> None:
    """Is refused with what was seen where all of it does, and warned of where most does; thinking and calls say."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*rows))
    ran = ctxkit("show", path)
    assert ran.code == code
    assert (words in ran.err) if words else "no content" not in ran.err


def test_records_on_lines_of_a_document_are_none(tmp_path: Path) -> None:
    """A JSON object laid out by hand, with something like a message on a line of its own, is one object."""
    path = tmp_path / "run.json"
    raw = b'{\n"schema_version": "ATIF-v1.5", "agent": {},\n"steps": [\n' + json.dumps(message("user", "hi")).encode()
    path.write_bytes(raw + b"\n]\n}\n")
    ran = ctxkit("mark", path, "x")
    assert (ran.code, path.read_bytes()) == (65, raw + b"\n]\n}\n")
    assert "ATIF" in ran.err
