"""A folder with the guide's logs and a `ctxkit` whose clock and ids are fixed: what the docs show is run here.

The command on PATH is this interpreter's ctxkit (`prefork.py`), with a clock that goes on a minute a command, and ids
that follow from the command line. So ops, their sums and all, are the same in every run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ctxkit.export.agents import AGENTS
from ctxkit.formats.session_folders import slug
from tests.docs import prefork
from tests.docs.pages import ROOT

GUIDE = ROOT / "fixtures/guide"
ELSEWHERE = "/home/you/logs"
"""What is shown for the working folder, where a message has its path."""
PYTHON = f"""#!/bin/sh
PYTHONPATH={str(ROOT)!r} exec {sys.executable!r} "$@"
"""
"""The interpreter that has ctxkit."""

STARTED = """#!/bin/sh
echo "here ${0##*/} goes on with session $2"
"""
"""Stands for an agent."""

END_OF_OUTPUT = "\x1e"


def make(folder: Path) -> Path:
    """An empty working folder with the logs of the guide, beside a home and the command."""
    work = folder / "work"
    for path in (work, folder / "bin", folder / "home"):
        path.mkdir(parents=True)
    for log in GUIDE.glob("*.jsonl"):
        shutil.copyfile(log, work / log.name)
    agents = [(agent.program, STARTED) for agent in AGENTS.values()]
    for program, text in (("ctxkit", prefork.program()), ("python", PYTHON), ("python3", PYTHON), *agents):
        path = folder / "bin" / program
        path.write_text(text)
        path.chmod(0o755)
    return work


def run(work: Path, commands: Sequence[str], *, first: int = 0) -> list[tuple[str, int]]:
    """What a terminal shows of each command (both streams, as they come), and its exit status; all in one shell."""
    folder = work.parent
    env = {
        "PATH": f"{folder / 'bin'}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "TZ": "UTC",
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
        "EDITOR": "sed -i '$s/$/./'",
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],  # counts of tokens, which take a second a page else
    }
    script = []
    for step, command in enumerate(commands, start=first):
        script.append(f"export DOCS_STEP={step}\n(exit $status)\n{command}")
        script.append(f"status=$?\nprintf '{END_OF_OUTPUT}%s{END_OF_OUTPUT}' $status")
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile"],
        input=("status=0\n" + "\n".join(script) + "\n").encode(),
        cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
    )  # fmt: skip
    shown = ran.stdout.decode("utf-8")
    for real, said in ((str(work), ELSEWHERE), (str(folder / "home"), "/home/you"), (slug(str(work)), slug(ELSEWHERE))):
        shown = shown.replace(real, said)
    pieces = shown.split(END_OF_OUTPUT)
    assert len(pieces) == 2 * len(commands) + 1, pieces[-1]
    return [(pieces[2 * i], int(pieces[2 * i + 1])) for i in range(len(commands))]
