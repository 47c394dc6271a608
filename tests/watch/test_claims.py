"""Who watches a log, and what is left of a watcher that was killed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ctxkit.errors import ExitCode
from ctxkit.watch import claims
from ctxkit.watch.claims import AFTERWARDS, AGE, Claim, Note
from tests.cli.runner import ROOT, ctxkit

HOURS = 3600.0


def log_in(folder: Path, ago: float = HOURS) -> Path:
    """A log that was written so long ago."""
    path = folder / "chat.jsonl"
    path.write_text('{"role":"user","content":"hi"}\n')
    os.utime(path, (time.time() - ago,) * 2)
    return path


def killed(log: Path) -> int:
    """A process takes the claim and is killed; its id."""
    code = (
        f"import sys, os; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path; from ctxkit.watch import claims\n"
        f"held = claims.claim(Path({str(log)!r}), os.environ); held.note.compacting = True; held.write()\n"
        "print('held', flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"held\n"
        other = claims.claim(log, os.environ)
        assert isinstance(other, Note)
        assert (other.pid, other.compacting) == (run.pid, True)
        assert list(claims.left_behind(os.environ)) == []
        run.kill()
    return run.pid


def test_one_holds_it_and_a_kill_leaves_a_note(tmp_path: Path) -> None:
    """While it lives, others get its note; afterwards what it left is told of, with the command to type."""
    log = log_in(tmp_path)
    pid = killed(log)
    [left] = claims.left_behind(os.environ)
    assert (left.note.pid, left.why) == (pid, None)
    event = claims.abnormal_end(left)
    assert (event.pid, event.compacting, event.checkpoint, event.remedy) == (pid, True, None, f"ctxkit recover {log}")
    assert claims.ended(event).startswith(f"{log} ended abnormally at {event.at} in the middle of a compaction: ")


def test_who_ends_as_it_should_leaves_nothing(tmp_path: Path) -> None:
    """A claim that is released is free again, and nothing is told."""
    log = log_in(tmp_path)
    for _ in range(2):
        held = claims.claim(log, os.environ)
        assert isinstance(held, Claim)
        assert held.left is None
        held.release()
    assert list(claims.folder(os.environ).iterdir()) == []


def test_a_claim_that_was_released_writes_nothing(tmp_path: Path) -> None:
    """Its descriptor may be that of another file by then."""
    held = claims.claim(log_in(tmp_path), os.environ)
    assert isinstance(held, Claim)
    held.release()
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    some = [os.open(other, os.O_RDWR) for _ in range(8)]
    held.write()
    for fd in some:
        os.close(fd)
    assert other.read_bytes() == b"mine"


def test_a_claim_takes_over_what_was_left_or_keeps_it(tmp_path: Path) -> None:
    """The next watcher has the note of the one that was killed; one that only comes by leaves it to others."""
    log = log_in(tmp_path)
    pid = killed(log)
    held = claims.claim(log, os.environ)
    assert isinstance(held, Claim)
    assert held.left is not None and held.left.pid == pid
    held.release(keep=True)
    assert [one.note.pid for one in claims.left_behind(os.environ, log)] == [pid]


def test_a_note_that_is_read_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` locks the note of a watcher that is gone for a moment: that does not keep the next watcher away."""
    log = log_in(tmp_path)
    pid = killed(log)
    [place] = claims.folder(os.environ).iterdir()
    monkeypatch.setattr(claims, "PAUSE", 0.2)
    with place.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = threading.Timer(0.03, lambda: fcntl.flock(file, fcntl.LOCK_UN))
        done.start()
        held = claims.claim(log, os.environ)
        done.join()
    assert isinstance(held, Claim) and held.left is not None and held.left.pid == pid
    held.release()


def test_a_session_that_goes_on_is_not_told_of(tmp_path: Path) -> None:
    """Written after its watcher was gone, or a day ago: the note goes. Gone itself: the same."""
    for change in ("written", "old", "gone"):
        log = log_in(tmp_path)
        killed(log)
        [place] = claims.folder(os.environ).iterdir()
        if change == "written":
            moment = time.time() + AFTERWARDS + 1
            os.utime(log, (moment, moment))
        elif change == "old":
            held = claims.claim(log, os.environ)
            assert isinstance(held, Claim) and held.left is not None
            held.left.noted -= AGE
            held.release(keep=True)
        else:
            log.unlink()
        assert list(claims.left_behind(os.environ)) == [], change
        assert not place.exists(), change


def test_a_session_at_work(tmp_path: Path) -> None:
    """It is at work where a process holds the log open, or where it was written just now; which, is said."""
    log = log_in(tmp_path)
    assert claims.at_work(log) is None
    code = f"f = open({str(log)!r}, 'a'); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        assert (claims.at_work(log) or "").startswith(f"pid {run.pid} (")
        run.kill()
    os.utime(log)
    assert "was written" in (claims.at_work(log) or "")


def test_a_damaged_note_is_none(tmp_path: Path) -> None:
    """What is no note says nothing, and does not stop a claim."""
    log = log_in(tmp_path)
    killed(log)
    [place] = claims.folder(os.environ).iterdir()
    place.write_bytes(b'{"log": 5')
    assert list(claims.left_behind(os.environ)) == []
    place.write_bytes(b"\xff")
    held = claims.claim(log, os.environ)
    assert isinstance(held, Claim) and held.left is None
    held.release()


@pytest.mark.parametrize(
    "wrong",
    [{"noted": 1e18}, {"noted": -9e18}, {"since": 9e11}, {"log": "/a\0b"}, {"log": "/a\ud800b"}, {"pid": "x"}],
)
def test_a_note_that_is_none(tmp_path: Path, wrong: dict[str, object]) -> None:
    """A file of nonsense stops nobody: neither a watcher nor who asks for what was left."""
    log = log_in(tmp_path)
    made = claims.claim(log, os.environ)
    assert isinstance(made, claims.Claim)
    [place] = claims.folder(os.environ).iterdir()
    note = json.loads(place.read_bytes())
    made.release()
    for command in ("status", "watch --once", "sessions"):
        place.write_text(json.dumps(note | {"pid": 1, "since": 1.0} | wrong))
        ran = ctxkit(*command.split(), log)
        assert ran.code == ExitCode.DONE and "abnormally" not in ran.text + ran.err, command
