"""A watcher as a real process: its events, waited for as they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cli.runner import PYTHON
from tests.prefork import Started

HANGS = 60.0
"""Seconds after which an event that is waited for does not come any more."""

BRISK = "from ctxkit.watch import watcher; watcher.APART, watcher.ALLOWED, watcher.CALLED = 1, 1.0, 0.3"
"""What a watcher of the tests does before: full readings follow each other on a busy machine, too, where they are slow,
and a compaction that found an open call is tried again soon.
"""


class Watching:
    """`ctxkit watch --json ARGS`; `errors` is what it said on standard error so far. `before`: words of a program that
    starts it.
    """

    def __init__(self, *args: str | Path, json: bool = True, before: Sequence[str] = ()) -> None:
        words = ["watch", *(("--json",) if json else ()), *map(str, args)]
        self.run: Started | subprocess.Popen[bytes] = (
            subprocess.Popen([*before, *PYTHON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if before
            else Started(*words, first=BRISK)
        )
        self.events: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.errors = ""
        self._json = json
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._said)]
        for one in self._threads:
            one.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _read(self) -> None:
        for line in self._lines():
            with self._changed:
                self.lines.append(line.decode())
                if self._json:
                    self.events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _lines(self) -> Iterator[bytes]:
        assert self.run.stdout is not None
        with suppress(OSError, ValueError):  # a test may close it
            yield from self.run.stdout

    def _said(self) -> None:
        assert self.run.stderr is not None
        for line in self.run.stderr:
            with self._changed:
                self.errors += line.decode()
                self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> bool:
        """Wait until something holds; whether it came to that."""
        with self._changed:
            return self._changed.wait_for(holds, HANGS)

    def event(self, kind: str, after: int = 0, **fields: Any) -> dict[str, Any]:
        """The first event of that name, from place `after` on, that has these fields; it is waited for."""

        def found() -> dict[str, Any] | None:
            fitting = (one for one in self.events[after:] if one["event"] == kind)
            return next((one for one in fitting if all(one[key] == value for key, value in fields.items())), None)

        assert self.until(lambda: found() is not None), (kind, fields, self.events[-3:], self.errors)
        result = found()
        assert result is not None
        return result

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it; its exit status."""
        if self.run.poll() is None:
            self.run.send_signal(number)
        code = self.run.wait(HANGS)
        for one in self._threads:
            one.join(HANGS)
        for stream in (self.run.stdout, self.run.stderr):
            if stream is not None:
                stream.close()
        return code


def append(path: Path, *rows: dict[str, Any]) -> None:
    """Append records, as an agent does: a write each."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        for row in rows:
            os.write(fd, json.dumps(row).encode() + b"\n")
    finally:
        os.close(fd)


def user(text: str) -> dict[str, Any]:
    """A user's message of a native log."""
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    """An assistant's message of a native log."""
    return {"role": "assistant", "content": text}


def calling(key: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A message with a call of a native log."""
    call = {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def result(key: str, text: str) -> dict[str, Any]:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": key, "content": text}


def log_of(path: Path, *rows: dict[str, Any]) -> Path:
    """A new log with these records."""
    path.write_bytes(b"")
    append(path, *rows)
    return path


class Claude:
    """Rows of a session of Claude Code, each hanging on the one before."""

    def __init__(self, cwd: str = "/work") -> None:
        self.cwd, self.last, self.count = cwd, "", 0

    def _row(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        parent, self.last = self.last or None, f"u{self.count}"
        return {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": self.cwd, "sessionId": "s1",
            "version": "2.0.1", "type": kind, "uuid": self.last, "timestamp": f"2026-03-02T09:{self.count // 60:02}:"
            f"{self.count % 60:02}.000Z", "message": message,
        }  # fmt: skip

    def user(self, text: str) -> dict[str, Any]:
        return self._row("user", {"role": "user", "content": text})

    def says(self, text: str, used: int = 0) -> dict[str, Any]:
        return self._says([{"type": "text", "text": text}], used)

    def calls(self, key: str, name: str, used: int = 0, **given: Any) -> dict[str, Any]:
        return self._says([{"type": "tool_use", "id": key, "name": name, "input": given}], used)

    def result(self, key: str, text: str, *, failed: bool = False) -> dict[str, Any]:
        part = {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": failed}
        return self._row("user", {"role": "user", "content": [part]})

    def _says(self, parts: list[dict[str, Any]], used: int) -> dict[str, Any]:
        usage = {"input_tokens": used, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "output_tokens": 10}  # fmt: skip
        message = {"id": f"m{self.count}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                   "content": parts, "stop_reason": None, "usage": usage}  # fmt: skip
        return self._row("assistant", message)
