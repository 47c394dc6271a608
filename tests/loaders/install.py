"""Installing the programs that keep chat messages from PyPI, each in an environment of its own below a cache folder.

pip is called the ordinary way, so index, proxy and certificates are those of its own configuration.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Packed(NamedTuple):
    """A program: the name of its probe, its package and version, and the oldest Python that it runs on."""

    probe: str
    program: str
    package: str
    version: str
    python: tuple[int, int]


PACKED = (
    Packed("run_vibe", "Mistral Vibe", "mistral-vibe", "3.0.3", (3, 12)),
    Packed("run_kimi", "Kimi CLI", "kimi-cli", "1.52.0", (3, 12)),
    Packed("run_gptme", "gptme", "gptme", "0.35.1", (3, 11)),
    Packed("run_nanobot", "nanobot", "nanobot-ai", "0.3.5", (3, 11)),
)


class NoPythonError(Exception):
    """There is no Python that is new enough."""


class NotInstalledError(Exception):
    """Why a program is not there."""


def cache() -> Path:
    """Where programs stay between runs: hundreds of megabytes."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ctxkit-loaders"


def pythons() -> Iterator[str]:
    """Where a Python may be: this one, those on PATH, those of pyenv."""
    yield sys.executable
    for folder in (*os.get_exec_path(), *sorted(map(str, (Path.home() / ".pyenv/versions").glob("*/bin")))):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if re.fullmatch(r"python3\.\d+", name):
                yield os.path.join(folder, name)


def python(oldest: tuple[int, int]) -> str:
    """The first Python that works, can make environments, and is as new as `oldest`. Raises NoPythonError."""
    asked = "import ensurepip, sys, venv; print(sys.version_info >= tuple(map(int, sys.argv[1:])))"
    for one in pythons():
        words = [one, "-c", asked, *map(str, oldest)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        if ran.returncode == 0 and ran.stdout.strip() == "True":
            return one
    raise NoPythonError("no Python {}.{}".format(*oldest))


def install(one: Packed, folder: Path) -> Path:
    """The Python of the program's environment. Raises NoPythonError, NotInstalledError.

    Programs name one version of each package that they need. Where an index has only a later build of that
    (`2026.1.4.post1`), it is taken.
    """
    place = folder / f"{one.package}-{one.version}"
    found = place / "bin/python"
    if (place / "installed").exists():
        return found
    subprocess.run([python(one.python), "-m", "venv", "--clear", place], check=True)
    wanted = f"{one.package}=={one.version}"
    if said := _pip(found, wanted):
        if _pip(found, "--no-deps", wanted):
            raise NotInstalledError(said)
        asked = "import importlib.metadata as m, json, sys; print(json.dumps(m.requires(sys.argv[1])))"
        needs = json.loads(subprocess.check_output([found, "-c", asked, one.package], text=True))
        builds = [re.sub(r"==([\w.]+)(?= *(;|$))", r"==\1.*", need) for need in needs if "extra ==" not in need]
        (place / "needs.txt").write_text("\n".join(builds))
        if said := _pip(found, "-r", str(place / "needs.txt")):
            raise NotInstalledError(said)
    (place / "installed").touch()
    return found


def _pip(python: Path, *words: str) -> str:
    """What pip complains of, where it fails."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
    return "" if ran.returncode == 0 else (errors or ran.stderr.splitlines() or ["pip failed"])[-1][:300]
