"""Real terminals: a command with all three streams on one of so many columns, and what that got."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.cli.runner import PYTHON, ROOT
from tests.prefork import Started, same_interpreter

SESSION = "import os; os.setsid()"
"""What a command does before, so that the terminal of the tests is not its own."""


class Seen(NamedTuple):
    """What a terminal got."""

    code: int
    raw: bytes


def on_pty(
    args: list[str], columns: int, answer: bytes = b"", lines_: int = 200, *, program: Sequence[str] = PYTHON,
    cwd: Path | None = None, **env: str,
) -> Seen:  # fmt: skip
    """Run a command with all three streams on a terminal of so many columns; `answer` is typed at every question.

    `program`: what is run in the command's place; `env`: what is set besides.
    """
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", lines_, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    whole = {**kept, **env}
    run: Started | subprocess.Popen[bytes]
    if program is PYTHON and same_interpreter(whole):
        run = Started(*args, streams=(side, side, side), env=whole, cwd=cwd, first=SESSION)
    else:
        run = subprocess.Popen(
            [*program, *args], stdin=side, stdout=side, stderr=side, env=whole, cwd=cwd, start_new_session=True
        )
    try:
        os.close(side)
        raw = b""
        asked = 0
        for piece in pieces(main):
            raw += piece
            while answer and asked < raw.count(b"[y/N]"):
                os.write(main, answer)
                asked += 1
        code = run.wait(30)
    finally:
        if run.poll() is None:
            run.kill()
            run.wait()
    os.close(main)
    return Seen(code, raw)


MANY = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from ctxkit.cli.app import run
from ctxkit.cli.terminal import progress
progress.AFTER = 3600
for words in json.load(open(sys.argv[1])):
    sys.stdout.buffer.write(b"\\0")
    sys.stdout.buffer.flush()
    run(words)
"""


def all_on_pty(
    calls: Sequence[Sequence[str]], folder: Path, columns: int, *, cwd: Path | None = None, **env: str
) -> list[str]:
    """What a terminal got of each of many calls, made one after the other by one process; questions are answered no.

    No line of progress: it would come and go by the clock.
    """
    listed = folder / "calls.json"
    listed.write_text(json.dumps(calls))
    seen = on_pty([str(listed)], columns, b"n\n", program=(sys.executable, "-c", MANY), cwd=cwd, **env)
    assert seen.code == 0, seen.raw[-2000:]
    texts = seen.raw.decode("utf-8").replace("\r\n", "\n").split("\0")[1:]
    assert len(texts) == len(calls)
    return texts


def pieces(fd: int) -> Iterator[bytes]:
    while select.select([fd], [], [], 15)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            return
        if not piece:
            return
        yield piece
