"""The functions of `fleet map`: what a file's rows are, and that a failure is one of them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import BadConfig, ExitCode, Usage
from ctxkit.fleet.functions import FUNCTIONS, FileRows, MapCall, answer, call_of
from ctxkit.fleet.rows import rows as tables
from ctxkit.fleet.sources import SourceFile, listed
from ctxkit.measure.status import as_json

GUIDE = Path(__file__).resolve().parents[2] / "fixtures" / "guide"
OWN = "tests.fleet.own"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of another program with ops in its sidecar."""
    path = tmp_path / "logs" / "session.jsonl"
    path.parent.mkdir()
    shutil.copy(GUIDE / "session.jsonl", path)
    Log.open(path).forget("3-4")
    return path


def source(path: Path) -> SourceFile:
    """The file as a source that was named."""
    [found] = listed([str(path)])
    return found


def mapped(path: Path, function: str, **options: str) -> list[dict[str, Any]]:
    """The rows of a file."""
    return decoded(answer(call_of(function, options), source(path)))


def decoded(found: FileRows) -> list[dict[str, Any]]:
    """The rows as values."""
    return [json.loads(line) for line in found.rows.splitlines()]


def test_status(session: Path) -> None:
    """The row is the status of the log with its sidecar's ops, and begins with the file's name."""
    [row] = mapped(session, "status")
    assert next(iter(row)) == "log"
    expected = as_json(Log.open(session).status(assembly=False))
    assert row == json.loads(json.dumps(expected)) | {"sidecar": None}
    assert row["inside"] < row["total"]


def test_check(session: Path) -> None:
    """Findings, and how many of them are problems."""
    [row] = mapped(session, "check")
    log = Log.open(session)
    assert (row["messages"], row["ops"]) == (len(log.messages), 1)
    assert [one["code"] for one in row["findings"]] == [one.code for one in log.check(notes=True)]
    session.write_bytes(session.read_bytes() + b"{torn\n")
    [row] = mapped(session, "check")
    assert row["problems"] == 1


def test_compact(session: Path) -> None:
    """What a compact would do, with its figures; the log and its sidecar keep their bytes."""
    before = {path: path.read_bytes() for path in session.parent.rglob("*") if path.is_file()}
    [row] = mapped(session, "compact", target="30%", strategy="mask")
    assert {path: path.read_bytes() for path in session.parent.rglob("*") if path.is_file()} == before
    log = Log.open(session)
    log.dry_run = True
    assert log.compact(target="30%", strategy="mask", force=True) is not None and log.compacted is not None
    expected = log.compacted.as_json(None)
    for key in ("strategy", "replaced", "tokens", "percent", "kept"):
        assert row[key] == json.loads(json.dumps(expected[key])), key
    assert row["context"] and row["summary"] == log.compacted.found.op.text
    assert "seconds" not in row and "op" not in row


def test_compact_right_after_another(session: Path) -> None:
    """The pause between two compacts is not for what would be done."""
    assert Log.open(session).compact(target="50%", force=True) is not None
    [row] = mapped(session, "compact", target="50%")
    assert "error" not in row


def test_nothing_to_compact(tmp_path: Path) -> None:
    """A log that would not be smaller has a row that says so, and no error."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"role":"user","content":"hi"}\n')
    [row] = mapped(path, "compact")
    assert (row["replaced"], row["context"]) == ("", "1")
    assert row["said"]


def test_export(session: Path) -> None:
    """A request's body in a row; chat lines in a row each."""
    [row] = mapped(session, "export", to="anthropic", model="claude-x")
    [body] = Log.open(session).export("anthropic", model="claude-x", assembly=False).values
    assert row["body"] == body
    rows = mapped(session, "export", to="chat")
    assert [row["message"] for row in rows] == list(Log.open(session).export("chat", assembly=False).values)


def test_ingest(session: Path) -> None:
    """The rows of `fleet ingest`, each with the name of its table."""
    rows = mapped(session, "ingest")
    held = source(session).read()
    made = tables(held.data, str(session), sidecar=held.sidecar)
    expected = [{"log": str(session), "table": name, **row} for name, some in made.items() for row in some]
    assert rows == json.loads(json.dumps(expected))
    assert {row["table"] for row in rows} >= {"transcripts", "messages", "ops"}


def test_config(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--set` counts, and the sidecar's own config behind it; the environment and folders do not."""
    monkeypatch.setenv("CTXKIT_LIMIT", "80000")
    (session.parent / "ctxkit.toml").write_text("limit = 70000\n")
    [row] = mapped(session, "status")
    assert row["tokens"]["limit"]["value"] == 200_000
    folder = session.with_name("session.jsonl.ctxkit")
    (folder / "config.toml").write_text("limit = 50000\n")
    [row] = mapped(session, "status")
    assert row["tokens"]["limit"]["value"] == 50_000
    [row] = mapped(session, "status", **{"limit": "60k"})
    assert row["tokens"]["limit"]["value"] == 60_000


def test_own_function(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A user's function gets bytes, name and what `--set` gave; what it prints goes to stderr."""
    assert mapped(session, f"{OWN}:lines", unit="row") == [
        {"log": str(session), "lines": session.read_bytes().count(b"\n"), "unit": "row"}
    ]
    assert mapped(session, f"{OWN}:none") == []
    out, err = capfd.readouterr()
    assert (out, "counting" in err) == ("", True)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("raise", "ValueError: not like this"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("text", "a row is a str, not a mapping"),
        ("set", "set"),
    ],
)
def test_own_function_that_fails(session: Path, kind: str, text: str) -> None:
    """Whatever it does is one row with an error, and no other."""
    found = answer(call_of(f"{OWN}:wrong", {"kind": kind}), source(session))
    [row] = decoded(found)
    assert row["error"]["reason"] == "function-failed"
    assert text in row["error"]["text"]
    assert found.code == row["error"]["code"] == ExitCode.REFUSED


def test_folder_of_the_module(tmp_path: Path) -> None:
    """The working folder is looked in for the named module alone: nothing else is imported from there."""
    (tmp_path / "of_a_test_alone.py").write_text("def f(data, name, config):\n    return [{'a': 1}]\n")
    name = "of_a_test_alone:f"
    with pytest.raises(Usage, match="cannot be imported: ModuleNotFoundError"):
        call_of(name, {})
    path = list(sys.path)
    call = call_of(name, {}, str(tmp_path))
    assert sys.path == path
    assert call.folder == str(tmp_path)


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        ("statuss", {}, "no such function: statuss"),
        ("nowhere.at_all:f", {}, "cannot be imported"),
        (f"{OWN}:nothing", {}, "cannot be imported: AttributeError"),
        (f"{OWN}:Rows", {}, ""),
        ("os.path:sep", {}, "not a function"),
        ("a b:c", {}, "not a module:function"),
        ("export", {}, "export needs --set to=TARGET"),
        ("export", {"to": "codex"}, "not for fleet map"),
        ("compact", {"strategy": "llm"}, "compacts by rules"),
        ("compact", {"target": "many"}, "neither a share nor tokens"),
        ("status", {"now": "wall"}, "would not be the same twice"),
    ],
)
def test_wrong_calls(function: str, options: dict[str, str], text: str) -> None:
    """What is wrong with a call is said before any file is read."""
    if not text:
        assert call_of(function, options).function == function
        return
    with pytest.raises(Usage, match=text):
        call_of(function, options)


@pytest.mark.parametrize("name", ["mine.py:words", "./mine.py:words", "/home/ada/mine.py:words"])
def test_a_file_for_a_module(name: str) -> None:
    """A file is no module: the hint says how it is named."""
    with pytest.raises(Usage, match=r"mine\.py:words: ") as raised:
        call_of(name, {})
    assert raised.value.hint == "mine:words, without .py"


def test_unknown_keys() -> None:
    """An option is one of the function's, or a key of the config."""
    with pytest.raises(BadConfig, match="unknown key targett"):
        call_of("compact", {"targett": "30%"})
    with pytest.raises(BadConfig):
        call_of("status", {"limit": "much"})


def test_another_version(session: Path) -> None:
    """A worker with another ctxkit gives no rows."""
    found = answer(MapCall("status", version="0.0.9"), source(session))
    [row] = decoded(found)
    assert "ctxkit 0.0.9 asks" in row["error"]["text"]


@pytest.mark.parametrize("function", [*FUNCTIONS, f"{OWN}:lines"])
def test_what_is_no_log(tmp_path: Path, function: str) -> None:
    """Found in a folder it has no rows, for no function; named, or gone, it has one with an error."""
    (tmp_path / "notes.txt").write_text("no log\n")
    call = call_of(function, {"to": "chat"} if function == "export" else {})
    [found] = listed([str(tmp_path)])
    assert answer(call, found) == FileRows(b"")
    (tmp_path / "broken.jsonl").write_text("no log\n")
    [row] = decoded(answer(call, next(iter(listed([str(tmp_path)])))))[:1]
    assert row["log"] == str(tmp_path / "broken.jsonl") and ("error" in row or function not in FUNCTIONS)
    (tmp_path / "broken.jsonl").unlink()
    if function in ("ingest", f"{OWN}:lines"):
        return
    [row] = decoded(answer(call, source(tmp_path / "notes.txt")))
    assert row["error"]["reason"] == "unknown-format"
    (tmp_path / "notes.txt").unlink()
    [row] = decoded(answer(call, found))
    assert (row["log"], row["error"]["code"]) == (found.name, ExitCode.NO_LOG)


def test_many_conversations(tmp_path: Path) -> None:
    """Each has its rows, with its number; one that fails is a row, too."""
    held = [[{"role": role, "content": role}] for role in ("user", "system", "user")]
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"messages": some} for some in held]))
    rows = mapped(path, "export", to="anthropic")
    assert [row["conversation"] for row in rows] == [1, 2, 3]
    assert ["body" in row for row in rows] == [True, False, True]
    assert rows[1]["error"]["reason"] == "nothing-to-send"


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file whose name is not UTF-8 has rows of ASCII JSON."""
    path = tmp_path / "a\udcff.jsonl"
    path.write_text('{"role":"user","content":"hi"}\n')
    [row] = mapped(path, f"{OWN}:lines")
    assert row["log"] == str(path)
