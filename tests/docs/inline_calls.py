"""Runs a line of the docs' shell that is one call of `ctxkit` in this process, as the program does where it is typed.

The call has the descriptors 0, 1 and 2, the folder, the variables and the umask of that shell, the clock and the ids of
`prefork.py`; all of them, the handlers of signals and what the call imported from the folder are as before afterwards.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shlex
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn, TextIO

import pytest

from ctxkit.cli import app
from ctxkit.cli.registry import COMMANDS
from ctxkit.logfile import open as opening
from ctxkit.logfile import status_command
from ctxkit.memory import memory
from ctxkit.snapshots import context_reference
from tests import prefork

WORD = r"""(?:[^\s'"\\$`|&;<>()*?\[\]{}~#!]|'[^']*'|"[^"$`\\!]*")+"""
"""A word that says the same to every shell, and to shlex: no variable, no pattern, no backslash."""
LINE = re.compile(
    rf"(?P<given>(?:[A-Z_]+={WORD}[ ]+)*)(?P<words>ctxkit(?:[ ]+{WORD})*)"
    rf"(?P<into>(?:[ ]+(?:2>&1|2?>>?[ ]?{WORD}|<[ ]?{WORD}))*)[ ]*"
)
INTO = re.compile(rf"(?P<fd>2?)(?P<how>>>|>|<)[ ]?(?P<file>{WORD})|(?P<both>2>&1)")
ELSEWHERE = {"watch", "metrics", "fleet", "--run"}
"""Words of commands that go on beside their process, start processes like it, or give it to another program."""
MODES = {"<": os.O_RDONLY, ">": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, ">>": os.O_WRONLY | os.O_CREAT | os.O_APPEND}


class Call(NamedTuple):
    """What a line says: variables for it alone, words after `ctxkit`, and (descriptor, how, file) of redirections."""

    given: Mapping[str, str]
    words: Sequence[str]
    into: Sequence[tuple[int, str, str]]


def call(line: str) -> Call | None:
    """The call that a line is; None for a line that only a shell understands."""
    found = LINE.fullmatch(line)
    if found is None:
        return None
    words = shlex.split(found["words"])[1:]
    if ELSEWHERE & {*words}:
        return None
    given = dict(one.split("=", 1) for one in shlex.split(found["given"]))
    into = [
        (2, "", "") if one["both"] else (2 if one["fd"] else one["how"] != "<", one["how"], shlex.split(one["file"])[0])
        for one in INTO.finditer(found["into"])
    ]
    return Call(given, words, into)


def run(made: Call, folder: str, env: Mapping[str, str], umask: int, step: int) -> tuple[bytes, int]:
    """What a terminal shows of the call (both streams, as they come), and its exit status."""
    with tempfile.TemporaryFile() as shown, _here(folder, {**env, **made.given}, umask), _streams(shown.fileno(), made):
        with _clock(step, made.words), _signals(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "execv", _refused)
            patch.setattr(os, "fsync", lambda fd: None)  # a disk takes a third of the time of all pages
            patch.setattr(sys, "argv", ["ctxkit", *made.words])
            status_command._run.cache_clear()  # a program's output is kept for seconds
            code = app.run(made.words)
            sys.stdout.flush()
        shown.seek(0)
        return shown.read(), code & 255


def _refused(*_: Any) -> NoReturn:
    raise AssertionError("this process is not to be given away: see ELSEWHERE")


@contextmanager
def _here(folder: str, env: Mapping[str, str], umask: int) -> Iterator[None]:
    """The folder, the variables and the umask; afterwards those of before, and no module of the folder."""
    before, place, path, known = dict(os.environ), os.getcwd(), [*sys.path], {*sys.modules}
    os.chdir(folder)
    mask = os.umask(umask)
    _set(env)
    try:
        yield
    finally:
        _set(before)
        os.umask(mask)
        os.chdir(place)
        sys.path[:] = path
        for name in {*sys.modules} - known:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                del sys.modules[name]


def _set(env: Mapping[str, str]) -> None:
    zone = os.environ.get("TZ")
    os.environ.clear()
    os.environ.update(env)
    if os.environ.get("TZ") != zone:
        time.tzset()


@contextmanager
def _streams(shown: int, made: Call) -> Iterator[None]:
    """Descriptors and streams as the shell makes them: nothing to read, and both outputs into `shown`; then files."""
    kept = [os.dup(fd) for fd in range(3)]
    before = sys.stdin, sys.stdout, sys.stderr
    empty, writer = os.pipe()
    os.close(writer)
    try:
        for fd, source in enumerate((empty, shown, shown)):
            os.dup2(source, fd)
        for fd, how, name in made.into:
            source = os.open(name, MODES[how], 0o666) if how else 1
            os.dup2(source, fd)
            if how:
                os.close(source)
        sys.stdin, sys.stdout, sys.stderr = _stream(0), _stream(1), _stream(2)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = before
        for fd, old in enumerate(kept):
            os.dup2(old, fd)
            os.close(old)
        os.close(empty)


def _stream(fd: int) -> TextIO:
    """A standard stream as the interpreter makes it in a locale of UTF-8."""
    errors = "backslashreplace" if fd == 2 else "surrogateescape"
    return open(fd, "w" if fd else "r", encoding="utf-8", errors=errors, closefd=False)


@contextmanager
def _clock(step: int, words: Sequence[str]) -> Iterator[None]:
    """BASE plus a minute a command, and ids that follow from the command line: as in the fork of `prefork.py`."""
    now = {"id": hashlib.sha256(repr((step, [*words])).encode()).hexdigest()}
    drawn = eval(f"lambda size: {prefork.DRAWN}", {"now": now})  # ours
    with pytest.MonkeyPatch.context() as patch:
        for function in _CLOCKED:
            patch.setattr(function, "__kwdefaults__", _with(function.__kwdefaults__))
            patch.setattr(function, "__defaults__", _with(function.__defaults__))
        patch.setattr(time, "time", lambda: prefork.BASE + 60.0 * step)
        patch.setattr(os, "urandom", drawn)
        patch.setattr(random, "_urandom", drawn)
        yield


_REAL = time.time


def _with(defaults: Any) -> Any:
    """Defaults in which the clock is the one of now, not the one of when the module was imported."""
    if isinstance(defaults, dict):
        return {name: _now if value is _REAL else value for name, value in defaults.items()}
    return None if defaults is None else tuple(_now if value is _REAL else value for value in defaults)


def _now() -> float:
    return time.time()


def _functions(module: types.ModuleType) -> Iterator[Callable[..., Any]]:
    for owner in (module, *(kind for kind in vars(module).values() if isinstance(kind, type))):
        for value in vars(owner).values():
            function = getattr(value, "__func__", value)
            held = (
                *(getattr(function, "__kwdefaults__", None) or {}).values(),
                *(getattr(function, "__defaults__", None) or ()),
            )
            if isinstance(function, types.FunctionType) and any(one is _REAL for one in held):
                yield function


_CLOCKED = [one for module in (context_reference, memory, opening) for one in _functions(module)]
"""The functions that took the clock for a default when they were imported."""


@contextmanager
def _signals() -> Iterator[None]:
    """The handlers as a program has them, and afterwards those of before."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT, signal.SIGVTALRM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


for _command in COMMANDS.values():  # before a clock is set: what they import may take it for a default
    _command.load()
