"""Runs the command of the user's config that tells of processes, for the status around a context.

Pipeline: `logfile/assembly_sources.py` -> here. The command comes from the user's own config, a flag or the
environment, never from a log's folder, and it does not run in that folder. It is run without a shell, once per process
of ctxkit and second, and ended after SECONDS.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from ctxkit.errors import reason_of
from ctxkit.llm.program import ends_with_us

SECONDS = 5
"""The longest time that the command may take."""
LARGEST = 1 << 16
"""The most bytes of its output."""
FRESH = 10
"""Seconds for which an output is used again: `watch` and `metrics` look at many logs."""


PAUSE = 0.005
"""Seconds between two looks at whether a command that closed its output has ended."""


class CommandOutput(NamedTuple):
    """What the command printed, without the blank space around it; `fault`: why there is nothing, in words."""

    text: str
    fault: str = ""


def output(command: str) -> CommandOutput:
    """The output of a command, or why it has none. Raises nothing for a command that fails."""
    return _run(command, int(time.monotonic() // FRESH))


@lru_cache(maxsize=8)
def _run(command: str, _period: int) -> CommandOutput:
    words = shlex.split(command)
    try:
        running = subprocess.Popen(  # noqa: S603  # the user's own command, never one of a folder
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=os.path.expanduser("~"), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        return CommandOutput("", f"{words[0]} cannot be started: {reason}")
    with ends_with_us(running.pid), running:
        try:
            raw = _read(running, time.monotonic() + SECONDS)
        finally:
            with suppress(ProcessLookupError, PermissionError):  # its children too, also if it ended itself
                os.killpg(running.pid, signal.SIGKILL)
    if raw is None:
        return CommandOutput("", f"{words[0]} took longer than {SECONDS} s")
    if len(raw) > LARGEST:
        return CommandOutput("", f"{words[0]} printed more than {LARGEST:,} bytes")
    if running.returncode:
        return CommandOutput("", f"{words[0]} ended with {running.returncode}")
    text = raw.decode("utf-8", "replace").replace("\0", "").replace("\r\n", "\n").strip()
    return CommandOutput(text) if text else CommandOutput("none")


def _read(running: subprocess.Popen[bytes], until: float) -> bytes | None:
    """The output up to one byte more than LARGEST; None if the command is not done at `until`."""
    found = b""
    stream = running.stdout
    with selectors.DefaultSelector() as waiting:
        waiting.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]  # a pipe was asked for
        while len(found) <= LARGEST:
            if not waiting.select(max(0.0, until - time.monotonic())):
                return None
            piece = os.read(stream.fileno(), LARGEST)  # type: ignore[union-attr]
            if not piece:
                break
            found += piece
    while len(found) <= LARGEST and not _has_ended(running.pid):
        if time.monotonic() >= until:
            return None
        time.sleep(PAUSE)
    return found


def _has_ended(pid: int) -> bool:
    """Whether a child has ended. It is left for `Popen`, so that its id, which is that of its group, stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
