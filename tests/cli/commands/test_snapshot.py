"""snapshot: the context as a file; the id alone on standard output."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

from ctxkit.cut.summarize.gist import FAILED
from tests.cli.runner import FOREIGN, PYTHON, SMALL, ctxkit, good, process, shell, small


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
