"""A file of a living program is never written to: whatever the command, the change is beside it, and can be undone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxkit import Log, RollingContext
from tests.cli.runner import ctxkit, good
from tests.damage.test_commands import CALLS
from tests.living import LISTED, LIVING, SAID, UNLISTED

NO_LOG = {"fleet", "metrics"}
"""Commands of `CALLS` that take no log alone."""


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, but what is in a sidecar and in ctxkit's own folders."""
    found = (path for path in folder.rglob("*") if path.is_file())
    parts = ((path, path.relative_to(folder).as_posix()) for path in found)
    return {name: path.read_bytes() for path, name in parts if ".ctxkit/" not in name and "/ctxkit/" not in name}


def home() -> Path:
    """That of the test."""
    return Path(os.environ["HOME"])


def ops(path: Path) -> list[str]:
    """The names of the ops beside a log."""
    text = (path.parent / f"{path.name}.ctxkit" / "ops.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["ctxkit"] for line in text.splitlines()]


@pytest.mark.parametrize("name", LIVING)
def test_no_command_writes_to_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command, one after another: its file and all files around it keep their bytes, ops stand in the sidecar."""
    path = LIVING[name].put(home())
    monkeypatch.chdir(tmp_path)
    before = files(home())
    for command, (options, words) in CALLS.items():
        if command in NO_LOG:
            continue
        ran = ctxkit(command, *options, "--", path, *words)
        assert "ctxkit: a bug" not in ran.err and ran.code in (0, 1, 65, 73), (command, ran.code, ran.err)
        assert files(home()) == before, command
    assert {"mark", "forget", "protect", "remember", "window", "undo", "clear", "restore"} <= set(ops(path))


@pytest.mark.parametrize("name", LIVING)
def test_a_change_is_undone(name: str) -> None:
    """What was forgotten is back, by an op beside the log."""
    path = LIVING[name].put(home())
    before = files(home())
    shown = good("show", path).text
    assert all(words in shown for words in SAID)
    number = next(m.n for m in Log.open(path).messages if m.role == "user")
    good("forget", path, str(number), "--yes")
    assert SAID[0] not in good("show", path).text
    good("undo", path)
    assert good("show", path).text == shown and ops(path) == ["forget", "undo"]
    assert files(home()) == before


@pytest.mark.parametrize("name", LISTED)
def test_it_is_read_right(name: str) -> None:
    """With all of its messages, calls with their results; nothing is found wrong with it."""
    log = Log.open(LISTED[name].put(home()))
    assert (len(log.messages), log.native) == (LISTED[name].messages, False)
    assert {call for m in log.messages for call in m.calls} == {key for m in log.messages for key in m.results}
    assert "nothing found" in good("check", log.opening.path or "").err


@pytest.mark.parametrize("name", LISTED)
def test_also_where_an_op_of_ours_stands_in_it(name: str) -> None:
    """An older ctxkit wrote it: it holds, further ones go beside the log, and `check` names it."""
    living = LISTED[name]
    path = living.put(home())
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    held = [row for row in rows if "role" in row]  # each was a message
    first = 1 + next(n for n, row in enumerate(held) if row["role"] == "user")
    at = {"messages": len(held), "rows": len(rows)}
    op = {"ctxkit": "forget", "v": 1, "id": "df5113167c0b", "at": at, "ids": str(first)}
    path.write_text(path.read_text(encoding="utf-8") + json.dumps(op) + "\n", encoding="utf-8")
    before = files(home())
    assert SAID[0] not in good("show", path).text
    good("mark", path, "here")
    assert (ops(path), files(home())) == (["mark"], before)
    checked = ctxkit("check", path)
    assert (checked.code, "op-in-session" in checked.out.decode() + checked.err) == (1, True)
    assert living.program in checked.out.decode() + checked.err


@pytest.mark.parametrize("name", LIVING)
def test_own(name: str) -> None:
    """The user says that it is theirs: the op is in the log; not where changes are beside it, which would be lost."""
    path = LIVING[name].put(home())
    assert "--own with each command" in good("mark", path, "here", "--own").err
    assert path.read_bytes().splitlines()[-1].startswith(b'{"ctxkit":"mark"')
    assert "each command" not in good("forget", path, "4", "--own", "--yes").err
    assert len(good("log", path, "--json").values) == 2 and not (path.parent / f"{path.name}.ctxkit").exists()
    path = LIVING[name].put(home())  # without the ops
    good("mark", path, "there")
    before = path.read_bytes()
    ran = ctxkit("mark", path, "x", "--own")
    assert (ran.code, path.read_bytes()) == (65, before) and "beside it" in ran.err and "ctxkit cat" in ran.err


@pytest.mark.parametrize("name", UNLISTED)
def test_the_first_report_says_where_the_change_is(name: str) -> None:
    """Once; a message is not added, and the hint says how."""
    path = UNLISTED[name].put(home())
    said = "the change is beside the log; a pipe begins with ctxkit cat "
    assert said in good("mark", path, "a").err
    assert said not in good("mark", path, "b").err
    ran = ctxkit("add", path, "hi")
    assert ran.code == 65 and "ctxkit cat" in ran.err
    assert len(Log.open(path).transcript.ops) == 2


@pytest.mark.parametrize("name", UNLISTED)
@pytest.mark.parametrize("how", ["init", "add", "versioned", "op", "config"])
def test_what_is_ours_there(name: str, how: str) -> None:
    """A log that ctxkit made, one that holds an op, and one in a tree under version control."""
    living = UNLISTED[name]
    path = home() / living.log
    match how:
        case "init":
            path.parent.mkdir(parents=True)
            good("init", path)
        case "add":
            path.parent.mkdir(parents=True)
            good("add", "--create", path, "hi")
        case "versioned":
            living.put(home())
            (path.parent / ".git").mkdir()
        case "op":
            outside = home() / "mine.jsonl"
            outside.write_bytes(living.put(home()).read_bytes())
            good("mark", outside, "here")
            path.write_bytes(outside.read_bytes())
        case "config":
            living.put(home())
            (path.parent / f"{path.name}.ctxkit").mkdir()
            (path.parent / f"{path.name}.ctxkit/config.toml").write_text("# mine\nowner = 'ctxkit'\n[window]\n")
    before = path.read_bytes()
    good("mark", path, "there")
    good("add", path, "more")
    after = path.read_bytes()
    assert after.startswith(before) and after.count(b"\n") >= before.count(b"\n") + 2
    assert not (path.parent / f"{path.name}.ctxkit/ops.jsonl").exists()


@pytest.mark.parametrize("name", UNLISTED)
@pytest.mark.parametrize("there", [False, True])
def test_a_rolling_context_is_its_programs(name: str, there: bool) -> None:
    """A program that uses the library keeps its log where programs do: it goes on, and commands see whose it is."""
    living = UNLISTED[name]
    path = living.put(home()) if there else home() / living.log
    path.parent.mkdir(parents=True, exist_ok=True)
    config = path.parent / f"{path.name}.ctxkit" / "config.toml"
    if there:
        config.parent.mkdir()
        config.write_text("[window]\ndefault = '8h'\n")
    held = living.messages if there else 0
    RollingContext(9000, log=path).add({"role": "user", "content": "hi"})
    assert len(RollingContext.load(path, 9000).log.messages) == held + 1
    assert (config.read_text().startswith('owner = "ctxkit"\n') and "8h" in config.read_text()) or not there
    good("mark", path, "here")
    assert path.read_bytes().splitlines()[-1].startswith(b'{"ctxkit":"mark"')
    RollingContext.load(path, 9000).add({"role": "assistant", "content": "hello"})
    assert len(Log.open(path).messages) == held + 2


@pytest.mark.parametrize("name", LISTED)
def test_no_log_is_created_among_its_files(name: str) -> None:
    """`add --create` says whose folder it is; with `--own` there is a log of the user's."""
    path = LISTED[name].put(home()).with_name("new.jsonl")
    ran = ctxkit("add", "--create", path, "hi")
    assert (ran.code, path.exists()) == (65, False) and name in ran.err and "--own" in ran.err
    good("add", "--create", "--own", path, "hi")
    assert len(Log.open(path).messages) == 1


@pytest.mark.parametrize("name", LISTED)
def test_wherever_it_stands(name: str, tmp_path: Path) -> None:
    """In another folder than its program's, and under version control: its rows or its companion tell."""
    living = LISTED[name]
    path = living.put(home())
    (tmp_path / ".git").mkdir()
    for one in path.parent.iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    copy = tmp_path / path.name
    before = copy.read_bytes()
    good("mark", copy, "here")
    assert (copy.read_bytes(), ops(copy)) == (before, ["mark"])


def test_a_companion_is_one_only_if_its_content_fits(tmp_path: Path) -> None:
    """A file of that name that says something else takes no log from its owner."""
    for name, other in (
        ("messages.jsonl", "meta.json"),
        ("conversation.jsonl", "config.toml"),
        ("context.jsonl", "wire.jsonl"),
    ):
        path = tmp_path / name
        path.write_text('{"role":"user","content":"hi"}\n')
        (tmp_path / other).write_text('{"title": "mine"}')
        good("mark", path, "here")
        assert path.read_text().count("\n") == 2


KIMI = """\
{"role":"_system_prompt","content":"You are Kimi Code."}
{"role":"_checkpoint","id":0}
{"role":"user","content":"list the files"}
{"role":"assistant","content":[{"type":"think","think":"ls","encrypted":null}],"tool_calls":[{"type":"function",\
"id":"t1","function":{"name":"Shell","arguments":"{\\"command\\":\\"ls\\"}"}}]}
{"role":"_usage","token_count":5100}
{"role":"tool","content":"a.txt","tool_call_id":"t1"}
{"role":"_checkpoint","id":1}
{"role":"assistant","content":[{"type":"text","text":"One file."}]}
{"role":"_usage","token_count":5200}
"""


def test_kimi(tmp_path: Path) -> None:
    """The case of the public reports: a system prompt and four messages, the provider's count of the last usage."""
    path = tmp_path / "context.jsonl"
    path.write_text(KIMI, encoding="utf-8")
    before = path.read_bytes()
    assert [m.role for m in Log.open(path).messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert "5,200 (the provider's count" in good("status", path).text
    assert "~ ls" in good("show", path).text
    good("forget", path, "3", "--yes")
    assert (path.read_bytes(), ops(path)) == (before, ["forget"])


@pytest.mark.parametrize("name", LIVING)
@pytest.mark.parametrize("format", ["chat", "openai", "auto"])
def test_nor_when_a_format_is_asked_for(format: str, name: str) -> None:
    """`--from chat` is no leave to write to it, nor is an API that reads the log again."""
    path = LIVING[name].put(home())
    before = files(home())
    for command, words in (("mark", ["x"]), ("forget", ["2"]), ("add", ["hi"])):
        ctxkit(command, "--from", format, path, *words)
    log = Log.open(path, format=format)
    for label in ("a", "b"):
        log.mark(label)
        log = log.afresh()
    assert (files(home()), ops(path)) == (before, ["mark", "forget", "mark", "mark"])


@pytest.mark.parametrize("name", LISTED)
def test_an_export_is_the_users(name: str, tmp_path: Path) -> None:
    """It says the same, and is a log of their own."""
    path = LISTED[name].put(home())
    there = tmp_path / "mine.jsonl"
    there.write_bytes(good("export", path, "--to", "chat").out)
    assert Log.open(there).native and good("show", there).text == good("show", path).text
    good("mark", there, "here")
    assert there.read_bytes().splitlines()[-1].startswith(b'{"ctxkit":"mark"')


@pytest.mark.parametrize("name", LISTED)
def test_in_a_pipe_rows_alone_count(name: str) -> None:
    """A pipe has no folder and no companion; what comes out is the log with the op, whoever's it is."""
    living = LISTED[name]
    raw = living.put(home()).read_bytes()
    out = good("forget", "-", "2", "--yes", stdin=raw).out
    assert out.startswith(raw) and out[len(raw) :].count(b"\n") == 1
    by_rows = name != "gptme"
    assert (ctxkit("add", "-", "hi", stdin=raw).code == 65) is by_rows
