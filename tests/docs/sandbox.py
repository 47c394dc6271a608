"""A folder with the guide's logs and a `ctxkit` whose clock and ids are fixed: what the docs show is run here.

The folder is a project of four agents, too: each has a session of it in the home, the guide's own (`@claude`, `@codex`,
`@pi`, `@gemini`), Claude Code's the newest.

The command on PATH is this interpreter's ctxkit (`prefork.py`), with a clock that goes on a minute a command, and ids
that follow from the command line. So ops, their sums and all, are the same in every run.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ctxkit.export.agents import AGENTS
from ctxkit.formats.session_folders import pi_slug, slug
from tests import prefork
from tests.docs import inline_calls
from tests.docs.pages import ROOT

GUIDE = ROOT / "fixtures/guide"
ELSEWHERE = "/home/you/logs"
"""What is shown for the working folder, where a message has its path."""
PYTHON = f"""#!/bin/sh
PYTHONPATH={str(ROOT)!r} exec {sys.executable!r} "$@"
"""
"""The interpreter that has ctxkit."""

SESSIONS = {
    "claude-code": "5e551011-0000-4000-8000-000000000000", "codex": "019e5510-1100-7000-8000-000000000000",
    "pi": "019e5510-1111-7000-8000-000000000000", "gemini-cli": "6e311011-0000-4000-8000-000000000000",
}  # fmt: skip
"""Agent -> the id of its session of the working folder, the newest first."""

STARTED = """#!/bin/sh
echo "here ${0##*/} goes on with session $2"
"""
"""Stands for an agent."""

END_OF_OUTPUT = "\x1e"
HANGS = 300
"""Seconds after which a command never ends."""


@contextmanager
def short_folder() -> Iterator[Path]:
    """The name of a folder with as many letters as `/home/you`, so that sizes of files that name it are as shown."""
    folder = Path("/tmp").resolve() / secrets.token_hex(2)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make(folder: Path, *, by_shell: bool = False) -> Path:
    """A project in a home, `folder`, with the logs of the guide and a session of each agent; and the command.

    `by_shell`: its `python` is the interpreter itself, not the one that has started already.
    """
    work = _bare(folder, python=PYTHON if by_shell else prefork.program("python"))
    for place, raw, age in _sessions():
        path = folder / _moved(place, ELSEWHERE, str(work))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw.replace(ELSEWHERE.encode(), str(work).encode()))
        os.utime(path, (prefork.BASE - age, prefork.BASE - age))
    return work


def _bare(folder: Path, python: str = PYTHON) -> Path:
    """The same without sessions of agents."""
    work = folder / "logs"
    for path in (work, folder / ".local/bin"):
        path.mkdir(parents=True)
    for log in GUIDE.glob("*.jsonl"):
        shutil.copyfile(log, work / log.name)
    agents = [(agent.program, STARTED) for agent in AGENTS.values()]
    for program, text in (("ctxkit", prefork.program()), ("python", python), ("python3", python), *agents):
        path = folder / ".local/bin" / program
        path.write_text(text)
        path.chmod(0o755)
    return work


@cache
def _sessions() -> list[tuple[str, bytes, int]]:
    """The guide's session as each agent keeps it, in a project at ELSEWHERE: its place in the home, bytes, age."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        work = _bare(Path(name))
        home = work.parent
        for age, (agent, identity) in enumerate(SESSIONS.items()):
            before = {*home.rglob("*")}
            call = f"ctxkit resume session.jsonl --to {agent} --cwd . --id {identity} --force -q"
            [(said, status)] = run(work, [call])
            assert status == 0, said
            for path in sorted({*home.rglob("*")} - before):
                if path.is_file():
                    place = _moved(str(path.relative_to(home)), str(work), ELSEWHERE)
                    raw = path.read_bytes().replace(str(work).encode(), ELSEWHERE.encode())
                    found.append((place, raw, 600 + 7200 * age))
    return found


def _moved(text: str, old: str, new: str) -> str:
    """The names of a folder, and what agents make of them in names of their own, exchanged."""
    for named in (str, pi_slug, slug):  # what one of them makes stands in what the one before it makes
        text = text.replace(named(old), named(new))
    return text


def environment(work: Path, step: int = 0) -> dict[str, str]:
    """What a command is started with; `step`: the minutes of the clock."""
    home = work.parent
    return {
        "PATH": f"{home / '.local/bin'}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TZ": "UTC",
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
        "EDITOR": "sed -i '$s/$/./'",
        "DOCS_STEP": str(step),
        "XDG_CACHE_HOME": str(home / ".cache"),  # its own: a report says whether tokens were counted before
    }


def said(work: Path, shown: str) -> str:
    """What was printed, with the folders that are shown instead of the real ones."""
    return _moved(shown, str(work), ELSEWHERE).replace(str(work.parent), "/home/you")


def run(work: Path, commands: Sequence[str], *, first: int = 0, by_shell: bool = False) -> list[tuple[str, int]]:
    """What a terminal shows of each command (both streams, as they come), and its exit status; all in one shell.

    A line that is one call of ctxkit is run in this process (`inline_calls.py`); `by_shell`: no line is.
    """
    found = []
    with _Shell(work) as shell:
        status = 0
        for step, command in enumerate(commands, start=first):
            call = None if by_shell else inline_calls.call(command)
            if call is not None and shell.has_ctxkit():
                shown, status = inline_calls.run(
                    call, shell.env["PWD"], shell.env | {"DOCS_STEP": str(step)}, shell.umask, step
                )
            else:
                shown, status = shell.run(command, step, status)
            found.append((said(work, shown.decode("utf-8")), status))
    return found


class _Shell:
    """One bash for all lines, which is started for the first one that needs it."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._process: subprocess.Popen[bytes] | None = None
        self._changed = False
        self._ctxkit = str(work.parent / ".local/bin/ctxkit")
        self._found = self._ctxkit
        self.env = {**environment(work), "PWD": str(work)}
        self.umask = os.umask(0)
        os.umask(self.umask)

    def __enter__(self) -> _Shell:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def run(self, command: str, step: int, status: int) -> tuple[bytes, int]:
        """What it shows of a command, and the exit status; `status`: of the command before, `$?`."""
        self._changed = True
        before = f"(exit {status})" if status else "true"
        after = f"status=$?\nprintf '{END_OF_OUTPUT}%s{END_OF_OUTPUT}' $status"
        shown, code = self._done(f"export DOCS_STEP={step}\n{before}\n{command}\n{after}\n")
        return shown, int(code)

    def has_ctxkit(self) -> bool:
        """Whether `ctxkit` is the program of the sandbox, no function; after it, `env` and `umask` are those of now."""
        if self._changed:
            self._changed = False
            shown, _ = self._done(f"command -v ctxkit\numask\nenv -0\nprintf '{END_OF_OUTPUT}0{END_OF_OUTPUT}'\n")
            self._found, umask, variables = shown.decode().split("\n", 2)
            self.env = dict(one.split("=", 1) for one in variables.split("\0")[:-1])
            self.umask = int(umask, 8)
        return self._found == self._ctxkit

    def _done(self, script: str) -> tuple[bytes, bytes]:
        """What is written until the marks that `script` ends with, and what stands between the marks."""
        if self._process is None:
            self._process = subprocess.Popen(
                ["bash", "--norc", "--noprofile"], bufsize=0, cwd=self._work, env=environment(self._work),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        source, shown = self._process.stdin, self._process.stdout
        assert source is not None and shown is not None
        source.write(script.encode())
        found = b""
        ends = time.monotonic() + HANGS
        while len(pieces := found.split(END_OF_OUTPUT.encode())) < 3:
            assert select.select([shown], [], [], max(0, ends - time.monotonic()))[0], found
            piece = os.read(shown.fileno(), 65536)
            assert piece, found  # the shell is gone
            found += piece
        assert len(pieces) == 3 and not pieces[2], found
        return pieces[0], pieces[1]
