"""The watcher where the system, the disk or the config fails it: it says so in words and goes on."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxkit.core.text.json_text import loads
from ctxkit.errors import CtxkitError
from ctxkit.watch import checkpointing, compaction, watcher
from ctxkit.watch.events import AnyEvent, CheckpointMade, CompactionFailed, StatusChanged
from ctxkit.watch.file_changes import FileChanges
from ctxkit.watch.places import Places
from ctxkit.watch.watcher import Watcher
from tests.cli.runner import PYTHON
from tests.watch.running import HANGS, Watching, answer, append, calling, log_of, result, user


class Watched:
    """A watcher in a thread of this process; `events` and `warned` grow."""

    def __init__(self, *logs: Path, places: Places | None = None, **given: bool) -> None:
        self.events: list[AnyEvent] = []
        self.warned: list[str] = []
        self.watcher = Watcher(
            places or Places("named", logs, os.environ), self.events.append, self._warn, env=os.environ, **given
        )
        self.thread = threading.Thread(target=self.watcher.run)
        self.thread.start()

    def _warn(self, what: str | CtxkitError, log: Path | None) -> None:
        self.warned.append(what.message if isinstance(what, CtxkitError) else what)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + HANGS
        while not holds():
            assert time.monotonic() < end, (self.events, self.warned)
            time.sleep(0.005)

    def messages(self) -> list[int]:
        """The messages of each event of figures."""
        return [one.messages for one in self.events if isinstance(one, StatusChanged)]

    def made(self) -> list[str]:
        """The labels of the checkpoints that were made."""
        return [one.label for one in self.events if isinstance(one, CheckpointMade)]

    def end(self) -> None:
        """End it."""
        self.watcher.stop()
        self.thread.join()


@pytest.fixture
def watched() -> Iterator[Callable[..., Watched]]:
    """Makes watchers that end with the test."""
    made: list[Watched] = []

    def make(*logs: Path, places: Places | None = None, **given: bool) -> Watched:
        made.append(Watched(*logs, places=places, **given))
        return made[-1]

    yield make
    for one in made:
        one.end()


def test_no_notification_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched]
) -> None:
    """Where watches ran out, or on a network file system, nothing is told: it is noticed, said once, and polled."""
    monkeypatch.setattr(FileChanges, "follow", lambda self, folders, below: None)
    monkeypatch.setattr(watcher, "STARTING", 0.0)
    monkeypatch.setattr(watcher, "TICK", 0.1)
    one = watched(path := log_of(tmp_path / "chat.jsonl", user("hello")))
    one.until(lambda: one.messages() == [1])
    append(path, answer("hi"))
    one.until(lambda: bool(one.warned) and one.messages()[-1] == 2)
    monkeypatch.setattr(watcher, "TICK", 1000.0)
    append(path, user("more"))
    one.until(lambda: one.messages()[-1] == 3)
    assert one.warned == [
        f"the system gives no notifications of changes (none came of a change of {path}): "
        "all logs are checked every 250 ms"
    ]


def test_notifications_that_come_late_are_none_missed(tmp_path: Path, watched: Callable[..., Watched]) -> None:
    """A log that is written all the time, with notifications, is not polled."""
    one = watched(path := log_of(tmp_path / "chat.jsonl", user("hello")))
    one.watcher._changes.began = -1000.0
    for i in range(40):
        append(path, answer(f"{i}"))
        time.sleep(0.07)
    one.until(lambda: bool(one.messages()) and one.messages()[-1] == 41)
    assert (one.warned, one.watcher._polls) == ([], False)


def test_what_is_no_longer_followed_is_not_written_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched]
) -> None:
    """What ends later does not write to the descriptor of its note, which may be that of another file."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    places = Places("named", [path], os.environ)
    one = watched(places=places)
    one.until(lambda: one.messages() == [1])
    [followed] = one.watcher.followed.values()
    monkeypatch.setattr(places, "logs", list)
    one.watcher._scanned, one.watcher._rescan = 1.0, True
    one.until(lambda: not one.watcher.followed)
    assert followed.claim is None


@pytest.mark.parametrize("error", [OSError(11, "Resource temporarily unavailable"), RuntimeError("can't start")])
def test_a_compaction_that_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched], error: Exception
) -> None:
    """No process is to be had: an event says so, and the watcher goes on."""

    def popen(*words: object, **given: object) -> None:
        raise error

    monkeypatch.setattr(compaction.subprocess, "Popen", popen)
    (tmp_path / "ctxkit.toml").write_text("limit = 50\n")
    one = watched(path := log_of(tmp_path / "chat.jsonl", user("word " * 100)), compacts=True)
    one.until(lambda: any(isinstance(event, CompactionFailed) for event in one.events))
    [failed] = [event for event in one.events if isinstance(event, CompactionFailed)]
    assert "could not be started" in failed.reason and failed.code == 73 and failed.log == str(path)
    append(path, answer("hi"))
    one.until(lambda: one.messages()[-1] == 2)


def test_a_checkpoint_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched]
) -> None:
    """The thread lives on: the next exchange has its checkpoint, and a failure after that is said again."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    fails = [False]

    def made(path: Path) -> checkpointing.WatchedCheckpoint | None:
        if fails[0]:
            raise OSError(28, "No space left on device")
        return checkpointing.checkpoint(path)

    monkeypatch.setattr(watcher, "checkpoint", made)
    one = watched(path, checkpoints=True)
    one.until(lambda: one.messages() == [1])
    for number in range(4):
        fails[0] = number % 2 == 0
        row = calling(f"c{number}", "Write", path=f"{number}.py")
        append(path, user("write"), row, result(f"c{number}", "ok"), answer("done"))
        one.until(lambda number=number: len(one.warned) + len(one.made()) == number + 1)  # type: ignore[misc]
    text = f"{path}: no checkpoint was made: no space left on device"
    assert (one.warned, one.made()) == ([text, text], ["1.py written", "3.py written"])


def test_config_mistakes_come_and_go(tmp_path: Path) -> None:
    """A mistake is said once; the mended config counts; the same mistake is said again when it is made again."""
    path, config = log_of(tmp_path / "chat.jsonl", user("hello")), tmp_path / "ctxkit.toml"
    with Watching(path) as watching:
        watching.event("status.changed", limit=None)
        for count, limit in ((1, 5000), (2, 6000)):
            config.write_text(f"limit = \n# {limit}\n")
            assert watching.until(lambda count=count: watching.errors.count("ctxkit.toml") >= count)  # type: ignore[misc]
            append(path, answer("hi"))
            watching.event("status.changed", messages=2 * count)
            config.write_text(f"limit = {limit}\n")
            watching.event("status.changed", limit=limit)
            append(path, user("go on"))
            watching.event("status.changed", messages=2 * count + 1, limit=limit)
        assert watching.errors.count("\n") == 2, watching.errors


def test_the_folder_of_notes_cannot_be_written(tmp_path: Path) -> None:
    """What is shown is shown; that nothing is done by itself is said once for all logs."""
    state = Path(os.environ["HOME"]) / ".local/state/ctxkit"
    state.mkdir(parents=True)
    (state / "watch").write_text("a file")
    logs = [log_of(tmp_path / f"{name}.jsonl", user("hello")) for name in "ab"]
    with Watching("--checkpoint", *logs) as watching:
        for path in logs:
            watching.event("status.changed", log=str(path))
        assert watching.until(lambda: "cannot keep a note of who watches" in watching.errors)
    assert watching.errors.count("no compaction and no checkpoint is made") == 1


def test_a_full_disk(tmp_path: Path) -> None:
    """A checkpoint and a compaction that find no room are told of, with reasons, and made once there is room."""
    disk, source = tmp_path / "disk", tmp_path / "source"
    for folder in (disk, source):
        folder.mkdir()
    rows = [row for i in range(12) for row in (user(f"question {i} " + "word " * 80), answer("reply " * 80))]
    written = [user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done")]
    log_of(source / "chat.jsonl", *rows, *written)
    (source / "ctxkit.toml").write_text("limit = 3000\n")
    script = (
        f"mount -t tmpfs -o size=128k none {disk} && cp {source}/* {disk} && cd {disk} || exit 99\n"
        '(cat /dev/zero >fill) 2>/dev/null; "$@"; echo; rm fill; "$@"; echo; cat chat.jsonl'
    )
    words = [*PYTHON, "watch", "--once", "--json", "--checkpoint", "--compact", "chat.jsonl"]
    ran = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False
    )
    if ran.returncode == 99 or "unshare" in ran.stderr:
        pytest.skip("no user namespaces here")
    full, roomy, log = (part.splitlines() for part in ran.stdout.split("\n\n"))
    [failed] = [one for one in map(loads, full) if one["event"] == "compaction.failed"]
    assert (failed["code"], failed["error"], "no space left" in failed["reason"]) == (74, "write-failed", True)
    assert "chat.jsonl: no checkpoint was made: " in ran.stderr and "no space left" in ran.stderr
    assert {"checkpoint.made", "compaction.done"} <= {one["event"] for one in map(loads, roomy)}
    assert "Traceback" not in ran.stderr and len(log) >= len(rows) + len(written) + 1


@pytest.mark.parametrize("what", ["instances", "watches"])
def test_the_limits_of_inotify(tmp_path: Path, what: str) -> None:
    """None is left: one line says so, and changes are noticed all the same."""
    script = f'echo 0 > /proc/sys/user/max_inotify_{what} && exec "$@"'
    limited = ["unshare", "-Urm", "sh", "-c", script, "sh"]
    if subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    path, count = log_of(tmp_path / "chat.jsonl", user("hello")), 1
    with Watching(path, before=limited) as watching:
        watching.event("status.changed", messages=1)
        while "the system gives no notifications" not in watching.errors:
            append(path, answer("hi"))
            count += 1
            time.sleep(0.2)
            assert count < HANGS / 0.2
        append(path, user("more"))
        watching.event("status.changed", messages=count + 1)
    assert watching.errors.count("\n") == 1
