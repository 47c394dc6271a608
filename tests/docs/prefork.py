"""A `ctxkit` that has started already: one process imports everything, and forks for each command of the docs' pages.

Starting takes five times as long as what most commands do, and the pages have hundreds. The program on PATH hands its
words, folder, environment and streams to that process, and ends with the status of the fork. Around the fork (not in
it) the clock says BASE plus a minute a command, and ids follow from the command line.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

BASE = 1770908400
"""2026-02-12T15:00:00Z, after the last message of the guide's logs."""

CLIENT = """#!{python} -IS
import _socket, posix, sys
words = [b"".join(one.encode("utf-8", "surrogateescape") + b"\\0" for one in sys.argv[1:]), posix.getcwdb()]
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
time.time = lambda: {base} + 60.0 * now["step"]
os.urandom = lambda size: bytes.fromhex((now["id"][:12] + now["id"][-4:] + now["id"][12:60])[: 2 * size])
now.update(step=0, id="0" * 64)
import contextlib, hashlib, select, signal, socket
from ctxkit import Log
from ctxkit.cli import app
from ctxkit.cli.registry import COMMANDS
for command in COMMANDS.values():
    command.load()


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
    sys.argv[1:] = [os.fsdecode(word) for word in words.split(b"\\0")[:-1]]
    now["step"] = int(os.environ["DOCS_STEP"])
    now["id"] = hashlib.sha256(repr((now["step"], sys.argv[1:])).encode()).hexdigest()
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
                with contextlib.suppress(OSError):  # nobody waits for it any more
                    running.pop(pid).send(bytes([status if status >= 0 else 128 - status]))
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
            import traceback

            traceback.print_exc()
            os._exit(70)
"""


@cache
def program() -> str:
    """The text of the `ctxkit` for PATH; what it talks to runs until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="ctxkit-docs-"))
    address = str(folder / "s")
    code = SERVER.format(root=str(ROOT), base=BASE, address=address)
    running = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)

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
    return CLIENT.format(python=sys.executable, address=address)
