"""Installing the agents from npm into a cache folder: the recorded version, or the newest there is.

npm is called the ordinary way, so registry, proxy and certificates are those of its own configuration. No script of any
package is run: the programs are used as they are packed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.resume.agents import Agent


@dataclass
class Installed:
    """An agent that is there: the version that was got, and its folder."""

    agent: Agent
    version: str
    place: Path


class CannotInstallError(Exception):
    """Why an agent is not there."""


def cache() -> Path:
    """Where agents stay between runs: hundreds of megabytes."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ctxkit-resume"


def install(agent: Agent, folder: Path, version: str = "") -> Installed:
    """The agent in `folder`, from npm where it is not there yet; `version`: "" for the recorded one.

    A package whose dependencies the registry does not have is taken as it is packed: programs are bundled.
    Raises CannotInstallError.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstallError("npm is not installed")
    wanted = version or agent.version
    place = folder / f"{agent.name}-{wanted}"
    if found := _found(agent, place):
        return found
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    also = [f"{name}@{number}" for name, number in agent.also]
    said = _npm(npm, "install", place, f"{agent.package}@{wanted}", *also)
    if found := _found(agent, place):
        return found
    if also:  # first: an installation takes out what it does not know
        _npm(npm, "install", place, *also)
    _packed(npm, agent, wanted, place)
    if found := _found(agent, place):
        return found
    raise CannotInstallError((said or "its program is not in the package").splitlines()[0])


def _npm(npm: str, verb: str, place: Path, *packages: str) -> str:
    """What npm complains of."""
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run([npm, verb, *flags, *packages], cwd=place, capture_output=True, text=True, check=False)
    return done.stderr.strip()


def _packed(npm: str, agent: Agent, version: str, place: Path) -> None:
    """Put the package where npm would have installed it, without what it depends on."""
    _npm(npm, "pack", place, f"{agent.package}@{version}")
    target = place / "node_modules" / agent.package
    for archive in place.glob("*.tgz"):
        with tarfile.open(archive) as packed:
            packed.extractall(place / "unpacked", filter="data")
        archive.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        (place / "unpacked/package").rename(target)


def _found(agent: Agent, place: Path) -> Installed | None:
    package = place / "node_modules" / agent.package / "package.json"
    if not package.exists() or not list(place.glob(f"node_modules/{agent.program}")):
        return None
    return Installed(agent, json.loads(package.read_text(encoding="utf-8"))["version"], place)
