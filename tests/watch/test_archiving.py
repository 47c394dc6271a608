"""Sessions archived while others are watched."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from ctxkit.errors import ExitCode
from ctxkit.watch.archiving import Archiving
from tests import homes
from tests.cli.runner import ctxkit
from tests.watch.running import Watching, answer, append, log_of, user
from tests.watch.test_watcher import full


def test_each_period(tmp_path: Path) -> None:
    """All sessions are copied as it starts; those that grew in the next period; what fails is a warning."""
    first = homes.session(Path(os.environ["HOME"]), "claude-code", "/shop", "a" * 8)
    path, archive = log_of(tmp_path / "chat.jsonl", user("hello")), tmp_path / "A"
    with Watching("--archive", archive, "--every", "1s", path) as watching:
        done = watching.event("archive.done", sessions=1, copied=1)
        assert (done["log"], done["failed"]) == (str(archive), 0) and done["bytes"] == first.stat().st_size
        with first.open("ab") as file:
            file.write(b'{"type":"summary","summary":"x","leafUuid":"u1"}\n')
        watching.event("archive.done", copied=1, bytes=49)
        (archive / "archive.jsonl").unlink()
        (archive / "archive.jsonl").mkdir()
        assert watching.until(lambda: "archived" in watching.errors)
        append(path, answer("hi"))
        watching.event("status.changed", messages=2)
    assert next(archive.rglob("aaaaaaaa.jsonl")).read_bytes() == first.read_bytes()
    assert "Traceback" not in watching.errors


def test_copies_are_not_followed(tmp_path: Path) -> None:
    """A session that its agent deleted is not watched in the archive."""
    home = Path(os.environ["HOME"])
    path = homes.session(home, "claude-code", "/shop", "a" * 8)
    homes.session(home, "claude-code", "/shop", "b" * 8)
    for one in (home / ".claude").rglob("*.jsonl"):
        os.utime(one)
    (ran,) = ctxkit("watch", "--once", "--json", "--archive", tmp_path / "A", "--all").values[:1]
    assert (ran["event"], ran["copied"]) == ("archive.done", 2)
    assert ctxkit("config", "set", "archive.dir", tmp_path / "A", "--user").code == ExitCode.DONE
    path.unlink()
    assert len(ctxkit("sessions", "--json").values) == 2
    found = ctxkit("watch", "--once", "--json", "--all").values
    assert [Path(one["log"]).name for one in found] == ["bbbbbbbb.jsonl"]


@pytest.mark.parametrize("words", [["--every", "1d"], ["--archive", ""], ["--archive", "A", "--every", "soon"]])
def test_refused(words: list[str], tmp_path: Path) -> None:
    """A period without an archive, an archive without a name, a period that is none, an agent's own folder."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    assert ctxkit("watch", "--once", *words, path).code == ExitCode.USAGE
    assert ctxkit("watch", "--once", "--archive", os.environ["HOME"], path).code == ExitCode.USAGE


def test_a_clock_that_jumps() -> None:
    """Copies are due at first, after the period, and where the clock was put back."""
    asked, now = Archiving(Path("A"), 3600), time.time()
    assert [asked.due(one) for one in (None, now - 60, now - 3700, now + 3700)] == [True, False, True, True]


def test_structured_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compaction and one that came to nothing are lines of --log-format json, which `metrics` counts."""
    monkeypatch.setenv("CTXKIT_LOG_FORMAT", "json")
    path, small = full(tmp_path / "chat.jsonl"), tmp_path / "small"
    small.mkdir()
    (small / "ctxkit.toml").write_text("limit = 100\n")
    stuck = log_of(small / "stuck.jsonl", user("word " * 200))
    with Watching("--compact", path, stuck) as watching:
        watching.event("compaction.done")
        watching.event("compaction.skipped")
        watching.end()
    lines = [json.loads(line) for line in watching.errors.splitlines()]
    assert {(one["event"], one["reason"], one["code"]) for one in lines} == {
        ("compaction", "made", None), ("compaction", "nothing-changes", 1),
    }  # fmt: skip
    assert len({one["log"] for one in lines}) == 2 and None not in {one["log"] for one in lines}
    (tmp_path / "events.jsonl").write_text(watching.errors)
    pytest.importorskip("prometheus_client")
    text = ctxkit("metrics", tmp_path, "--events", tmp_path / "events.jsonl").text
    assert 'ctxkit_compactions_total{outcome="done"} 1.0' in text
    assert 'ctxkit_compactions_total{outcome="refused"} 1.0' in text
    assert 'ctxkit_compactions_total{outcome="failed"} 0.0' in text
