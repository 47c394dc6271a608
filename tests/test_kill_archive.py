"""An archive that is being brought up to date is killed, or fails, at each of its calls; two do it at once; no room.

Whatever strikes: each copy begins as its original does or did, what a program rewrote is kept, the archive is read
without an error, and the next run ends where an undisturbed one does.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.search.archive import archive, items
from ctxkit.search.sessions import find_sessions
from ctxkit.store import archive_files
from ctxkit.store.archive_files import REPLACED, Archive
from tests import homes
from tests.cli.runner import PYTHON
from tests.effort import one_of
from tests.faults import each_run

pytestmark = pytest.mark.torture

MORE = b'{"type":"user","uuid":"u2","message":{"role":"user","content":"more"}}\n'


class World:
    """A home with three sessions, and its archive. The first grows, the second is written anew, the third is new."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {"HOME": str(root / "home"), "XDG_CACHE_HOME": str(root / "cache")}
        self.archive = root / "archive"

    def make(self) -> None:
        """The state before."""
        shutil.rmtree(self.root, ignore_errors=True)
        paths = [homes.session(self.root / "home", "claude-code", "/shop", key * 8) for key in "ab"]
        sidecar = Path(f"{paths[0]}.ctxkit")
        sidecar.mkdir()
        (sidecar / "config.toml").write_text('model = "x"\n')
        list(archive(self.archive, self.env))
        before = paths[0].read_bytes()
        paths[0].write_bytes(before + MORE)
        paths[1].write_bytes(before.replace(b"port", b"door"))
        homes.session(self.root / "home", "codex", "/shop", "c" * 8)

    def run(self, _: Path | None = None) -> None:
        """What is disturbed."""
        wrong = [one.error for one in archive(self.archive, self.env) if one.error is not None]
        if wrong:
            raise wrong[0]

    def wrong(self, olds: dict[str, bytes]) -> Iterator[str]:
        """What must not be. `olds`: the copies as they were before."""
        for item in items(self.env):
            copy, now = self.archive / item.name, item.original.read_bytes()
            old = olds.get(item.name)
            if not copy.exists():
                if old is not None:
                    yield f"{item.name} is gone"
                continue
            held = copy.read_bytes()
            if held != old and not (now.startswith(held) and (old is None or held.startswith(old) or held == now)):
                yield f"{item.name} holds {held[:80]!r}"
            if old is None and held != now:
                yield f"{item.name} is new, and a part"
        found = find_sessions([self.archive], env=self.env, index=False)
        yield from (f"{path}: {error.message}" for path, error in found.failed)
        yield from (f"{one.path} is mode {one.stat().st_mode:o}" for one in _files(self.archive) if _open(one))

    def done(self, olds: dict[str, bytes]) -> Iterator[str]:
        """What must not be after an undisturbed run."""
        for item in items(self.env):
            if (self.archive / item.name).read_bytes() != item.original.read_bytes():
                yield f"{item.name} is not its original"
        kept = {path.read_bytes() for path in self.archive.rglob(f"{REPLACED}/*")}
        if olds[next(name for name in olds if "bbbb" in name)] not in kept:
            yield "what was replaced is not kept"
        yield from (one.text for one in Archive(self.archive).verify())
        yield from (str(path) for path in self.archive.rglob("*.new"))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _open(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(3))
def test_killed_and_failing(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each call; the next run finishes what was begun."""
    monkeypatch.setattr(archive_files, "settled", lambda found: True)  # each run makes the same calls
    world = World(tmp_path / "w")
    world.make()
    olds = {str(path.relative_to(world.archive)): path.read_bytes() for path in _files(world.archive)}
    del olds["archive.jsonl"]
    runs, calls = 0, set()
    for point, raised in each_run(world.run, world.archive, world.make, every=one_of(7) * 3, first=first):
        runs += 1
        calls.add(point.call)
        assert raised is None or " " not in raised, (point, raised)
        assert list(world.wrong(olds)) == [], point
        world.run()
        assert list(world.done(olds)) == [], (point, raised)
    assert runs > 30 and {"write", "open", "fsync"} <= calls


def process(world: World, *words: str, limit: int | None = None) -> subprocess.Popen[bytes]:
    """A run as a process of its own; `limit`: bytes of a file that it may write at most."""

    def limited() -> None:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [*PYTHON, "sessions", "--archive", str(world.archive), *words], env={**os.environ, **world.env},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited,
    )  # fmt: skip


def test_two_at_once(tmp_path: Path) -> None:
    """Both end well, one after the other, and nothing is copied twice."""
    world = World(tmp_path / "w")
    world.make()
    for n in range(60):
        homes.session(tmp_path / "w/home", "claude-code", "/shop", f"{n:08}")
    some = [process(world) for _ in range(3)]
    ran = [one.communicate() for one in some]
    assert [one.returncode for one in some] == [0, 0, 0], ran
    new = [line for out, _ in ran for line in out.splitlines() if line.startswith(b"new")]
    assert len(new) == len(set(new)) == 61
    assert list(Archive(world.archive).verify()) == []


def test_no_room(tmp_path: Path) -> None:
    """The error says what was not done; what was archived is whole; with room, the next run finishes."""
    world = World(tmp_path / "w")
    world.make()
    grown = next(one.original for one in items(world.env) if "aaaa" in one.name)
    before = grown.read_bytes()
    grown.write_bytes(before + MORE * 3000)
    ran = process(world, limit=100_000)
    _, said = ran.communicate()
    assert ran.returncode == 74 and b"file too large" in said and b"3 of 3 sessions are not archived" in said
    assert (world.archive / ".claude/projects/-shop" / grown.name).read_bytes() in before
    assert list(Archive(world.archive).verify()) == []
    world.run()
    assert (world.archive / ".claude/projects/-shop" / grown.name).read_bytes() == before + MORE * 3000
