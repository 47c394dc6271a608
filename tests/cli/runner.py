"""Runs the command line in this process, or as a real one; and small logs to run it on."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.cli import app
from tests.prefork import Started, client, same_interpreter

ROOT = Path(__file__).resolve().parents[2]
CODE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from ctxkit.cli.app import main; main()"
PYTHON = (sys.executable, "-c", CODE)
"""The command as a process: this interpreter, this source, no installed script needed."""


FIGURES = re.compile(
    r"((whole request: |about )?[\d,]+ → (about )?[\d,]+ tokens( \((<1|\d+) % of [\d,]+\))?|(<1|\d+) % of [\d,]+"
    r"|tokens: ctxkit status .*)\n"
)
"""The line that says what a change did to the context."""


def without_figures(reports: str) -> str:
    """Reports without the lines that say what a change did to the context."""
    return "".join(line for line in reports.splitlines(keepends=True) if not FIGURES.fullmatch(line))


class Ran(NamedTuple):
    """What a command left: its exit status, the bytes of its result, the words of its reports."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The result as text."""
        return self.out.decode("utf-8")

    @property
    def said(self) -> str:
        """The reports without the line that says what a change did to the context."""
        return without_figures(self.err)

    @property
    def values(self) -> list[Any]:
        """The result as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class _Stream(io.TextIOWrapper):
    """A standard stream that says whether it is a terminal."""

    terminal = False

    def isatty(self) -> bool:
        return self.terminal


def ctxkit(*args: str | Path, stdin: bytes | None = b"", terminal: bool = False, screen: bool = False) -> Ran:
    """Run `ctxkit ARGS` in this process. `stdin` None: closed; `terminal`: stdin and stderr say they are terminals.

    `screen`: standard output too.
    """
    out, err = io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr
    source = None if stdin is None else _Stream(io.BytesIO(stdin), encoding="utf-8")
    result, reports = _Stream(out, encoding="utf-8"), _Stream(err, encoding="utf-8")
    if source is not None:
        source.terminal = terminal
    reports.terminal = terminal
    result.terminal = screen
    sys.stdin, sys.stdout, sys.stderr = source, result, reports
    try:
        code = app.run([str(arg) for arg in args])
        result.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in (result, reports):
            stream.detach()  # else what was written goes with the stream
    return Ran(code, out.getvalue(), err.getvalue().decode("utf-8"))


def good(*args: str | Path, stdin: bytes | None = b"") -> Ran:
    """The same, for what must succeed."""
    ran = ctxkit(*args, stdin=stdin)
    assert ran.code == 0, ran.err
    return ran


def process(
    *args: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, before: Sequence[str] = ()
) -> Ran:
    """Run it as a process of its own; `before`: words that go before the command (setpriv ...).

    Without them it is a fork of a process that has imported everything (`prefork.py`), in a fifth of the time.
    """
    whole = {**os.environ, **(env or {})}
    if not before and same_interpreter(whole):
        return forked(*args, stdin=stdin, env=whole)
    ran = subprocess.run(
        [*before, *PYTHON, *map(str, args)],
        input=stdin, capture_output=True, env=whole, timeout=60, check=False,
    )  # fmt: skip
    return Ran(ran.returncode, ran.stdout, ran.stderr.decode("utf-8", "backslashreplace"))


def forked(*args: str | Path, stdin: bytes, env: Mapping[str, str]) -> Ran:
    """Run it as such a fork with this whole environment: with DOCS_STEP in it, clock and random bytes are given."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source, sink = os.pipe()
        run = Started(*map(str, args), streams=(source, out.fileno(), err.fileno()), env=env)
        os.close(source)
        with suppress(BrokenPipeError), open(sink, "wb") as pipe:
            pipe.write(stdin)
        try:
            code = run.wait(60)
        finally:
            run.kill()
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read(), err.read().decode("utf-8", "backslashreplace"))


NO_FORK = r"&-|<\(|PYTHON|LC_|LANG"
"""What stands in a line with other descriptors than the three, or variables for the interpreter."""


def shell(script: str, folder: Path) -> Ran:
    """A line of bash in `folder`, in which `ctxkit` is the command: a fork, too, but for what a fork does not get."""
    forks = same_interpreter(os.environ) and not re.search(NO_FORK, script)
    words = [sys.executable, "-IS", str(client())] if forks else [*PYTHON]
    text = f'ctxkit() {{ {shlex.join(words)} "$@"; }}\n{script}\n'
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", text], cwd=folder, capture_output=True, timeout=60, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr.decode("utf-8", "backslashreplace"))


def message(role: str, content: Any, minute: int | None = None, **more: Any) -> dict[str, Any]:
    """A message; `minute` after ten o'clock on the first of February."""
    stamp = {} if minute is None else {"ts": f"2026-02-01T{10 + minute // 60:02}:{minute % 60:02}:00Z"}
    return {"role": role, "content": content, **stamp, **more}


def lines(*records: dict[str, Any]) -> bytes:
    """Records as JSONL."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def call(name: str, key: str, **arguments: Any) -> dict[str, Any]:
    """A tool call."""
    return {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


SMALL = lines(
    message("system", "be brief", 0),
    message("user", "first question", 1),
    message("assistant", "looking", 2, tool_calls=[call("Read", "c1", path="a.py")]),
    message("tool", "print(1)", 3, tool_call_id="c1"),
    message("assistant", "it prints", 4),
    message("user", "second question", 5),
    message("assistant", "running", 6, tool_calls=[call("Bash", "c2", command="ls")]),
    message("tool", "a.py", 7, tool_call_id="c2"),
    message("assistant", "one file", 8),
    message("user", "third question", 9),
    message("assistant", "last answer", 10),
)
"""Eleven messages: system, two exchanges with a tool step, one without."""

FOREIGN = lines(
    {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "timestamp": "2026-02-01T10:00:00Z",
     "message": {"role": "user", "content": "hello"}},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "timestamp": "2026-02-01T10:01:00Z",
     "message": {"id": "m1", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "hi"}]}},
    {"type": "user", "uuid": "u3", "parentUuid": "u2", "sessionId": "s", "timestamp": "2026-02-01T10:02:00Z",
     "message": {"role": "user", "content": "more"}},
)  # fmt: skip
"""A Claude Code session of three messages."""


def small(folder: Path, *, marks: Sequence[str] = (), name: str = "chat.jsonl") -> Path:
    """The small log as a file, with marks behind it."""
    path = folder / name
    path.write_bytes(SMALL)
    for label in marks:
        good("mark", path, label)
    return path


def numbers(ran: Ran) -> list[int]:
    """The message numbers that `show --json` printed."""
    return [value["n"] for value in ran.values]


def shown(path: Path, *args: str) -> list[int]:
    """The numbers in the context of a log."""
    return numbers(good("show", path, "--json", *args))


def ops(path: Path) -> list[dict[str, Any]]:
    """The ops of a log, as they were written."""
    return [value for line in path.read_bytes().splitlines() if "ctxkit" in (value := json.loads(line))]
