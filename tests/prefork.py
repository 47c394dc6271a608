"""A `ctxkit` that has started already: one process imports everything, and forks for each command of docs and tests.

Starting takes five times as long as what most commands do, and the pages have hundreds. The program on PATH hands its
words, folder, environment and streams to that process, and ends with the status of the fork. For the pages, the clock
around the fork (not in it) says BASE plus a minute a command, and ids follow from the command line. What many commands
need beside their modules, a tokenizer and DuckDB, is there before the fork, too. With `pytest --real-start` the tests
of the command line start the interpreter each time.

The `python` of the pages is such a fork as well, with the time and the random bytes that there really are. So is a
`ctxkit` that is started without a minute (DOCS_STEP): by shells that complete a line, and as a watcher.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO

from tests.docs.pages import ROOT

BASE = 1770908400
"""2026-02-12T15:00:00Z, after the last message of the guide's logs."""

DRAWN = 'bytes.fromhex((now["id"][:12] + now["id"][-4:] + now["id"][12:60])[: 2 * size])'
"""The random bytes of a command: of `size`, by what it is called with."""

CLIENT = """#!{python} -IS
import _socket, posix, sys
words = [b"".join(one.encode("utf-8", "surrogateescape") + b"\\0" for one in [{program!r}, *sys.argv[1:]])]
words.append(posix.getcwdb())
words += [key + b"=" + value for key, value in posix.environ.items()]
raw = b"\\1".join(words)
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
streams = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
server.sendmsg([len(raw).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(raw)
posix._exit(server.recv(1)[0])
"""

SERVER = """
import os, sys, time
sys.path.insert(0, {root!r})
now = {{}}
real_time, real_urandom = time.time, os.urandom
time.time = lambda: {base} + 60.0 * now["step"] if now else real_time()
os.urandom = lambda size: {drawn} if now else real_urandom(size)
now.update(step=0, id="0" * 64)
import atexit, contextlib, hashlib, runpy, select, signal, socket, traceback, types
from ctxkit import Log
from ctxkit.cli import app
from ctxkit.cli.registry import COMMANDS
from ctxkit.tokens.encodings import encoding
for command in COMMANDS.values():
    command.load()
encoding("o200k_base").counts(["a tokenizer is made for the first text"])
with contextlib.suppress(ImportError):
    import duckdb, pyarrow.parquet


def script(first="", *more):
    now.clear()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    status = 0
    try:
        if first == "-c":
            sys.argv = ["-c", *more[1:]]
            sys.path.insert(0, "")
            exec(compile(more[0], "<string>", "exec"), vars(main))
        elif first == "-m":
            sys.argv = ["-m", *more[1:]]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(more[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [first, *more]
            sys.path.insert(0, os.path.dirname(os.path.abspath(first)))
            runpy.run_path(first, run_name="__main__")
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if status and not isinstance(left.code, int):
            print(left.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed, or nobody reads it
            stream.flush()
    os._exit(status & 255)


def serve(client):
    head, streams, _, _ = socket.recv_fds(client, 4, 3)
    raw = b""
    while len(raw) < int.from_bytes(head, "big"):
        raw += client.recv(65536)
    words, folder, *env = raw.split(b"\\1")
    for fd, stream in enumerate(streams):
        os.dup2(stream, fd)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    for one in env:
        key, _, value = one.partition(b"=")
        os.environb[key] = value
    time.tzset()
    program, *sys.argv[1:] = [os.fsdecode(word) for word in words.split(b"\\0")[:-1]]
    if program == "python":
        script(*sys.argv[1:])
    elif program != "ctxkit":
        client.sendall(os.getpid().to_bytes(4, "big"))
        sys.stdin, sys.stdout, sys.stderr = (
            open(fd, "w" if fd else "r", encoding="utf-8", errors=errors, closefd=False)  # a terminal's by lines
            for fd, errors in enumerate(("surrogateescape", "surrogateescape", "backslashreplace"))
        )
        exec(program)
    if "DOCS_STEP" in os.environ:
        now["step"] = int(os.environ["DOCS_STEP"])
        now["id"] = hashlib.sha256(repr((now["step"], sys.argv[1:])).encode()).hexdigest()
    else:
        now.clear()  # the time and the bytes of the system
    client.close()
    app.main()


listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind({address!r} + ".new")
listener.listen(64)
os.rename({address!r} + ".new", {address!r})
woken, waker = socket.socketpair()
waker.setblocking(False)
signal.signal(signal.SIGCHLD, lambda *_: None)
signal.set_wakeup_fd(waker.fileno())
running = {{}}
while True:
    ready, _, _ = select.select([listener, woken, 0], [], [])
    if 0 in ready:  # who started this is gone
        os._exit(0)
    if woken in ready:
        woken.recv(4096)
        for pid in [*running]:
            ended, how = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = os.waitstatus_to_exitcode(how)
                with running.pop(pid) as client, contextlib.suppress(OSError):  # nobody waits for it any more
                    client.send(bytes([status if status >= 0 else 128 - status, status < 0]))
    if listener in ready:
        client, _ = listener.accept()
        pid = os.fork()
        if pid:
            running[pid] = client
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            serve(client)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
"""


# A program that a test starts finds ctxkit compiled: without that, half of its time goes into compiling it again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _of_interpreter(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(("PYTHON", "LANG", "LC_"))}


BEGINS_WITH = {name: value for name, value in _of_interpreter(os.environ).items() if name.startswith("PYTHON")} | {
    "LANG": "C.UTF-8"
}
"""The variables that tests begin with and that an interpreter looks at when it starts: see conftest.py."""


@cache
def _address() -> str:
    """Where the process listens, which runs until this one ends."""
    folder = Path(tempfile.mkdtemp(prefix="ctxkit-docs-"))
    address = str(folder / "s")
    code = SERVER.format(root=str(ROOT), base=BASE, address=address, drawn=DRAWN)
    env = {name: value for name, value in os.environ.items() if name not in _of_interpreter(os.environ)} | BEGINS_WITH
    env.pop("PYTHONUNBUFFERED", None)  # as most people have it
    running = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=env)

    def end() -> None:
        running.kill()
        running.wait()
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()

    atexit.register(end)
    while not os.path.exists(address):
        assert running.poll() is None, "it did not start"
        time.sleep(0.01)
    return address


FORKS = True
"""False with `pytest --real-start`."""


def same_interpreter(env: Mapping[str, str]) -> bool:
    """Whether an interpreter that starts with these variables is as the one that has started already."""
    return FORKS and _of_interpreter(env) == BEGINS_WITH


class Started:
    """`ctxkit WORDS` as a process of its own, to be used as a `Popen` is; by default with nothing to read, and pipes.

    `streams`: descriptors in their place; `first`: what is run in it before, such as another value of a constant.
    """

    def __init__(
        self, *words: str, streams: Sequence[int] = (), env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None, first: str = "pass",
    ) -> None:  # fmt: skip
        self.returncode: int | None = None
        self.stdout: BinaryIO | None = None
        self.stderr: BinaryIO | None = None
        theirs = list(streams)
        if not theirs:
            pipes = [os.pipe(), os.pipe()]
            self.stdout, self.stderr = (os.fdopen(mine, "rb") for mine, _ in pipes)
            theirs = [os.open(os.devnull, os.O_RDONLY), *(fd for _, fd in pipes)]
        raw = b"\1".join([
            b"".join(os.fsencode(one) + b"\0" for one in (first, *words)), os.fsencode(cwd or os.getcwd()),
            *(os.fsencode(f"{name}={value}") for name, value in (os.environ if env is None else env).items()),
        ])  # fmt: skip
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.connect(_address())
        socket.send_fds(self._server, [len(raw).to_bytes(4, "big")], theirs)
        self._server.sendall(raw)
        for fd in theirs if not streams else ():
            os.close(fd)
        self.pid = int.from_bytes(self._server.recv(4, socket.MSG_WAITALL), "big")

    def poll(self) -> int | None:
        """The exit status, the signal as a negative number; None while it runs."""
        if self.returncode is None and select.select([self._server], [], [], 0)[0]:
            code, killed = self._server.recv(2, socket.MSG_WAITALL)
            self.returncode = 128 - code if killed else code
            self._server.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same, once it has ended."""
        if self.returncode is None and not select.select([self._server], [], [], timeout)[0]:
            raise TimeoutError(f"process {self.pid} has not ended in {timeout} s")
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """What it wrote into its pipes, which is little, once it has ended."""
        out, err = (b"" if one is None or one.closed else one.read() for one in (self.stdout, self.stderr))
        self.wait(timeout)
        for one in (self.stdout, self.stderr):
            if one is not None:
                one.close()
        return out, err

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def client() -> Path:
    """The program as a file."""
    path = Path(_address()).with_name("ctxkit")
    path.write_text(program())
    path.chmod(0o755)
    return path


def program(name: str = "ctxkit") -> str:
    """The text of the `ctxkit`, or the `python`, for PATH."""
    return CLIENT.format(python=sys.executable, address=_address(), program=name)
