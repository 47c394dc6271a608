"""What `fleet ingest` and `fleet map` were told about where to run: on this machine, or by Ray and how."""

from __future__ import annotations

import re

from ctxkit.cli.options import FleetEngine, ForCluster
from ctxkit.errors import Usage
from ctxkit.fleet.engines.ray import RETRIES, RayResources

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def resources(asked: ForCluster) -> RayResources | None:
    """What each task of Ray may use; None for this machine. Raises Usage."""
    if asked.engine is not FleetEngine.RAY:
        for name in ("task_cpus", "task_memory", "retries"):
            if getattr(asked, name) is not None:
                raise Usage(f"--{name.replace('_', '-')} is for --engine ray", "leave it out")
        return None
    cpus = 1.0 if asked.task_cpus is None else asked.task_cpus
    if cpus <= 0 or (cpus > 1 and cpus != int(cpus)):
        raise Usage(f"--task-cpus {cpus:g}: a part of one, or a whole number", "0.5, or 2")
    memory = 0 if asked.task_memory is None else _bytes(asked.task_memory)
    return RayResources(cpus, memory, RETRIES if asked.retries is None else asked.retries)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6})\s*([kmg]?)b?", text.strip().lower(), re.ASCII)
    if found is None or not int(found[1]):
        raise Usage(f"--task-memory {text}: not a size", "500MB, or 2GB")
    return int(found[1]) * _SIZES[found[2]]
