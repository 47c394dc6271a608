"""`fleet`: actions, and options that fit them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxkit.cli.commands.fleet import resources
from ctxkit.cli.options import FleetEngine, ForCluster
from ctxkit.errors import Usage
from ctxkit.fleet.engines import ray as engine
from ctxkit.fleet.engines.ray import RayResources
from tests.cli.runner import PYTHON, SMALL, ctxkit
from tests.fleet.folders import logs, rows_of
from tests.fleet.mixed import filled


@pytest.mark.parametrize("words", [["ingest"], ["ingest", "x"], ["ingest", "-o", "x"], ["pack", "x"], []])
def test_usage(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    ran = ctxkit("fleet", *words)
    assert (ran.code, ran.out) == (2, b"") and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("null", [False, True])
def test_files_from(tmp_path: Path, *, null: bool) -> None:
    """The sources that a list names, a line each or by NUL bytes, beside those that are named."""
    folder, dataset = logs(tmp_path / "logs", 4), tmp_path / "dataset"
    (folder / "000.jsonl").rename(folder / "a\nb.jsonl" if null else folder / "a b.jsonl")
    one, *others = sorted(map(str, folder.glob("*.jsonl")))
    list_of = "".join(f"{other}\0" if null else f"{other}\n" for other in [one, *others[:2]]).encode()
    flags = ["--files-from", "-", "-q"]
    ran = ctxkit("fleet", "ingest", others[2], *flags, "-o", dataset, "--jobs", "1", stdin=list_of)
    assert ran.code == 0 and len(rows_of(dataset)["transcripts"]) == 4
    (tmp_path / "list").write_bytes(list_of)
    ran = ctxkit("fleet", "map", "status", "--files-from", tmp_path / "list", "-q", "--jobs", "1")
    assert [row["log"] for row in ran.values] == [one, *others[:2]]


def test_an_empty_list(tmp_path: Path) -> None:
    """Nothing to do is said, and that `sql` takes none."""
    for words in (["ingest", "-o", tmp_path / "x"], ["map", "status"]):
        ran = ctxkit("fleet", *words, "--files-from", "-", stdin=b"")
        assert ran.code == 1 and "the list - is empty" in ran.err
    ran = ctxkit("fleet", "sql", "--dataset", "x", "select 1", "--files-from", "y")
    assert ran.code == 2 and "does not apply" in ran.err


def test_ingest(tmp_path: Path) -> None:
    """A dataset, and again nothing to do."""
    folder, dataset = logs(tmp_path / "logs", 3), tmp_path / "dataset"
    ran = ctxkit("fleet", "ingest", str(folder), "-o", str(dataset), "--jobs", "1")
    assert (ran.code, ran.err) == (0, "3 new.\n")
    assert len(rows_of(dataset)["transcripts"]) == 3
    assert ctxkit("fleet", "ingest", str(folder), "-o", str(dataset)).err == "3 unchanged.\n"


def ingest(folder: Path, *more: str) -> tuple[int, bytes, list[str]]:
    """Exit status, output, and the lines of the report."""
    ran = ctxkit("fleet", "ingest", str(folder), "-o", str(folder.parent / "dataset"), "--jobs", "1", *more)
    return ran.code, ran.out, ran.err.splitlines()


def test_counts(tmp_path: Path) -> None:
    """In words, and as an object."""
    folder = logs(tmp_path / "logs", 3)
    (folder / "note.md").write_text("# hi\n")
    assert ingest(folder, "--dry-run")[2] == ["Dry run, nothing was read. Without it: 4 new."]
    assert ingest(folder)[2] == ["3 new; 1 file that is no log."]
    (folder / "000.jsonl").unlink()
    code, out, _ = ingest(folder, "--json")
    found = json.loads(out)
    assert code == 0 and (found["removed"], found["unchanged"], found["broken"]) == (1, 2, {})


def test_what_has_an_error(tmp_path: Path) -> None:
    """A file that is no log is named, and no failure; one that cannot be read is."""
    folder = logs(tmp_path / "logs", 1)
    (folder / "bad.json").write_text('{"a": 1}')
    code, _, said = ingest(folder)
    assert code == 0 and "bad.json is a row with an error" in said[0]
    (folder / "loose.jsonl").symlink_to("nowhere")
    code, _, said = ingest(folder)
    assert code == 74 and "loose.jsonl could not be read" in said[0]


def test_a_damaged_ledger(tmp_path: Path) -> None:
    """Nothing is changed, and the way out is said."""
    folder = logs(tmp_path / "logs", 6)
    ingest(folder)
    (tmp_path / "dataset/ledger/00000001-00001.json").write_text("{")
    code, _, said = ingest(folder)
    assert code == 65 and "00000001-00001.json is damaged: nothing was changed" in said[0]
    (tmp_path / "dataset/ledger/00000001-00001.json").unlink()
    assert ingest(folder)[2] == ["6 new."] and len(rows_of(tmp_path / "dataset")["transcripts"]) == 6


def test_parts(tmp_path: Path) -> None:
    """Two runs for halves; what is no half is said."""
    folder = logs(tmp_path / "logs", 6)
    said = [ingest(folder, "--part", part)[2] for part in ("1/2", "2/2")]
    assert sum(int(line.split()[0]) for [line] in said) == 6
    assert ingest(folder)[2] == ["6 unchanged."]
    for part in ("2", "0/2", "3/2", "x/y"):
        code, _, found = ingest(folder, "--part", part)
        assert code == 2 and f"--part {part}: not I/N" in found[0]


def test_a_part_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sources are as they were, and the next run does them."""
    folder = logs(tmp_path / "logs", 2)

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("ctxkit.fleet.parts.table", broken)
        code, out, said = ingest(folder, "--json")
    assert code == 70 and "000.jsonl is as it was: a bug: MemoryError" in said[0]
    assert len(json.loads(out)["broken"]) == 2
    assert ingest(folder)[2] == ["2 new."]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, and nothing is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, said = ingest(logs(tmp_path / "logs", 1))
    assert code == 2 and said[1] == "hint: pip install 'ctxkit-cli[fleet]'"
    assert not (tmp_path / "dataset").exists()


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "which function?"),
        (["status"], "which logs?"),
        (["statuss", "x"], "no such function: statuss"),
        (["export", "x"], "export needs --set to=TARGET"),
        (["status", "x", "--set", "limit"], "--set limit: not KEY=VALUE"),
        (["status", "x", "--set", "limit=1k", "--set", "limit=2k"], "--set limit is given twice"),
        (["status", "x", "--part", "1/2"], "--part does not apply to `fleet map`"),
        (["status", "x", "--retries", "1"], "--retries is for --engine ray"),
        (["status", "x", "--engine", "ray", "--task-cpus", "1.5"], "a part of one, or a whole number"),
        (["status", "x", "--engine", "ray", "--task-memory", "much"], "not a size"),
        (["status", "x", "-o", ""], "-o needs the name of a file"),
        (["status", "x", "--redact"], "--redact does not apply to `fleet map`"),
    ],
)
def test_usage_of_fleet_map(words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong is said before anything is read or made."""
    monkeypatch.chdir(tmp_path)
    ran = ctxkit("fleet", "map", *words)
    assert (ran.code, ran.out) == (2, b"")
    assert text in ran.err
    assert list(tmp_path.iterdir()) == []


def test_rows(tmp_path: Path) -> None:
    """A line per file, in order; a file that is not there is a row, and gives the exit status."""
    folder = filled(tmp_path / "logs", 3)
    for jobs in ("1", "2"):
        ran = ctxkit("fleet", "map", "status", str(folder), str(tmp_path / "none"), "--jobs", jobs)
        rows = [json.loads(line) for line in ran.out.splitlines()]
        assert [Path(row["log"]).stem for row in rows] == ["000", "001", "002", "broken", "none"]
        assert [row.get("error", {}).get("code") for row in rows] == [None, None, None, 65, 74]
        assert ran.code == 74
        assert ran.err.splitlines()[-1] == "5 rows of 5 files, 2 failed; 1 file without rows"


def test_output(tmp_path: Path) -> None:
    """A new file, whole or not at all; an old one stays as it is."""
    folder, output = filled(tmp_path / "logs", 2), tmp_path / "rows.jsonl"
    (folder / "broken.jsonl").unlink()
    words = ("fleet", "map", "check", str(folder), "-o", str(output), "--jobs", "1", "-q")
    ran = ctxkit(*words)
    assert (ran.code, ran.out, ran.err) == (0, b"", "")
    before = output.read_bytes()
    assert len(before.splitlines()) == 2
    ran = ctxkit(*words)
    assert (ran.code, "exists already" in ran.err) == (73, True)
    assert output.read_bytes() == before


def test_nothing_found(tmp_path: Path) -> None:
    """No file, and no row, are the answer no."""
    (tmp_path / "empty").mkdir()
    assert ctxkit("fleet", "map", "status", str(tmp_path / "empty")).code == 1
    (tmp_path / "empty" / "notes.txt").write_text("no log\n")
    ran = ctxkit("fleet", "map", "status", str(tmp_path / "empty"), "--jobs", "1")
    assert (ran.code, ran.err) == (1, "0 rows of 0 files; 1 file without rows\n")


def test_own_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the working folder is found, as by `python -m`; one that a folder's config names is not asked for."""
    shutil.copy(ROOT / "tests/fleet/own.py", tmp_path / "my_own_functions.py")
    (tmp_path / "a.jsonl").write_text("{}\n{}\n")
    (tmp_path / "ctxkit.toml").write_text('fleet.function = "my_own_functions:lines"\n')
    monkeypatch.chdir(tmp_path)
    for jobs in ("1", "2"):
        ran = ctxkit("fleet", "map", "my_own_functions:lines", "a.jsonl", "--set", "unit=row", "--jobs", jobs)
        assert json.loads(ran.out) == {"log": str(tmp_path / "a.jsonl"), "lines": 2, "unit": "row"}


def test_killed_and_again(tmp_path: Path) -> None:
    """The whole run is killed in the middle; with its ledger the next one goes on, and its rows are those of a run
    that nothing ended.
    """
    folder, seen = filled(tmp_path / "logs", 12), tmp_path / "seen"
    seen.mkdir()
    words = ["fleet", "map", "tests.fleet.own:slow", str(folder), "--set", f"folder={seen}", "--set", "seconds=0.1"]
    words += ["--jobs", "2"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def ran(*more: str) -> bytes:
        return subprocess.run([*PYTHON, *words, *more], env=env, capture_output=True, check=True).stdout

    undisturbed = ran()
    ledger = ["--ledger", str(tmp_path / "ledger")]
    run = subprocess.Popen([*PYTHON, *words, *ledger], env=env, stdout=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 120
    done = tmp_path / "ledger/done.jsonl"
    while not (done.exists() and b'"stamp"' in done.read_bytes()) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    assert run.wait(60) == -signal.SIGKILL
    assert 0 < done.read_bytes().count(b'"stamp"') < 13
    assert ran(*ledger) == undisturbed
    assert ran(*ledger) == undisturbed


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
