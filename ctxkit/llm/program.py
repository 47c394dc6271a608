"""Asks a program for an answer: its arguments, no shell, the prompt on standard input, the answer on standard output.

`llm/client.py` runs one for a model named `cmd:PROGRAM ARGUMENTS…`. It runs in an empty folder of its own, because an
agent obeys the files of the folder that it starts in, and that may be a stranger's. What it starts ends with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple

from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import ModelFailed

PREFIX = "cmd:"
"""How the name of a model begins that is a program."""
LARGEST = 8 << 20
"""The most bytes of an answer."""
SAID = 160
"""The most characters of what a program that failed printed last on standard error."""
NESTED = {"CTXKIT_OFFLINE": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
"""What is set for a program: a ctxkit that it runs asks no model in turn, and Gemini CLI starts in the empty folder."""
NOT_FOR_IT = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"})
"""Variables of an agent that ctxkit runs in: another agent would take itself for a part of it."""
ANYWHERE = "--skip-git-repo-check"
"""Codex starts in a folder that is no repository."""
DRAIN = 1.0
"""Seconds for what is still in the pipe when the program has ended, and something that it started holds the pipe."""
BLOCK = 1 << 16
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end ctxkit, beside SIGINT, which Python raises as KeyboardInterrupt."""


class Program(NamedTuple):
    """A program that is asked. `argv`: its path and arguments; `name`: as it was named, without secrets."""

    name: str
    argv: tuple[str, ...]

    @property
    def path(self) -> str:
        """The file that runs."""
        return self.argv[0]


def is_program(model: str) -> bool:
    """Whether a model's name names a program."""
    return model.startswith(PREFIX)


def program(model: str, hide: Callable[[str], str] = str) -> Program:
    """Finds the program that `model` (`cmd:claude -p`) names. `hide` takes secrets out of its name.

    Raises ModelFailed if the words cannot be read, or if there is no such program.
    """
    name = hide(model)
    try:
        words = shlex.split(model.removeprefix(PREFIX))
    except ValueError as error:
        raise ModelFailed(f"{name} was not asked: {error}", "quotes are as in a shell: cmd:llm -s 'be brief'") from None
    if not words:
        raise ModelFailed(f"{name} was not asked: it names no program", "such as cmd:claude -p")
    found = shutil.which(os.path.expanduser(words[0]))
    if found is None:
        hint = "a path, or a program on the PATH, and its arguments; no shell reads them: cmd:claude -p"
        raise ModelFailed(f"{name} was not asked: there is no program {words[0]!r}", hint)
    return Program(name, (os.path.abspath(found), *_started(os.path.basename(words[0]), words[1:])))


def _started(name: str, words: list[str]) -> list[str]:
    """The arguments with which an agent starts in an empty folder, and takes its prompt from standard input alone."""
    if name == "codex" and words[:1] == ["exec"] and ANYWHERE not in words:
        return ["exec", ANYWHERE, *words[1:]]
    if name == "gemini" and words[-1:] in (["-p"], ["--prompt"]):
        return [*words, ""]
    return words


def run(
    asked: Program, prompt: str, *, left: Callable[[], float], tick: Callable[[], None], wait: float,
    hide: Callable[[str], str], env: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """The answer of a program to `prompt`.

    `left`: seconds until it has to end; `tick`: called every `wait` seconds; `hide`: takes secrets out of its
    complaint; `env`: its environment (default: of this process). Raises ModelFailed, and what a signal raises; then the
    program and all that it started in its session is ended.
    """
    given = {name: value for name, value in (env or os.environ).items() if name not in NOT_FOR_IT}
    folder = tempfile.mkdtemp(prefix="ctxkit-model-")
    try:
        try:
            started = subprocess.Popen(  # noqa: S603  # the user's own config, flag or environment names it
                asked.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                env={**given, **NESTED, "PWD": folder}, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise ModelFailed(f"{asked.name} was not asked: {asked.path}: {why}") from None
        with ends_with_us(started.pid), _Running(started, prompt) as running:
            return _answer(asked, running, left, tick, wait, hide)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def ends_with_us(group: int) -> Iterator[None]:
    """Meanwhile a signal that ends this process kills that process group first, and raises SystemExit.

    Only in the main thread, which alone can handle signals, and where the program has no handler of its own.
    """

    def end(number: int, _: object) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        raise SystemExit(128 + number)

    main = threading.current_thread() is threading.main_thread()
    ours = [number for number in ENDING if main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _answer(
    asked: Program, running: _Running, left: Callable[[], float], tick: Callable[[], None], wait: float,
    hide: Callable[[str], str],
) -> str:  # fmt: skip
    while running.code is None and not running.too_long:
        if left() <= 0:
            raise _failed(asked, "the time is over", "ctxkit config --user set compact.program_timeout 10m")
        running.look(min(wait, max(left(), 0.0)))
        tick()
    if running.too_long:
        raise _failed(asked, f"it printed more than {LARGEST:,} bytes")
    said = running.output()
    if running.code:
        how = f"exit code {running.code}" if running.code > 0 else f"signal {-running.code}"
        last = _last(running.complaint(), hide)
        raise _failed(asked, f"{how}{f', {last}' if last else ''}", f"try it by hand: echo hello | {asked.argv[0]} ...")
    try:
        return said.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _failed(asked, f"its output is not UTF-8 from byte {error.start:,} on") from None


def _failed(asked: Program, why: str, hint: str = "") -> ModelFailed:
    return ModelFailed(f"{asked.name} gave no answer that can be used: {why}", hint)


def _last(complaint: bytes, hide: Callable[[str], str]) -> str:
    """The last line that says something, on one line, without secrets and control characters."""
    lines = [line.strip() for line in complaint.decode("utf-8", "replace").splitlines()]
    last = hide(next((line for line in reversed(lines) if line), ""))
    return "".join(char for char in last if char.isprintable())[:SAID]


class _Running:
    """A program that runs, its prompt being written and its output being read by threads.

    At the end of the block, whatever the reason, the program and all in its session is killed.
    """

    def __init__(self, started: subprocess.Popen[bytes], prompt: str) -> None:
        self._started = started
        self.code: int | None = None
        self.too_long = False
        self._said, self._complaint = bytearray(), bytearray()
        self._writer = threading.Thread(target=self._write, args=(utf8(prompt),), daemon=True)
        self._readers = [
            threading.Thread(target=self._read, args=(pipe, into, most), daemon=True)
            for pipe, into, most in (
                (started.stdout, self._said, LARGEST), (started.stderr, self._complaint, BLOCK),
            ) if pipe is not None
        ]  # fmt: skip

    def __enter__(self) -> _Running:
        for thread in (self._writer, *self._readers):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._started.pid, signal.SIGKILL)
        self._started.wait()
        for thread in (self._writer, *self._readers):
            thread.join(DRAIN)
        for pipe, thread in zip((self._started.stdout, self._started.stderr), self._readers, strict=True):
            if pipe is not None and not thread.is_alive():  # one that is read still belongs to what left the session
                pipe.close()

    def look(self, seconds: float) -> None:
        """Waits for the end of the program, at most so long."""
        with suppress(subprocess.TimeoutExpired):
            self.code = self._started.wait(seconds)

    def output(self) -> bytes:
        """What it printed, once it has ended. Something that it started and left may hold the pipe: that is killed."""
        end = time.monotonic() + DRAIN
        for thread in self._readers:
            thread.join(max(0.0, end - time.monotonic()))
        return bytes(self._said)

    def complaint(self) -> bytes:
        """What it printed on standard error, the last of it."""
        return bytes(self._complaint)

    def _write(self, prompt: bytes) -> None:
        pipe = self._started.stdin
        if pipe is not None:
            with suppress(OSError, ValueError):  # it reads no more
                pipe.write(prompt)
            with suppress(OSError, ValueError):
                pipe.close()

    def _read(self, pipe: IO[bytes], into: bytearray, most: int) -> None:
        with suppress(OSError, ValueError):
            while block := os.read(pipe.fileno(), BLOCK):
                into += block
                if len(into) > most and into is self._said:
                    self.too_long = True
                    return
                del into[: max(0, len(into) - most)]
