"""Each error as a user meets it: a transcript per case in `errors/`, and nothing changed by any of them.

A transcript is plain text: `$` the call, `1|` and `2|` what it prints, `=` its exit status. Above them may stand
`class:` the error class it is the example of, `given:` what is wrong with the world, `how:` shell or unprivileged
(else the call runs in this process), `stdout: FILE` where the result is that file, byte for byte.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.snapshot import HAND
from ctxkit.core.times import iso
from ctxkit.errors import ClusterFailed, CtxkitError, ExitCode
from ctxkit.logfile import append
from ctxkit.search import sessions
from ctxkit.snapshots.context_reference import reference
from ctxkit.store.snapshot_files import pieces
from tests.cli.runner import FOREIGN, SMALL, Ran, ctxkit, lines, message, process, shell
from tests.compressed import packed
from tests.formats.codex import pages

CASES = sorted((Path(__file__).parent / "errors").glob("*.txt"))
LEAVES = [kind for kind in CtxkitError.__subclasses__() if kind is not ClusterFailed]
"""All classes, but for one that needs Ray: `tests/fleet/engines/test_ray.py` has it."""
QUIET = {"sigpipe", "closed-stderr", "closed-all"}
"""Cases whose point is that nothing is said."""


class Case:
    """A transcript, parsed."""

    def __init__(self, path: Path) -> None:
        self.head: dict[str, str] = {}
        self.call, self.out, self.err, self.code = "", "", "", -1
        for line in path.read_text(encoding="utf-8").splitlines():
            mark, _, rest = line.partition(" ")
            match mark:
                case "$":
                    self.call = rest
                case "1|":
                    self.out += rest + "\n"
                case "2|":
                    self.err += rest + "\n"
                case "=":
                    self.code = int(rest)
                case _ if line and not line.startswith("#"):
                    key, _, value = line.partition(": ")
                    self.head[key] = value


def soon() -> str:
    """A time a little after now, so that a cooldown from it is whole, however slow the test is."""
    return iso(int(time.time()) + 20)


@cache
def kept() -> bytes:
    """A snapshot of the small log."""
    log = Log.open(BytesIO(SMALL), clock=lambda: 1769940000.0)
    return b"".join(log.snapshot("before the refactor").pieces)


@cache
def point() -> bytes:
    """A checkpoint of the small log."""
    made = reference(Log.open(BytesIO(SMALL), clock=lambda: 1769940000.0), HAND, "before the refactor")
    return b"".join(pieces(made.body, made))


def world(folder: Path) -> None:
    """The files that the transcripts speak of."""

    def op(name: str, key: str, at: int, last: str | None = None, **more: Any) -> dict[str, Any]:
        ends = {} if last is None else {"last": last}
        return {"ctxkit": name, "v": 1, "id": key, "at": {"messages": at, "rows": at, **ends}, **more}

    two = (message("user", "a", 1), message("assistant", "b", 2))
    files: dict[str, bytes] = {
        "chat.jsonl": SMALL,
        "session.jsonl": FOREIGN,
        "marked.jsonl": SMALL + lines(op("mark", "m1", 11, label="before"), op("mark", "m2", 11)),
        "empty.jsonl": b"",
        "timeless.jsonl": lines(message("user", "a"), message("assistant", "b"), op("window", "w1", 2, seconds=3600)),
        "misfit.jsonl": lines(*two, op("mark", "m1", 2, "000000000000")),
        "damaged.jsonl": lines(*two, op("forget", "f1", 2, ids="1") | {"sum": "0123456789abcdef"}),
        "future.jsonl": lines(*two, op("frobnicate", "x1", 2)),
        "other.jsonl": lines({"event": "click", "x": 1}),
        "items.jsonl": lines({"type": "reasoning", "summary": []}, {"type": "function_call", "name": "f"}),
        "kiro.json": lines({"sessionId": "s", "workspaceDirectory": "/w", "history": []}),
        "item.jsonl": lines({"type": "function_call", "name": "f"}),
        "packed.jsonl.zst": packed(SMALL),
        "torn.jsonl.zst": packed(SMALL)[:-9],
        "notes.txt": b"buy milk\ncall the bank\n",
        "many.json": json.dumps([{"messages": [m]} for m in two]).encode(),
        "compacted.jsonl": SMALL + lines(op("compact", "c1", 11, ids="2-3", text="s", ts=soon())),
        "fork.jsonl": pages.lines([pages.meta("b", pages.base(1, 4, 900)), *two], 4),
        "hostile.jsonl": SMALL + lines(op("mark", "m1", 11, label="\x1b]0;pwned\x07\nctxkit: all is well")),
        "badly-added.jsonl": lines(message("user", "good"), {"content": "without a role"}),
        "secret.jsonl": SMALL,
        "frozen/chat.jsonl": SMALL,
        "frozen/session.jsonl": FOREIGN,
        "assembled.jsonl": SMALL,
        "assembled.jsonl.ctxkit/config.toml": b'[assembly]\ndocs = ["none.md"]\n',
        "kept.jsonl": SMALL,
        "kept.jsonl.ctxkit/snapshots/20260202T100000Z-kept.json": kept(),
        "kept.jsonl.ctxkit/snapshots/20260201T100000Z-damaged.json": kept().replace(b"before the", b"after the", 1),
        "kept.jsonl.ctxkit/snapshots/20260201T100000Z-changed.json": kept().replace(b"second", b"sekond", 1),
        "point.json": point(),
        "newer.json": b'{"v":2,"session_id":"0123456789abcdef","messages":[]}',
        "badly.jsonl": SMALL,
        "badly.jsonl.ctxkit/config.toml": b'[window]\ndefualt = "8h"\n',
    }
    for name, raw in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(raw)
    (folder / "logs").mkdir()
    os.mkfifo(folder / "fifo")
    os.symlink("nowhere.jsonl", folder / "dangling.jsonl")
    os.symlink("loop.jsonl", folder / "loop.jsonl")
    (folder / "secret.jsonl").chmod(0)
    (folder / "readonly.jsonl").write_bytes(SMALL)
    (folder / "readonly.jsonl").chmod(0o444)
    (folder / "frozen").chmod(0o555)


def snapshot(folder: Path) -> dict[str, str]:
    """Every file of the world with its digest (as root: the mode that forbids reading is no hindrance)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        readable = path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
        found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest() if readable else ""
    return found


@contextmanager
def wrapped_append(monkeypatch: pytest.MonkeyPatch, before: Callable[[Path], None]) -> Iterator[None]:
    """Something happens between the decision and the append."""
    real = append.append_line

    def append_line(path: Path, *args: Any, **more: Any) -> None:
        before(path)
        real(path, *args, deadline=0.05, **more)

    monkeypatch.setattr(append, "append_line", append_line)
    yield


@contextmanager
def locked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another program holds the lock."""
    with open("chat.jsonl", "rb") as held, wrapped_append(monkeypatch, lambda path: None):
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextmanager
def replaced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another program replaces the log by the same bytes, in a new file."""

    def swap(path: Path) -> None:
        shutil.copyfile(path, "new")
        os.replace("new", path)

    with wrapped_append(monkeypatch, swap):
        yield


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No space is left."""

    def fail(path: Path) -> None:
        def write(fd: int, piece: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", write)

    with wrapped_append(monkeypatch, fail):
        yield


@contextmanager
def bad_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The disk cannot be read."""

    def pread(fd: int, size: int, offset: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", pread)
    yield


@contextmanager
def a_bug(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file at which ctxkit itself fails."""

    def glance(*args: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(sessions, "glance", glance)
    yield


@contextmanager
def at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Claude Code ran twice in this folder, within a minute."""
    here = Path.cwd()
    home = here / "home/.claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(here))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(here / "home"))
    for key, words, at in (("3f2a91c0-0001", "The login fails", 100), ("3f2b0000-0002", "The login is slow", 130)):
        row = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": key, "cwd": str(here)}
        path = home / f"{key}.jsonl"
        path.write_bytes(lines(row | {"message": {"role": "user", "content": words}}))
        os.utime(path, (at, at))
    yield
    shutil.rmtree(here / "home")


GIVEN = {
    "sessions": at_home,
    "locked": locked,
    "replaced": replaced,
    "full disk": full_disk,
    "bad disk": bad_disk,
    "a bug": a_bug,
}


def unprivileged() -> list[str]:
    """Words that make root obey the modes of files."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("as root, needs setpriv to give up the rights that modes do not bind")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def run(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Run the call of a transcript in `folder`."""
    if case.head.get("how") == "shell":
        return shell(case.call, folder)
    words, name, from_file = case.call.partition(" <")
    stdin = (folder / from_file).read_bytes() if name else b""
    args = shlex.split(words)[1:]
    if case.head.get("how") == "unprivileged":
        monkeypatch.setenv("EDITOR", "true")
        return process(*args, stdin=stdin, before=unprivileged())
    given = case.head.get("given")
    if given is None:
        return ctxkit(*args, stdin=stdin)
    with monkeypatch.context() as patch, GIVEN[given](patch):
        return ctxkit(*args, stdin=stdin)


def settled(text: str, folder: Path) -> str:
    """Without what is another one in every run: the folder, who holds a lock (which not every system tells), lines."""
    text = re.sub(r"(test_errors.py):\d+", r"\1:0", text)
    return re.sub(r" by pid \d+ \([^)]*\)", "", text.replace(str(folder), "FOLDER"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_transcript(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words, the exit status, the result as written down; no traceback; every file as it was."""
    world(tmp_path)
    monkeypatch.chdir(tmp_path)
    case = Case(path)
    before = snapshot(tmp_path)
    ran = run(case, tmp_path, monkeypatch)
    expected = (tmp_path / case.head["stdout"]).read_bytes() if "stdout" in case.head else case.out.encode()
    assert (settled(ran.err, tmp_path), ran.code, ran.out) == (case.err, case.code, expected)
    assert snapshot(tmp_path) == before
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_form(path: Path) -> None:
    """An error says `ctxkit: ` and, where advice is to be had, `hint: `; its code is in the table or a signal's."""
    case = Case(path)
    if path.stem in QUIET:
        return
    first, *rest = case.err.splitlines()[-2:] if "hint: " in case.err else case.err.splitlines()[-1:]
    assert case.code in set(ExitCode) or case.code > 128
    if "many" not in path.stem:
        assert re.match("ctxkit: (FOLDER|Context full|I do|[^A-Z])", first), first
    assert all(line.startswith("hint: ") for line in rest), rest


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_class_has_its_transcript(kind: type[CtxkitError]) -> None:
    """No class of errors without an example, and the example ends with the class's code."""
    codes = {Case(path).code for path in CASES if Case(path).head.get("class") == kind.__name__}
    assert codes == {int(kind.code)}


def test_transcripts_name_classes_that_exist() -> None:
    """A class that is gone has no transcript."""
    named = {Case(path).head["class"] for path in CASES if "class" in Case(path).head}
    assert named <= {kind.__name__ for kind in LEAVES}
