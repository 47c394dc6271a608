"""The programs that keep chat messages, as judges: what their own loaders say of a session before and after ctxkit.

`python -m tests.loaders` installs each (`tests/loaders/install.py`), lets it write a session with its own code, and
asks its own loader which sessions there are and what is in this one: before anything, and after each command of ctxkit.
Every answer must be the first one, and no file but the sidecar may have changed. Then an op is put into the file
itself, as an older ctxkit did: what the loader says of that shows that it would be noticed. Prints a table; `--only
NAME` asks one. `--agents DIR` also asks the agents, which are installed there, for their lists of sessions.

Exit status: 1 if a program's loader says something else, or a program cannot be installed; a program for which there is
no Python is named, and no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.cli.runner import ctxkit
from tests.damage.test_commands import CALLS
from tests.living import dialogue
from tests.loaders.install import PACKED, NoPythonError, NotInstalledError, Packed, cache, install
from tests.loaders.listing import listed
from tests.resume.install import CannotInstallError
from tests.test_living_programs import NO_LOG, files

PROBES = Path(__file__).resolve().parent / "probes"
OP = '{"ctxkit":"mark","v":1,"id":"df5113167c0b","at":{"messages":1,"rows":1},"label":"x"}\n'


class Loader:
    """A running probe of a program, which has a home of its own."""

    def __init__(self, python: Path, probe: str, home: Path) -> None:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [python, str(PROBES / f"{probe}.py")]
        self._ran = subprocess.Popen(
            command, cwd=home, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ask(self, *words: Any) -> dict[str, Any]:
        """The answer to a question. Raises RuntimeError if the probe has ended."""
        assert self._ran.stdin is not None and self._ran.stdout is not None
        self._ran.stdin.write(json.dumps(words) + "\n")
        self._ran.stdin.flush()
        line = self._ran.stdout.readline()
        if not line:
            raise RuntimeError(self._ran.communicate()[1][-500:])
        return dict(json.loads(line))

    def end(self) -> None:
        """The probe ends with its input."""
        self._ran.communicate(timeout=60)


@contextmanager
def _home() -> Iterator[Path]:
    """An empty home, which is ctxkit's too."""
    with tempfile.TemporaryDirectory() as folder:
        left = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "CTXKIT_"))}
        with mock.patch.dict(os.environ, left | {"HOME": folder}, clear=True):
            yield Path(folder)


def judged(one: Packed, python: Path) -> Iterator[tuple[str, str]]:
    """Yields moment and verdict of a program's loader: `before`, each command, `an op in it`."""
    with _home() as home:
        loader = Loader(python, one.probe, home)
        written = loader.ask("write", dialogue("" if one.program == "gptme" else "tool"))
        if "log" not in written:
            yield "before", written["failed"]
            return
        log = Path(written["log"])
        first = loader.ask("read")
        held = first.get("read")
        yield "before", f"{len(held[0])} session, {len(held[1])} messages" if held else first["failed"]
        before = log.read_bytes()
        around = {name for name in files(home) if ".lock" not in name}
        for command, (options, words) in CALLS.items():
            if command in NO_LOG:
                continue
            ran = ctxkit(command, *options, "--", log, *words)
            said = loader.ask("read")
            wrong = [] if ran.code in (0, 1, 65, 73) else [f"exit {ran.code}"]
            wrong += [] if log.read_bytes() == before else ["its file changed"]
            wrong += [f"new: {name}" for name in files(home) if name not in around and ".lock" not in name]
            wrong += [] if said == first else [said.get("failed", "it reads another session")]
            yield command, ", ".join(wrong)
        ops = log.parent / f"{log.name}.ctxkit" / "ops.jsonl"
        yield "ops beside it", "" if ops.exists() and ops.read_bytes().count(b"\n") > 7 else "too few"
        log.write_bytes(before + OP.encode())
        said = loader.ask("read")
        yield "an op in it", "reads the same" if said == first else said.get("failed", "reads another session")
        loader.end()


def row(one: Packed, python: Path) -> tuple[str, bool]:
    """The row of a program in the table, and whether all is well."""
    found = dict(judged(one, python))
    before, last = found.pop("before"), found.pop("an op in it", "")
    wrong = {moment: words for moment, words in found.items() if words}
    after = f"the same after each of {len(found) - 1} commands" if not wrong and found else ""
    after += "; ".join(f"{moment}: {words}" for moment, words in wrong.items())
    return f"{before:24} {after}; an op in its file: {last}", bool(found) and not wrong


def main() -> int:
    """The table, and the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.loaders")
    parser.add_argument("--cache", type=Path, default=cache(), help="where the programs stay between runs")
    parser.add_argument("--only", help="one program, by its package")
    parser.add_argument("--agents", type=Path, help="where the agents stay; they are asked, too")
    asked = parser.parse_args()
    failed = False
    for one in PACKED:
        if asked.only not in (None, one.package):
            continue
        try:
            words, good = row(one, install(one, asked.cache))
        except NoPythonError as why:
            words, good = f"not run: {why}", True
        except NotInstalledError as why:
            words, good = f"not installed: {why}", False
        print(f"{one.program:14} {one.version:8} {words}", flush=True)
        failed |= not good
    if asked.agents is not None:
        failed |= not agents(asked.agents)
    return int(failed)


def agents(folder: Path) -> bool:
    """Prints a row for each agent: whether it lists the same sessions with a sidecar beside one of them."""
    good = True
    try:
        with _home() as home:
            for name, version, before, after in listed(folder, home):
                is_same = bool(before) and before == after
                print(
                    f"{name:14} {version:8} {'the same list' if is_same else f'{before!r}, then {after!r}'}", flush=True
                )
                good &= is_same
    except CannotInstallError as why:
        print(f"agents: not installed: {why}")
        return False
    return good


if __name__ == "__main__":
    sys.exit(main())
