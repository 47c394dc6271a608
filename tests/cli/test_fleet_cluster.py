"""What a task of Ray may use, as it is typed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ctxkit.cli.fleet_cluster import resources
from ctxkit.cli.options import FleetEngine, ForCluster
from ctxkit.errors import Usage
from ctxkit.fleet.engines import ray as engine
from ctxkit.fleet.engines.ray import RayResources
from tests.cli.runner import SMALL, ctxkit


def asked(**given: object) -> ForCluster:
    """The options as they are given."""
    found = ForCluster()
    for name, value in given.items():
        setattr(found, name, value)
    return found


def test_here() -> None:
    """Nothing, and --engine local, are this machine; what is for Ray alone is refused there."""
    assert resources(asked()) is None
    assert resources(asked(engine=FleetEngine.LOCAL)) is None
    for name, value in (("retries", 0), ("task_cpus", 2.0), ("task_memory", "1GB")):
        with pytest.raises(Usage, match=f"--{name.replace('_', '-')} is for --engine ray"):
            resources(asked(**{name: value}))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, RayResources()),
        ({"task_cpus": 0.5, "task_memory": "500MB", "retries": 0}, RayResources(0.5, 500_000_000, 0)),
        ({"task_cpus": 2.0, "task_memory": "2g"}, RayResources(2.0, 2_000_000_000)),
    ],
)
def test_by_ray(given: dict[str, object], found: RayResources) -> None:
    """Processors, bytes, and how often a task is started again."""
    assert resources(asked(engine=FleetEngine.RAY, **given)) == found


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"task_cpus": 0.0}, "a part of one, or a whole number"),
        ({"task_cpus": 1.5}, "a part of one, or a whole number"),
        ({"task_memory": "0"}, "not a size"),
        ({"task_memory": "much"}, "not a size"),
    ],
)
def test_refused(given: dict[str, object], text: str) -> None:
    """What Ray would not take is an error that names the option."""
    with pytest.raises(Usage, match=text):
        resources(asked(engine=FleetEngine.RAY, **given))


@pytest.mark.parametrize(
    ("there", "code", "text"), [(False, 2, "--engine ray needs Ray"), (True, 74, "127.0.0.1:1: no Ray")]
)
def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool, code: int, text: str) -> None:
    """Without Ray, or where none answers, `ingest` makes no dataset."""
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    spec = importlib.util.find_spec("json") if there else None
    monkeypatch.setattr(engine, "find_spec", lambda name: spec)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    ran = ctxkit("fleet", "ingest", tmp_path / "a.jsonl", "-o", tmp_path / "dataset", "--engine", "ray")
    assert ran.code == code and text in ran.err
    assert not (tmp_path / "dataset").exists()
