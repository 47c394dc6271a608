"""Installing the agents from npm into a cache folder: the recorded version, or the newest there is.

npm is called the ordinary way, so registry, proxy and certificates are those of its own configuration. No script of any
package is run: the programs are used as they are packed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
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


def install(agent: Agent, folder: Path) -> Installed:
    """The agent in `folder`, from npm where it is not there yet. Raises CannotInstallError."""
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstallError("npm is not installed")
    said = ""
    for wanted in (agent.version, "latest"):
        place = folder / f"{agent.name}-{wanted}"
        if found := _found(agent, place):
            return found
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        packages = [f"{agent.package}@{wanted}", *(f"{name}@{version}" for name, version in agent.also)]
        flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(
            [npm, "install", *flags, *packages], cwd=place, capture_output=True, text=True, check=False
        )
        if found := _found(agent, place):
            return found
        said = done.stderr.strip() or "its program is not in the package"
    raise CannotInstallError(said.splitlines()[0])


def _found(agent: Agent, place: Path) -> Installed | None:
    package = place / "node_modules" / agent.package / "package.json"
    if not package.exists() or not list(place.glob(f"node_modules/{agent.program}")):
        return None
    return Installed(agent, json.loads(package.read_text(encoding="utf-8"))["version"], place)
