"""`just continue`: sessions written by `ctxkit resume` into a home, gone on with by the line that it prints.

Each agent's sessions after each of a few edits, in a folder that stayed, that is named by --cwd, or that is mapped by
--map; what the agent then sends is compared with ctxkit's context. As `just resume`: npm, Linux, no test of the suite.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ctxkit.errors import CtxkitError, NothingChanges, NothingMatched
from ctxkit.export.agents import AGENTS as RESUMED
from ctxkit.export.folders import folder_of
from tests.resume.__main__ import blocks_of_request, explained
from tests.resume.agents import AGENTS, PING
from tests.resume.compare import Compared, compared
from tests.resume.contexts import context_of
from tests.resume.edits import EDITS
from tests.resume.exports import sessions
from tests.resume.install import Installed, cache, install
from tests.resume.resuming import NotResumedError, answered

ROOT = Path(__file__).resolve().parents[2]
TRIED = ("nothing", "forget", "compact", "edit", "trim")
WAYS = ("cwd", "map", "long")
"""The folder is named by --cwd, mapped by --map, or named and longer than Claude Code's names of folders."""
LONG = "a-rather-long-name-of-a-folder.with_odd characters/" * 5 + "work"


def main() -> int:
    """0: all equal or explained; 1: something differs."""
    parser = argparse.ArgumentParser(prog="just continue", description=__doc__)
    parser.add_argument("--agent", action="append", choices=RESUMED, help="only this one; can be repeated")
    parser.add_argument("--file", default="*", metavar="GLOB", help="only sessions with such a name")
    parser.add_argument("--sample", type=int, metavar="N", help="so many sessions of each agent, by chance")
    parser.add_argument("--seed", type=int, default=18, help="of that chance (default %(default)s)")
    parser.add_argument("--cache", type=Path, default=cache(), help="where agents are installed (default %(default)s)")
    asked = parser.parse_args()
    told: Counter[tuple[str, str]] = Counter()
    for name in RESUMED if asked.agent is None else asked.agent:
        agent = AGENTS[name]
        installed = install(agent, asked.cache, agent.versions[-1])
        found = sessions(name, asked.file)
        if asked.sample is not None and len(found) > asked.sample:
            found = random.Random(asked.seed).sample(found, asked.sample)
        for at, path in enumerate(found):
            for step, what in enumerate(TRIED):
                way = WAYS[(at + step) % len(WAYS)]
                judged = judge(installed, path, what, way)
                if judged is None:
                    continue
                judged = explained(name, path, what if what != "nothing" else "", judged)
                verdict = judged.first or ("equal" if judged.blocks else next(iter(judged.ruled), "nothing sent"))
                told[
                    name, "equal" if not judged.first and judged.blocks else "differs" if judged.first else verdict
                ] += 1
                told[name, "blocks"] += judged.blocks
                print(f"{name:12} {path.stem:44} {what:8} {way:4} {judged.blocks:>5} {verdict}", flush=True)
    for (name, verdict), count in sorted(told.items()):
        print(f"{name}: {count} {verdict}")
    return 1 if any(verdict == "differs" for _, verdict in told) else 0


def judge(installed: Installed, path: Path, what: str, way: str) -> Compared | None:
    """One session: written after an edit, gone on with, compared; None where there is nothing to edit."""
    agent = installed.agent
    with tempfile.TemporaryDirectory(prefix="ctxkit-continue-") as name:
        home = Path(name).resolve() / "home"
        settled = agent.settle(home, path.read_bytes(), installed.place)
        copy = home / "elsewhere" / path.name
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
        try:
            log = EDITS[what](copy)
        except (NothingMatched, NothingChanges):
            return None
        except CtxkitError as why:
            return Compared(0, f"ctxkit refused: {why}")
        if log is None:
            return None
        before = copy.read_bytes()
        work = home / (LONG if way == "long" and agent.name != "pi" else "work")  # a long name is pi's own limit
        work.mkdir(parents=True, exist_ok=True)
        there = folder_of(log)
        moved = ["--map", f"{there}={work}"] if way == "map" and there else ["--cwd", str(work)]
        run = subprocess.run(
            [sys.executable, "-m", "ctxkit", "resume", str(copy), *moved],
            env=os.environ | settled.env | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            return Compared(0, "" if "nothing to send" in run.stderr else f"resume: {run.stderr.strip()[-300:]}")
        if copy.read_bytes() != before:
            return Compared(0, "the source was written")
        settled.command = started(installed, run.stdout.strip(), work)
        settled.cwd = work
        try:
            body = answered(settled)
        except NotResumedError as why:
            return Compared(0, f"not resumed: {why}")
        return compared(blocks_of_request(installed, body), context_of(agent.name, log, "", installed.version))


def started(installed: Installed, line: str, work: Path) -> list[str]:
    """The words of the line that was printed, without a screen, with a prompt, and with the program's own place."""
    words = shlex.split(line)
    assert words[:3] == ["cd", str(work), "&&"], line
    [program, *rest] = words[3:]
    assert program == RESUMED[installed.agent.name].program, line
    place = installed.place
    programs = [str(next(iter(sorted(place.glob(f"node_modules/{installed.agent.program}")))))]
    if installed.agent.also:
        programs.insert(0, str(place / f"node_modules/{installed.agent.also[0][0]}/bin/node"))
    match installed.agent.name:
        case "codex":
            return [*programs, "exec", "--skip-git-repo-check", *rest, PING]
        case "pi":
            return [*programs, "--offline", *rest, "-p", PING]
        case "gemini-cli":
            return [*programs, "--skip-trust", "-m", "gemini-2.5-pro", *rest, "-p", PING]
    return [*programs, *rest, "--output-format", "json", "-p", PING]


if __name__ == "__main__":
    sys.exit(main())
