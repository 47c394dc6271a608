"""An ingest that is killed, at each call of the system that it makes: the dataset can be read, and the next run ends as
an undisturbed one."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest

from ctxkit.api.log import Log
from ctxkit.fleet.dataset import Dataset
from ctxkit.fleet.ingest import Ingest, ingest
from ctxkit.fleet.tables import TABLES
from ctxkit.store.atomic import PREFIX
from tests.effort import part
from tests.fleet.folders import chat, logs, rows_of

POINTS = 50
CALLS: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("open", "fsync", "replace", "unlink", "remove", "chmod", "listdir", "stat", "mkdir")),
    (pyarrow.parquet, "write_table"),
)
"""Where it is killed: before and after each of these calls."""


def run(folder: Path, dataset: Path) -> None:
    """Ingest a folder, in this process."""
    ingest([str(folder)], str(dataset), Ingest(fold=True))


def counted(action: Callable[[], None], kill: int | None = None) -> int:
    """Run with every call counted, twice each: before and after. At the one numbered `kill` the process dies."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        if count == kill:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            tick()
            found = None if name == "fsync" else call(*args, **named)  # no power is cut here
            tick()
            return found

        return wrapped

    before = [(place, name, getattr(place, name)) for place, name in CALLS]
    for place, name, call in before:
        setattr(place, name, wrap(call, name))
    try:
        action()
    finally:
        for place, name, call in before:
            setattr(place, name, call)
    return count


def killed(action: Callable[[], None], kill: int) -> bool:
    """Run in a child that dies at this call; whether it did."""
    gc.collect()
    child = os.fork()
    if not child:
        try:
            counted(action, kill)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def sources(rows: dict[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    """Transcript -> table -> its rows."""
    found: dict[str, dict[str, list[str]]] = {}
    for table, some in rows.items():
        for row in some:
            found.setdefault(json.loads(row)["transcript_id"], {}).setdefault(table, []).append(row)
    return found


def readable(dataset: Path, old: dict[str, list[str]], new: dict[str, list[str]]) -> None:
    """DuckDB reads every table by its pattern; each transcript has its old rows or its new ones in all tables."""
    for table in TABLES:
        if list((dataset / table).rglob("*.parquet")):
            duckdb.sql(f"select count(*) from read_parquet('{dataset}/{table}/**/*.parquet')").fetchall()
    before, after, now = sources(old), sources(new), sources(rows_of(dataset))
    for key, tables in now.items():
        assert tables in (before.get(key), after.get(key)), key


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, list[str]]]:
    """A dataset, and logs that are not as they were when it was made; the rows of before."""
    root = tmp_path_factory.mktemp("kills")
    folder = logs(root / "logs", 8)
    for path in folder.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    run(folder, root / "dataset")
    old = rows_of(root / "dataset")
    (folder / "000.jsonl").write_bytes(chat(90, 6))
    (folder / "002.jsonl").unlink()
    (folder / "new.jsonl").write_bytes(chat(91, 4))
    Log.open(folder / "004.jsonl").forget([4, 5])
    return root, folder, old


@pytest.mark.one_in(2, first=1)
@pytest.mark.torture
@pytest.mark.parametrize("first", [True, False], ids=["new", "changed"])
def test_killed(tmp_path: Path, world: tuple[Path, Path, dict[str, list[str]]], first: bool) -> None:
    """At points spread over the whole run, of a first ingest and of one that changes a dataset."""
    root, folder, old = world
    run(folder, tmp_path / "fresh")
    new = rows_of(tmp_path / "fresh")
    trial = tmp_path / "trial"

    def begin() -> None:
        shutil.rmtree(trial, ignore_errors=True)
        if not first:
            shutil.copytree(root / "dataset", trial)

    begin()
    calls = counted(lambda: run(folder, trial))
    points = part(POINTS)
    died = 0
    for k in range(points):
        begin()
        if not killed(lambda: run(folder, trial), 1 + k * (calls - 1) // max(1, points - 1)):
            continue
        died += 1
        readable(trial, {} if first else old, new)
        run(folder, trial)
        assert rows_of(trial) == new, k
        left = [path for path in trial.rglob(f"{PREFIX}*")]
        assert left == [], k
        named = {file for part in Dataset(str(trial)).parts().values() for file in part.files}
        there = {path.relative_to(trial).as_posix() for path in trial.rglob("0*.parquet")}
        assert named == there, k
        rows = sum(pyarrow.parquet.read_metadata(trial / file).num_rows for file in there)
        assert rows == sum(map(len, new.values())), k
    assert died >= points - 2
