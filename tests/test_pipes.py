"""Law 3: a command on a file and the same command in a pipe come to the same log, or to the same context.

Command lines run in this process; a few run as real pipes of real processes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.runner import ctxkit, good, small, without_figures
from tests.lawful import COMMANDS, CONDENSE, ROOT, Command, Records, as_bytes, cli, conversations

Prepare = Callable[[Path, bytes], bytes]

CHAT = (ROOT / "fixtures/guide/chat.jsonl").read_bytes()
SESSION = (ROOT / "fixtures/guide/session.jsonl").read_bytes()
BEFORE = (
    ["mark", "LOG", "a"],
    ["protect", "LOG", "6"],
    ["window", "LOG", "30h"],
    ["forget", "LOG", "9"],
    ["undo", "LOG"],
    ["forget", "LOG", "8-9"],
)
"""What a log holds already: something for every command to act on."""
LINES = [
    ["mark", "LOG"], ["mark", "LOG", "before refactor"], ["mark", "LOG", "--", "-x"],
    ["rewind", "LOG"], ["rewind", "LOG", "a"], ["rewind", "LOG", "nowhere"],
    ["forget", "LOG", "3"], ["forget", "LOG", "2-4", "8"], ["forget", "LOG", "3", "--planning", "7"],
    ["forget", "LOG", "--tool", "R*", "--yes"], ["forget", "LOG", "6"], ["forget", "LOG", "6", "--include-protected"],
    ["forget", "LOG", "--grep", "nothing like it", "--yes"], ["forget", "LOG", "999"],
    ["remember", "LOG", "3"], ["remember", "LOG", "--last", "2x", "--yes"], ["remember", "LOG", "1-"],
    ["recall", "LOG", "9", "--apply"], ["recall", "LOG", "3", "--apply"], ["recall", "LOG", "e", "--apply", "--yes"],
    ["recall", "LOG", "--apply", "--state", "forgotten", "--yes"], ["recall", "LOG", "nothing like it", "--apply"],
    ["recall", "LOG", "999", "--apply"], ["recall", "LOG", "--apply", "--role", "tool", "--yes"],
    ["clear", "LOG"], ["clear", "LOG", "--keep-protected"], ["clear", "LOG", "--agent", "nobody"],
    ["protect", "LOG", "2"], ["protect", "LOG", "6"], ["protect", "LOG", "--role", "user"],
    ["protect", "LOG", "6", "--off"], ["protect", "LOG", "2", "--off"], ["protect", "LOG", "1", "--off"],
    ["protect", "LOG", "1", "--off", "--force"],
    ["undo", "LOG"], ["undo", "LOG", "1"], ["undo", "LOG", "4"], ["undo", "LOG", "--redo"],
    ["window", "LOG", "24h"], ["window", "LOG", "set", "2h"], ["window", "LOG", "add", "8h"],
    ["window", "LOG", "sub", "4h"], ["window", "LOG", "reset"], ["window", "LOG", "off"], ["window", "LOG", "8"],
    ["window", "LOG", "24h", "--agent", "frodo"], ["window", "LOG", "30h"],
    ["trim", "LOG", "--max-tokens", "200"], ["compact", "LOG", "--target", "60%"], ["compact", "LOG"],
    ["compact", "LOG", "--force", "--keep-last", "0", "--strategy", "mask"],
    ["compact", "LOG", "2-", "--keep-steps", "1"],
    ["compact", "LOG", "--target", "40%", "--strategy", "truncate"], ["compact", "LOG", "--force", "--keep-last", "9"],
    ["add", "LOG", "some words"], ["add", "LOG", "x", "--role", "assistant", "--ts", "2026-02-12T14:30:00Z"],
]  # fmt: skip


def named(words: list[str], log: str) -> list[str]:
    """The command line for this log."""
    return [log if word == "LOG" else word for word in words]


def comparable(log: bytes) -> list[Any]:
    """The lines of a log but for `id`, `ts`, `by` and `sum` of its ops; references to ops by their number."""
    found: list[Any] = []
    numbers: dict[str, int] = {}
    for line in log.splitlines():
        body = json.loads(line)
        if isinstance(body.get("ctxkit"), str):
            numbers[body["id"]] = len(numbers) + 1
            for key in ("op", "to"):
                if key in body:
                    body[key] = numbers[body[key]]
            body = {key: value for key, value in body.items() if key not in ("id", "ts", "by", "prev", "sum")}
        elif line not in CHAT:
            body.pop("ts", None)  # of a message that was added
        found.append(body)
    return found


def both(words: list[str], log: Path, stream: bytes) -> bytes:
    """The command on the file and on the stream, with the same exit code; what came out of the pipe."""
    before = log.read_bytes()
    code, out, err = cli(*named(words, str(log)))
    pipe_code, piped, pipe_err = cli(*named(words, "-"), stdin=stream)
    assert pipe_code == code, (words, err, pipe_err)
    assert out == b""
    assert log.read_bytes().startswith(before)
    if code >= 2:
        assert piped == b""
        assert log.read_bytes() == before
        return stream
    assert piped.startswith(stream)
    if code == 1:
        assert piped == stream
        assert log.read_bytes() == before
    err = err.replace(str(log), "LOG")  # a hint for a pipe names no file
    assert without_figures(err).splitlines()[-1:] == pipe_err.splitlines()[-1:] or words[0] == "add"
    return piped


def views(log: str, stdin: bytes = b"") -> list[tuple[int, bytes]]:
    """What is printed of a context, in every form."""
    looks = (["show", log, "--json"], ["show", log, "--oneline"], *(["export", log, "--to", to] for to in
             ("chat", "openai", "anthropic")), ["window", log, "--json"])  # fmt: skip
    return [cli(*words, stdin=stdin)[:2] for words in looks]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, tuple[Path, bytes]]:
    """Content -> a file of it, and a stream, both with the ops of BEFORE."""
    found = {}
    for content in (CHAT, SESSION):
        log = tmp_path_factory.mktemp("made") / "log.jsonl"
        log.write_bytes(content)
        stream = content
        for words in BEFORE:
            stream = both(words, log, stream)
        found[content] = log, stream
    return found


@pytest.fixture
def prepared(made: dict[bytes, tuple[Path, bytes]]) -> Prepare:
    """Puts the file of a content, and what stands beside it, where a log shall be; its stream."""

    def prepare(log: Path, content: bytes) -> bytes:
        path, stream = made[content]
        shutil.copy(path, log)
        if (beside := path.with_name(f"{path.name}.ctxkit")).exists():
            shutil.copytree(beside, log.with_name(f"{log.name}.ctxkit"))
        return stream

    return prepare


@pytest.mark.one_in(2, first=1)
@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_a_native_log_gets_the_same_lines(words: list[str], tmp_path: Path, prepared: Prepare) -> None:
    """On the file and in the pipe: the same lines, the same exit code, the same last word."""
    log = tmp_path / "chat.jsonl"
    stream = both(words, log, prepared(log, CHAT))
    assert comparable(log.read_bytes()) == comparable(stream)
    assert views(str(log)) == views("-", stream)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [words for words in LINES if words[0] != "add"], ids=" ".join)
def test_a_session_gets_the_same_context(words: list[str], tmp_path: Path, prepared: Prepare) -> None:
    """Ops in the sidecar, ops behind the stream, and `cat LOG | command -`: one context; the session is not touched."""
    log = tmp_path / "session.jsonl"
    stream = prepared(log, SESSION)
    _, merged, _ = cli("cat", str(log))
    code, catted, _ = cli(*named(words, "-"), stdin=merged)
    stream = both(words, log, stream)
    assert log.read_bytes() == SESSION
    expected = views(str(log))
    assert views("-", stream) == expected
    assert code >= 2 or views("-", catted) == expected
    assert views("-", cli("cat", str(log))[1]) == expected


@pytest.mark.parametrize(
    "words", [["undo", "LOG"], ["rewind", "LOG", "a"], ["forget", "LOG", "3"], ["undo", "LOG", "--redo"]]
)
def test_a_stream_with_a_sidecar_goes_on_with_its_ops(words: list[str], tmp_path: Path, prepared: Prepare) -> None:
    """`--sidecar DIR` in a pipe: the op stands behind those of the sidecar, which go out with the stream."""
    log = tmp_path / "session.jsonl"
    prepared(log, SESSION)
    beside = ["--sidecar", f"{log}.ctxkit"]
    _, piped, _ = cli(*named(words, "-"), *beside, stdin=SESSION)
    code, _, err = cli(*named(words, str(log)))
    assert (code, cli("check", "-", stdin=piped)[0]) == (0, 0), err
    assert views("-", piped) == views(str(log))
    assert cli("show", "-", "--json", *beside, stdin=piped)[1] == cli("show", str(log), "--json")[1]


def test_a_session_takes_no_message(tmp_path: Path, prepared: Prepare) -> None:
    """Neither way."""
    log = tmp_path / "session.jsonl"
    assert both(["add", "LOG", "words"], log, prepared(log, SESSION)).startswith(SESSION)
    assert cli("add", str(log), "words")[:2] == (65, b"")


@given(records=conversations(3), commands=st.lists(COMMANDS | CONDENSE, min_size=1, max_size=4))
@settings(max_examples=12)
def test_random_command_lines(
    records: Records, commands: list[Command], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any commands, one after the other."""
    log = tmp_path_factory.mktemp("pipes") / "log.jsonl"
    stream = as_bytes(records)
    log.write_bytes(stream)
    for command in commands:
        stream = both(command.words(len(records)), log, stream)
        assert comparable(log.read_bytes()) == comparable(stream)
    assert views(str(log)) == views("-", stream)


@pytest.mark.parametrize("name", ["chat", "session"])
def test_real_pipes(name: str, tmp_path: Path) -> None:
    """A pipe of real processes, and the same on the file."""
    log = Path(shutil.copy(ROOT / f"fixtures/guide/{name}.jsonl", tmp_path))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CTXKIT": f"{sys.executable} -m ctxkit"}
    before = log.read_bytes()
    pipe = "$CTXKIT cat $LOG | $CTXKIT mark - a | $CTXKIT forget - 3 | $CTXKIT protect - 6 | $CTXKIT undo - 2"
    file = "$CTXKIT mark $LOG a && $CTXKIT forget $LOG 3 && $CTXKIT protect $LOG 6 && $CTXKIT undo $LOG 2"

    def shell(line: str) -> bytes:
        env["LOG"] = str(log)
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], env=env, capture_output=True, check=True).stdout

    streamed = shell(f"{pipe} | tee $LOG.out | $CTXKIT show - --json")
    shell(file)
    assert shell("$CTXKIT show $LOG --json") == streamed
    if name == "chat":
        assert comparable(log.read_bytes()) == comparable(Path(f"{log}.out").read_bytes())
    else:
        assert log.read_bytes() == before


def test_a_record_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal no name is cut, and no line is broken, however long its names are."""
    monkeypatch.delenv("COLUMNS")
    path = small(tmp_path).rename(tmp_path / ("long name " * 12 + ".jsonl"))
    good("forget", path, "--tool", "Bash", "--grep", "x|" * 60 + "e|a", "--yes")
    good("config", path, "set", "window.default", "8h")
    for words in (["status"], ["diff"], ["config", "--only-set"]):
        text = ctxkit(words[0], path, *words[1:]).text
        assert path.name in text and ("…" not in text or words[0] == "diff"), words  # its excerpts are cut
    found = good("recall", tmp_path, "question").text
    assert f"{path}\n" in found and f"{path.name}:2  user" in found
    for line in good("show", path, "--explain").text.split("\n\n")[0].splitlines():
        assert line[:5].strip().isdigit(), line
