"""snapshot: the context as a file; the id alone on standard output.

--light, --auto, and the checkpoints that other commands make: as users see them.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.cut.summarize.gist import FAILED
from ctxkit.snapshots import make_checkpoint
from tests.cli.runner import FOREIGN, PYTHON, ROOT, SMALL, ctxkit, good, lines, message, process, shell, small


def files(folder: Path) -> list[Path]:
    """What was kept."""
    return sorted(folder.glob("*.ctxkit/snapshots*/*"))


def test_the_id_alone(tmp_path: Path) -> None:
    """Sixteen digits and a line end; the file has them in its name, and nobody else can read it."""
    path = small(tmp_path)
    os.umask(0)
    try:
        ran = good("snapshot", path, "-m", "before")
    finally:
        os.umask(0o022)
    found = json.loads(files(tmp_path)[0].read_bytes())
    assert ran.out == f"{found['session_id']}\n".encode() and len(ran.out) == 17
    assert ran.err.startswith("Snapshot taken: 11 messages, ") and "tokens (" in ran.err
    assert files(tmp_path)[0].name.endswith(f"Z-{found['session_id'][:8]}.json")
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (files(tmp_path)[0], files(tmp_path)[0].parent)]
    assert modes == [0o600, 0o700] and path.read_bytes() == SMALL


def test_again(tmp_path: Path) -> None:
    """The same id, exit 0, no second file."""
    path = small(tmp_path)
    first = good("snapshot", path, "-m", "before")
    again = good("snapshot", path, "-m", "before")
    assert again.out == first.out and again.err == "The same snapshot exists already: nothing was written.\n"
    assert len(files(tmp_path)) == 1


def test_a_pipe(tmp_path: Path) -> None:
    """The file goes to standard output, whatever is asked; it is the one that a file's log gets."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "x")
    for more in ((), ("--json",)):
        piped = json.loads(good("snapshot", "-", "-m", "x", *more, stdin=SMALL).out)
        own = json.loads(files(tmp_path)[0].read_bytes())
        for key in ("timestamp", "log", "sum"):
            piped.pop(key), own.pop(key)
        assert piped == own


def test_json(tmp_path: Path) -> None:
    """The head, where it is, and whether it is new."""
    path = small(tmp_path)
    [one] = good("snapshot", path, "--tag", "b", "--tag", "a", "--json").values
    assert (one["tags"], one["new"], one["path"], one["message_count"]) == (
        ["a", "b"],
        True,
        str(files(tmp_path)[0]),
        11,
    )
    assert "messages" not in one
    assert good("snapshot", path, "--json").values[0]["new"] is False


def test_all(tmp_path: Path) -> None:
    """Also what the window hides."""
    path = small(tmp_path)
    good("window", path, "1h")
    good("add", path, "--ts", "2026-02-01T11:05:00Z", "much later")
    counts = [good("snapshot", path, *more, "--json").values[0]["message_count"] for more in ((), ("--all",))]
    assert counts == [7, 12]


def test_summary(tmp_path: Path) -> None:
    """Any program's words; where it failed, the snapshot is it was taken, and says so."""
    path = small(tmp_path)
    (tmp_path / "words").write_text("We fixed\nthe bug.")
    given = good("snapshot", path, "--summary-file", tmp_path / "words", "--json").values[0]
    assert given["summary"] == "We fixed the bug."
    for stdin in (b"", b"\xff\xfe"):
        ran = good("snapshot", path, "-m", f"{stdin!r}", "--summary-file", "-", "--json", stdin=stdin)
        assert ran.values[0]["summary"] == FAILED and "the snapshot was taken" in ran.err
    assert ctxkit("snapshot", path, "-m", "new", "--summary-file", tmp_path / "none").code == 66
    assert ctxkit("snapshot", "-", "--summary-file", "-", stdin=SMALL).code == 2
    assert len(files(tmp_path)) == 3


def test_a_past_state(tmp_path: Path) -> None:
    """Before an op that did too much."""
    path = small(tmp_path)
    good("forget", path, "5-11")
    counts = [good("snapshot", path, *at, "--json").values[0]["message_count"] for at in ((), ("--at", "1^"))]
    assert counts == [4, 11]


def test_a_file_with_many(tmp_path: Path) -> None:
    """Each conversation has its own."""
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"messages": [{"role": "user", "content": text}]} for text in "ab"]))
    good("snapshot", path, "--conversation", "2")
    assert [good("snapshots", path, *which).err for which in ((), ("--conversation", "2"))] == [
        "0 snapshots\n",
        "1 snapshot\n",
    ]


def test_named_sidecar(tmp_path: Path) -> None:
    """--sidecar says where it goes."""
    path = small(tmp_path)
    good("snapshot", path, "--sidecar", tmp_path / "beside")
    assert good("snapshots", path, "--sidecar", tmp_path / "beside").err == "1 snapshot\n"
    assert files(tmp_path) == [] and len(list((tmp_path / "beside/snapshots").iterdir())) == 1


def test_it_is_a_log(tmp_path: Path) -> None:
    """The file can be looked at as any log, and jq reads it."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    ran = shell("ctxkit cat session.jsonl | ctxkit snapshot - >kept.json && ctxkit show kept.json --json", tmp_path)
    assert (ran.code, len(ran.values)) == (0, 3)


def test_what_forbids_it(tmp_path: Path) -> None:
    """A folder that cannot be written: exit 73 or 77, and the log is as it was."""
    path = small(tmp_path)
    (tmp_path / "chat.jsonl.ctxkit").mkdir()
    (tmp_path / "chat.jsonl.ctxkit/snapshots").write_bytes(b"mine")
    ran = ctxkit("snapshot", path)
    assert ran.code == 73 and ran.out == b"" and path.read_bytes() == SMALL
    assert process("snapshot", path).code == 73


def test_at_once(tmp_path: Path) -> None:
    """Several processes keep the same: one file, and each prints its id."""
    path = small(tmp_path)
    words = [*PYTHON, "snapshot", str(path), "-m", "x", "-q"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
    said = {one.communicate(timeout=60)[0] for one in running}
    assert [one.returncode for one in running] == [0] * 4
    assert len(said) == 1 and len(files(tmp_path)) == 1


GUIDE = ROOT / "fixtures/guide"
START = datetime(2026, 3, 1, tzinfo=UTC)


def after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock to so many days after the start."""
    return lambda days: monkeypatch.setenv("CTXKIT_NOW", (START + timedelta(days)).isoformat())


def beside(path: Path) -> list[str]:
    """What stands in the folder of its snapshots."""
    folder = path.with_name(f"{path.name}.ctxkit") / "snapshots"
    return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []


def test_the_id_of_a_light_one(tmp_path: Path) -> None:
    """On standard output; the words on the other. Of the log no byte changes."""
    path = small(tmp_path)
    ran = good("snapshot", path, "--light", "-m", "green")
    assert ran.err == f"Kept a reference to this context: {ran.text[:8]}\n" and beside(path) == [beside(path)[0]]
    assert ran.text.strip()[:8] in beside(path)[0] and path.read_bytes() == SMALL
    again = good("snapshot", path, "--light", "-m", "green")
    assert (again.out, again.err) == (ran.out, "The same checkpoint exists already: nothing was written.\n")
    told = good("snapshot", path, "--light", "-m", "green", "--json", "-q")
    assert told.err == "" and told.values[0]["session_id"] == ran.text.strip() and told.values[0]["new"] is False
    [listed] = good("snapshots", path, "--json").values
    assert (listed["kind"], listed["description"], listed["tags"]) == ("checkpoint", "green", ["hand"])
    assert "11 messages  checkpoint  green  #hand" in good("snapshots", path).text
    file = tmp_path / "chat.jsonl.ctxkit/snapshots" / beside(path)[0]
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_size < 1024


@pytest.mark.parametrize("name", ["green", "latest", "", "before clear"])
def test_restore_of_a_light_one(tmp_path: Path, name: str) -> None:
    """By its description, its id or the beginning of it, and the newest; exactly the context of then."""
    path = small(tmp_path)
    was = good("show", path, "--json").out
    key = good("snapshot", path, "--light", "-m", "green").text.strip()
    good("clear", path)
    ran = good("restore", path, name or key[:6], "--replace")
    said = "(before clear)" if name in ("latest", "before clear") else f"{key[:8]} (green)"
    assert f"{said} again: 11 messages.\n" in ran.err and "The context is checkpoint " in ran.err
    assert good("show", path, "--json").out == was
    assert good("snapshots", path).err == "0 snapshots, 3 checkpoints\n"


def test_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It restores on day 29; on day 31 it is gone, and that is said. What was taken by hand stays."""
    path, day = small(tmp_path), after(monkeypatch)
    day(0)
    good("snapshot", path, "--light", "-m", "mine")
    was = good("show", path, "--json").out
    good("clear", path)
    key = good("snapshots", path, "before clear", "--json").values[0]["session_id"]
    day(29)
    assert "again: 11 messages." in good("restore", path, key, "--replace").said
    assert good("show", path, "--json").out == was
    day(31)
    ran = good("clear", path)
    assert ran.said == "checkpoints removed: 1 older than 30 days\nContext cleared. Starting fresh.\n"
    assert ctxkit("restore", path, key).code == 1
    assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["clear"], ["restore"], ["hand"]]
    day(62)
    assert good("snapshots", path, "--prune", "--json").values[0]["why"] == "older than 30 days"
    assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["hand"]]


def test_by_number(tmp_path: Path) -> None:
    """The newest so many, as the config says."""
    path = small(tmp_path)
    good("config", path, "set", "checkpoint.keep", "2")
    for _ in range(3):
        ran = good("clear", path)
        good("undo", path)
    assert ran.err.splitlines()[0] == "checkpoints removed: 1 beyond the newest 2" and len(beside(path)) == 2


def test_a_log_that_was_changed(tmp_path: Path) -> None:
    """Exit 65, nothing is appended, and the words say what is the matter."""
    path = small(tmp_path)
    good("clear", path)
    path.write_bytes(path.read_bytes().replace(b"brief", b"short"))
    was = path.read_bytes()
    ran = ctxkit("restore", path, "latest", "--replace")
    assert ran.code == 65 and path.read_bytes() == was and len(beside(path)) == 1
    assert "does not fit" in ran.err and "changed since, or is another log: nothing was changed\nhint: " in ran.err
    other = tmp_path / "other.jsonl"
    other.write_bytes(lines(message("user", "else", 0)))
    assert ctxkit("restore", other, next((tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()), "--yes").code == 65
    assert ctxkit("restore", "-", "latest", stdin=SMALL).code != 0


def test_none_is_made(tmp_path: Path) -> None:
    """In a pipe, in a dry run, and where the config says so."""
    path = small(tmp_path)
    for ran in (good("clear", "-", stdin=SMALL), good("clear", path, "--dry-run")):
        assert "checkpoint" not in ran.err
    assert ctxkit("snapshot", "-", "--light", stdin=SMALL).code == 2
    good("config", path, "set", "checkpoint.auto", "false")
    good("clear", path)
    assert beside(path) == []
    assert os.listdir(tmp_path / "chat.jsonl.ctxkit") == ["config.toml"]


def test_it_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning, and the command goes on with exit 0; by hand it is exit 73."""
    monkeypatch.setattr(make_checkpoint.time, "sleep", lambda _: None)
    path = small(tmp_path)
    (tmp_path / "chat.jsonl.ctxkit").write_bytes(b"")
    ran = good("clear", path)
    warning, said = ran.said.splitlines()
    assert "no checkpoint was made: " in warning and said == "Context cleared. Starting fresh."
    for words in ((), ("-m", "x")):
        ran = ctxkit("snapshot", path, "--light", *words)
        assert (ran.code, ran.out) == (73, b"")
        assert "exists already, and is not a folder: nothing was changed\nhint: " in ran.said


def test_a_link_that_leads_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning, too, and not a second one of what cannot be removed there; nothing stands behind the link."""
    monkeypatch.setattr(make_checkpoint.time, "sleep", lambda _: None)
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    path = small(tmp_path / "in")
    (tmp_path / "in/chat.jsonl.ctxkit").mkdir()
    (tmp_path / "in/chat.jsonl.ctxkit/snapshots").symlink_to(tmp_path / "out")
    warning, said = good("clear", path).said.splitlines()
    assert "a link that leads out of" in warning and said == "Context cleared. Starting fresh."
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize(
    "words",
    [
        ("--tag", "code", "--auto"),
        ("--tag", "decision"),
        ("-m", "a\nb"),
        ("-m", "x" * 900),
        ("--all",),
        ("--at", "1"),
        ("--summary-model", "m"),
        ("--agent", "a"),
    ],
)
def test_usage_of_a_light_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit 2, and nothing is kept."""
    path = small(tmp_path)
    ran = ctxkit("snapshot", path, "--light", *words)
    assert ran.code == 2 and "nothing was kept" in ran.err and beside(path) == []


def test_auto(tmp_path: Path) -> None:
    """For hooks: at most one per exchange; a second run says that there is nothing, in one line, and exits 0."""
    path = tmp_path / "session.jsonl"
    path.write_bytes((GUIDE / "session.jsonl").read_bytes())
    good("snapshot", path, "--auto")
    ran = good("snapshot", path, "--auto")
    assert (ran.out, ran.err) == (b"", "No checkpoint: nothing new since the last one.\n")
    assert good("snapshot", path, "--auto", "--json", "-q").values == [{"new": False, "said": ran.err.strip()}]
    [listed] = good("snapshots", path, "--json").values
    assert listed["tags"] == ["error_resolution"] and listed["description"] == "pytest -q succeeds again"
    foreign = tmp_path / "other.jsonl"
    foreign.write_bytes(FOREIGN)
    assert good("snapshot", foreign, "--auto").out == b"" and beside(foreign) == []


def test_add(tmp_path: Path) -> None:
    """With `checkpoint.auto` an exchange that wrote a file has one as soon as its result is added."""
    path = small(tmp_path)
    call = {"id": "c", "type": "function", "function": {"name": "Write", "arguments": json.dumps({"path": "a.py"})}}
    records = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    for switch, count in (("true", 1), ("false", 0)):
        good("config", path, "set", "checkpoint.auto", switch)
        good("add", path, "--messages", "-", stdin=lines(*records))
        assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["code"]] * count
        good("snapshots", path, "--rm", "latest") if count else None
        assert count or beside(path) == []


def test_a_log_that_is_gone(tmp_path: Path) -> None:
    """What is left of it is named, by whatever command, by check and sessions; nothing of it is deleted."""
    path, other = small(tmp_path), tmp_path / "other.jsonl"
    good("clear", path)
    other.write_bytes(SMALL)
    path.unlink()
    ran = ctxkit("check", path)
    assert ran.code == 66 and f"hint: its sidecar still exists: ctxkit snapshots {path}" in ran.err
    assert "1 checkpoint" in good("snapshots", path).err
    assert "chat.jsonl.ctxkit: orphan-sidecar: note: a sidecar whose log is gone" in good("check", other).text
    assert "a sidecar whose log is gone" in good("sessions", tmp_path).err and len(beside(path)) == 1


def test_a_pipe_that_closes(tmp_path: Path) -> None:
    """`| head -1`, and standard input closed: nothing is lost, and no word is said."""
    path = small(tmp_path)
    ran = process("snapshot", path, "--light", "-m", "x")
    assert ran.code == 0 and len(beside(path)) == 1
    assert ctxkit("snapshot", path, "--light", "-m", "y", stdin=None).code == 0


def test_a_clock_that_is_given(tmp_path: Path) -> None:
    """The time of a checkpoint is that of the log's clock, unless CTXKIT_NOW says another."""
    path = small(tmp_path)
    log = Log.open(path, clock=lambda: 1_780_000_000.0)
    found = log.checkpoint()
    assert found is not None and found.kept.head.timestamp == "2026-05-28T20:26:40Z"
