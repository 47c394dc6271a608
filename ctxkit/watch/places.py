"""Which logs are watched: named ones, those of a project, or all that agents wrote lately.

Pipeline: `cli/commands/watch.py` makes a `Places`; `watch/watcher.py` asks it for the logs and their folders.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from ctxkit.search.project_sessions import all_files, project, project_sessions, session_homes
from ctxkit.store.sidecar import Sidecar

Scope = Literal["named", "here", "all"]
RECENT = 24 * 3600.0
"""Sessions that were not written for so many seconds are not followed, until they are written again."""


class Places:
    """`named`: logs by their paths; `here`: the agents' sessions of this folder's project; `all`: all of them."""

    def __init__(self, scope: Scope, logs: Sequence[Path], env: Mapping[str, str], recent: float = RECENT) -> None:
        self.scope = scope
        self._logs = list(logs)
        self._env = env
        self._recent = recent

    def logs(self) -> list[Path]:
        """The logs to follow now: named ones in the given order, others by their newest write, the newest first."""
        if self.scope == "named":
            return self._logs
        after = time.time_ns() - int(self._recent * 1e9)
        if self.scope == "all":
            files = sorted(all_files(self._env, archived=False), key=lambda one: -one.modified)
            return [Path(one.path) for one in files if one.modified >= after]
        found = []
        for one in project_sessions(self._env, project(env=self._env), archived=False):
            if one.modified < after:
                break
            found.append(Path(one.path))
        return found

    def folders(self) -> tuple[list[str], bool]:
        """The existing folders in which logs may change, and whether the folders below them count too."""
        if self.scope != "named":
            homes = session_homes(self._env, archived=False)
            return sorted({str(home.place) for home in homes if home.place.is_dir()}), True
        found = {os.path.dirname(os.path.abspath(log)) for log in self._logs}
        found |= {os.path.dirname(os.path.realpath(log)) for log in self._logs}
        found |= {str(beside) for log in self._logs if (beside := Sidecar(log, None).folder).is_dir()}
        return sorted(folder for folder in found if os.path.isdir(folder)), False
