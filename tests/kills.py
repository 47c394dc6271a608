"""Commands are killed, or fail, at every call of the system that they make: `python -m tests.kills [COMMAND...]`.

Each runs as a person types it, in a world of its own (log, sidecar, home, cache, temporary folders, umask 000). What
must hold after every run, whatever struck it:

- what it was to make is there whole, or not at all; the log keeps its bytes, and what is behind them is an op or a
  fragment of one; what was acknowledged is there;
- private text stands in the log, its ops, its snapshots, the copy that was asked for, and in a draft that `check`
  names: nowhere else; files are 0600, folders 0700;
- an error is one in words, with an exit code that says what to do; a second run ends where an undisturbed one does.

`test_kills.py` runs a part of it. `fsync` does nothing here: no power is cut.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import fcntl
import gc
import io
import os
import random
import re
import shutil
import signal
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ctxkit import Log
from ctxkit.cli.commands import edit as edit_command
from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import CHECKPOINT, SnapshotHead, sealed
from ctxkit.errors import CtxkitError
from ctxkit.snapshots.snapshot import shelf
from ctxkit.store.snapshot_files import read
from tests.build import lines
from tests.cli.runner import Ran, ctxkit
from tests.faults import Point
from tests.lawful import ROOT

CANARY = b"canary-5f1e"
CALLS: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("open", "write", "pread", "preadv", "read", "fsync", "lseek", "close", "fstat", "stat")),
    *((os, name) for name in ("lstat", "mkdir", "rmdir", "replace", "rename", "unlink", "link", "fchmod", "ftruncate")),
    *((os, name) for name in ("dup", "scandir", "listdir")),
    (io, "open"), (builtins, "open"), (fcntl, "flock"), (fcntl, "fcntl"),
)  # fmt: skip
KILL = "SIGKILL"
ERRORS = ("ENOSPC", "EIO", "EROFS", "EACCES")
CODES = {66, 69, 73, 74, 75, 77, 78}
"""Exit codes of a command to which the system said no: of a file, what cannot be read or written, locked, config."""
NOTHING = re.compile("nothing was|was not")
"""What an error says where nothing was made or changed."""
EDITED = "A word from the editor."
FOREIGN = (ROOT / "fixtures/guide/session.jsonl").read_bytes()
NATIVE = lines("1 system | 2 user | 3 call=x | 4 result=x | 5-9")
DAMAGED = NATIVE + b'{"role":"user","con\n\0\0\0\0' + lines("1 user")


class World:
    """A home with a log in it. `root`: all that a run can write to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "work" / "chat.jsonl"
        self.copy = root / "work" / "copy.jsonl"
        self.script = root / "editor.sh"
        self.draft = root / "edited.txt"

    @property
    def sidecar(self) -> Path:
        """The folder beside the log."""
        return self.log.with_name("chat.jsonl.ctxkit")

    def make(self, content: bytes) -> None:
        """The folders, the log, an editor."""
        for name in ("work", "tmp", "run", "state", "cache", "config", "home"):
            (self.root / name).mkdir(parents=True, mode=0o700)
        self.log.write_bytes(content.replace(b'"content":"', b'"content":"' + CANARY + b" "))
        self.script.write_text(f'printf "%%%% user\\n{EDITED}\\n" >>"$1"\n')

    def env(self) -> dict[str, str]:
        """Where a run finds its folders."""
        places = {"XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
        places |= {"XDG_STATE_HOME": "state", "HOME": "home"}
        return {key: str(self.root / name) for key, name in places.items()} | {"EDITOR": f"sh {self.script}"}

    def opened(self) -> Log:
        """The log, as it is."""
        return Log.open(self.log)


@dataclass(frozen=True)
class Case:
    """A command. `words`: as typed; `prepare`: what is there before; `again`: as typed the second time."""

    name: str
    words: Callable[[World], list[str]]
    prepare: Callable[[World], None] = lambda world: None
    again: Callable[[World], list[str]] | None = None
    content: bytes = NATIVE


class View(NamedTuple):
    """What people have: the context, what was kept, the copy."""

    context: tuple[str, ...]
    kept: frozenset[tuple[str, str, str]]
    copy: bytes | None


def look(world: World) -> View:
    """The world as commands see it. Raises where something in it cannot be read."""
    log = world.opened()
    wrong = [
        one for one in log.check() if one.code not in ("torn-tail", "torn-line", "torn-prefix", "nul-block", "no-ops")
    ]
    if wrong:
        raise ValueError(f"check finds {wrong[0]}")
    kept = [read(one.path).head for one in shelf(log).found()]
    copy = world.copy.read_bytes() if world.copy.exists() else None
    context = tuple(log.text(name) for name in log.names())
    return View(context, frozenset((one.kind, one.description, one.session_id) for one in kept), copy)


def between(before: Any, after: Any, now: Any) -> bool:
    """Whether each part is the old one or the new one; of several files each for itself."""
    if isinstance(before, frozenset):
        return before & after <= now <= before | after
    return now in (before, after)


@dataclass
class Tally:
    """Runs of one command: `old`, `new`, `half` by what they left; `said`: call, error, exit code and words."""

    name: str
    calls: int = 0
    killed: int = 0
    failed: int = 0
    old: int = 0
    new: int = 0
    half: int = 0
    violations: list[str] = field(default_factory=list)
    said: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)


class Striker:
    """Counts the calls, and strikes at one of them."""

    def __init__(self, point: Point | None = None) -> None:
        self.point, self.calls, self.full = point, list[str](), False
        self._off = False

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, counted, and perhaps struck."""

        def wrapped(*args: Any, **named: Any) -> Any:
            if self._off:
                return call(*args, **named)
            self.calls.append(name)
            point = self.point
            if name == "write" and self.full and point is not None:
                raise OSError(getattr(errno, point.fault), os.strerror(getattr(errno, point.fault)))
            here = point is not None and len(self.calls) == point.k
            if point is None or not here:
                return None if name == "fsync" else call(*args, **named)
            if point.when == "before":
                self._strike(point.fault, args)
            if point.when == "after":
                try:
                    return None if name == "fsync" else call(*args, **named)
                finally:
                    self._strike(point.fault, args)
            count = call(args[0], bytes(args[1])[: max(1, len(args[1]) // 2)])
            if point.fault == KILL:
                self._strike(KILL, args)
            self.full = point.fault != "short"
            return count

        return wrapped

    def _strike(self, fault: str, args: Sequence[Any]) -> None:
        if fault == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        name = args[0] if args and isinstance(args[0], str | os.PathLike) else None
        raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)), *([] if name is None else [name]))

    @contextmanager
    def installed(self) -> Iterator[None]:
        """All calls go through `wrap`; an editor within the run is not struck."""
        before = [(module, name, getattr(module, name)) for module, name in CALLS]
        run = edit_command.run_editor

        def edit(path: Path) -> None:
            self._off = True
            try:
                with open(path, "a") as file:
                    file.write(f"%% user\n{EDITED}\n")
            finally:
                self._off = False

        for module, name, call in before:
            setattr(module, name, self.wrap("open" if module in (io, builtins) else name, call))
        if self.point is None or self.point.fault != KILL:
            edit_command.run_editor = edit
        try:
            yield
        finally:
            edit_command.run_editor = run
            for module, name, call in before:
                setattr(module, name, call)


def points(calls: Sequence[str], kinds: Sequence[str]) -> Iterator[Point]:
    """Every way in which each call is struck: killed before it, in the middle of a write, at the end; or it fails."""
    for k, call in enumerate(calls, 1):
        for fault in kinds:
            yield Point(k, call, "before", fault)
            if call == "write":
                yield Point(k, call, "half", fault)
        if "EIO" in kinds:
            yield Point(k, call, "after", "EIO")
            if call == "write":
                yield Point(k, call, "half", "short")
    if KILL in kinds:
        yield Point(len(calls), calls[-1], "after", KILL)


def matrix(
    case: Case, folder: Path, *, kinds: Sequence[str] = (KILL, *ERRORS), every: int = 1, only: str = ""
) -> Tally:
    """Strike one command at its calls, or at `only` one of them; `every`: at one of so many points."""
    tally = Tally(case.name)
    template, root = folder / "template", folder / "world"
    model, world = World(template), World(root)
    before, umask = dict(os.environ), os.umask(0)
    temporary = tempfile.tempdir
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        model.make(case.content)
        os.environ.update(world.env())
        tempfile.tempdir = str(root / "tmp")
        _reset(template, root)
        case.prepare(world)
        _reset(root, template)
        _run(case.words(world), Striker())  # tokens are counted, modules are loaded
        shutil.copytree(root / "cache", template / "cache", dirs_exist_ok=True)
        _reset(template, root)
        old, log = look(world), world.log.read_bytes()
        counting = Striker()
        ran = _run(case.words(world), counting)
        if ran.code:
            raise AssertionError(f"{case.name}: undisturbed it ends with {ran.code}: {ran.err}")
        new = look(world)
        if old == new:
            raise AssertionError(f"{case.name}: it changes nothing")
        tally.calls = len(counting.calls)
        some = list(points(counting.calls, [kind for kind in kinds if kind != KILL]))
        if KILL in kinds:
            _reset(template, root)
            counting = Striker(Point(0, "", "", KILL))  # a run that is killed has its editor in a process of its own
            _run(case.words(world), counting)
            some += points(counting.calls, [KILL])
        random.Random(0).shuffle(some)  # a part of them is of all calls and faults
        for point in islice([one for one in some if only in ("", one.call)], 0, None, every):
            _reset(template, root)
            for violation in _one(case, world, point, old, new, log, tally):
                place = f"{point.when} call {point.k} {point.call}, {point.fault}"
                tally.violations.append(f"{case.name}: {place}: {violation}")
    finally:
        os.umask(umask)
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = temporary
        gc.enable()
        for path in (template, root):
            shutil.rmtree(path, ignore_errors=True)
    return tally


def _one(case: Case, world: World, point: Point, old: View, new: View, log: bytes, tally: Tally) -> Iterator[str]:
    """One run that is struck, and another that is not."""
    code = None
    if point.fault == KILL:
        tally.killed += 1
        if not _killed(case.words(world), point):
            yield "it was not killed"
    else:
        tally.failed += 1
        held = _descriptors()
        ran = _run(case.words(world), Striker(point))
        code = ran.code
        gc.collect()
        for fd in _descriptors() - held:
            os.close(fd)
        tally.said[(point.call, point.fault, code, ran.err.replace(str(world.root), "…"))] += 1
        unknown = code == 1 and "cannot be read" in ran.err
        if code and not unknown and (code not in CODES or not ran.err.startswith("ctxkit: ")):
            yield f"exit {code}: {ran.err}"
    yield from _private(world, log)
    try:
        now = look(world)
    except (CtxkitError, ValueError) as error:
        tally.half += 1
        yield f"cannot be looked at: {error}"
        return
    tally.old += now == old
    tally.new += now == new
    if not all(map(between, old, new, now)):
        tally.half += 1
        yield "neither old nor new"
    if code == 0 and now != new and now._replace(kept=new.kept) == new and "checkpoint" in ran.err:
        return  # a command goes on without its checkpoint, and says so
    if code == 0 and now != new and "left as it is" not in ran.err:
        yield "acknowledged, and not there"
    if code and now == new and NOTHING.search(ran.err):
        yield f"it is there: {ran.err}"
    if code and now == old and "perhaps not on disk" in ran.err:
        yield f"it is not there: {ran.err}"
    if now != new:
        ran = _run((case.again or case.words)(world), Striker())
        if ran.code or look(world) != new:
            yield f"the second run ends with {ran.code}: {ran.err}"
        yield from _private(world, log)


def _private(world: World, log: bytes) -> Iterator[str]:
    """What must not be, wherever a run may have written."""
    if not world.log.read_bytes().startswith(log):
        yield "bytes of the log were changed"
    named = {one.where for one in world.opened().check(notes=True) if one.code == "draft-left"}
    for path in world.root.rglob("*"):
        if path in (world.log, world.script, world.draft):
            continue
        ours = path.is_relative_to(world.sidecar)
        mode = stat.S_IMODE(path.lstat().st_mode)
        cached = path.is_relative_to(world.root / "cache" / "ctxkit")
        if (ours or cached or path == world.copy) and mode != (0o700 if path.is_dir() else 0o600):
            yield f"{path} has the mode {mode:o}"
        if path.is_dir() or CANARY not in path.read_bytes():
            continue
        within = str(path.relative_to(world.sidecar)) if ours else ""
        whole = path.parent.name == "snapshots" and path.suffix == ".json"
        if not (whole or within == "ops.jsonl" or within in named or path == world.copy):
            yield f"private text in {path}"


def _reset(template: Path, root: Path) -> None:
    """Another world like it."""
    for path in sorted(root.rglob("*"), reverse=True) if root.exists() else ():
        with suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.copytree(template, root, dirs_exist_ok=True)


def _run(words: list[str], striker: Striker) -> Ran:
    with striker.installed():
        return ctxkit(*words)


def _killed(words: list[str], point: Point) -> bool:
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            _run(words, Striker(point))
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _descriptors() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that listed them
            os.fstat(int(name))
            found.add(int(name))
    return found


def _keep(*names: str) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        for name in names:
            world.opened().snapshot(name)

    return prepare


def _changed(world: World) -> None:
    """A snapshot, and messages that left since."""
    _keep("kept")(world)
    world.opened().forget("2")
    world.opened().forget("6-7")


def _pinned(world: World) -> None:
    """A checkpoint, and messages that left since."""
    _run(["snapshot", str(world.log), "--light", "-m", "kept"], Striker())
    world.opened().forget("2")


def _drafted(world: World) -> None:
    """A draft that somebody edited."""
    world.draft.write_text(world.opened().draft() + f"%% user\n{EDITED}\n")


def _checkpoints(world: World) -> None:
    """Two that are too old, and a snapshot."""
    _keep("kept")(world)
    some = shelf(world.opened())
    for n in range(2):
        key = f"{n}" * 16
        head = SnapshotHead(
            session_id=key, timestamp=f"2020-01-0{n + 1}T00:00:00Z", kind=CHECKPOINT, at=LogPosition(messages=0)
        )
        some.add([msgspec.json.encode(sealed(head)) + b"\n"], head)


def _left(world: World) -> list[str]:
    names = {one.head.description for one in shelf(world.opened()).found() if one.head}
    return ["snapshots", str(world.log), "--rm", *sorted(names & {"a", "b"})]


CASES = [
    Case("snapshot", lambda w: ["snapshot", str(w.log), "-m", "kept"]),
    Case("snapshot, a session", lambda w: ["snapshot", str(w.log), "-m", "kept"], content=FOREIGN),
    Case("restore", lambda w: ["restore", str(w.log), "kept"], _changed),
    Case("restore --replace", lambda w: ["restore", str(w.log), "kept", "--replace"], _changed),
    Case("restore, a session", lambda w: ["restore", str(w.log), "kept"], _changed, content=FOREIGN),
    Case("edit --draft", lambda w: ["edit", str(w.log), "--draft", str(w.draft)], _drafted),
    Case("edit", lambda w: ["edit", str(w.log)]),
    Case("edit, a session", lambda w: ["edit", str(w.log)], content=FOREIGN),
    Case("checkpoint", lambda w: ["snapshot", str(w.log), "--light", "-m", "kept"]),
    Case("snapshot --auto", lambda w: ["snapshot", str(w.log), "--auto"], content=FOREIGN),
    Case("restore a checkpoint", lambda w: ["restore", str(w.log), "kept", "--replace"], _pinned),
    Case("clear", lambda w: ["clear", str(w.log)]),
    Case("snapshots --rm", lambda w: ["snapshots", str(w.log), "--rm", "a", "b"], _keep("a", "b", "c"), _left),
    Case("snapshots --prune", lambda w: ["snapshots", str(w.log), "--prune"], _checkpoints),
    Case("salvage", lambda w: ["recover", str(w.log), "-o", str(w.copy)], content=DAMAGED),
]


def table(tallies: Sequence[Tally]) -> Iterator[str]:
    """A line for each command."""
    yield f"{'command':<22}{'calls':>7}{'killed':>8}{'failed':>8}{'old':>8}{'new':>8}{'half':>6}{'violations':>12}"
    for one in tallies:
        figures = f"{one.calls:>7}{one.killed:>8}{one.failed:>8}{one.old:>8}{one.new:>8}{one.half:>6}"
        yield f"{one.name:<22}{figures}{len(one.violations):>12}"


def main() -> int:
    """Print the table, and what was violated; exit 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="*", help="only those that begin so")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of so many points")
    parser.add_argument("--said", action="store_true", help="print what was said to each error")
    asked = parser.parse_args()
    some = [case for case in CASES if not asked.command or case.name.startswith(tuple(asked.command))]
    tallies = []
    for case in some:
        with tempfile.TemporaryDirectory() as folder:
            tallies.append(matrix(case, Path(folder), every=asked.every))
        print(*list(table(tallies[-1:]))[bool(len(tallies) > 1) :], sep="\n", flush=True)
        print(*tallies[-1].violations[:8], sep="\n", file=sys.stderr)
        if asked.said:
            for (call, fault, code, words), count in sorted(tallies[-1].said.items(), key=str):
                print(f"  {count:>4} {call:<10}{fault:<8}{code:>3}  {words.strip()!r}")
    return int(any(one.violations for one in tallies))


if __name__ == "__main__":
    sys.exit(main())
