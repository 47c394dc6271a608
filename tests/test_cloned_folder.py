"""What a cloned folder's config sets never leads to a write: every key at its worst value, the whole file system seen.

The folder's config is `ctxkit.toml` or the log's sidecar, which nobody accepted on this machine. The tables of commands
and the walk are in `folder_walk.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from ctxkit.cli.commands import config, fleet, memory
from ctxkit.cli.parser import program_parser
from ctxkit.settings.keys import KEYS, Key
from ctxkit.settings.said_config import VARIABLE
from tests import folder_walk
from tests.cli.runner import good
from tests.folder_walk import (
    ACTS,
    BY_PATHS,
    CHANGES,
    HIDES,
    KINDS,
    LOGS,
    LOOKS,
    PLACES,
    SHOWS,
    WORST,
    Machine,
    lines,
    off,
)
from tests.watch.running import Claude, Watching, append


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A home and a clone; each line of a walk gets it as it was."""
    return Machine(tmp_path_factory.mktemp("cloned"))


def walked(machine: Machine, some: Sequence[str], text: str, kind: str, log: str, places: Sequence[str]) -> None:
    """No line does with a config what it may not do beside what it does with the same one commented out."""
    found = {}
    for line in some:
        without, seen = machine.run(line, log, off(text), places), machine.run(line, log, text, places)
        assert without.code < 2 or log != LOGS[0] or line.startswith(("watch", "fleet map")), (line, without)
        assert log != LOGS[0] or line in folder_walk.OF_CONFIG or bool(without.changed) == lines()[line], line
        if wrong := folder_walk.wrong(line, kind, without, seen):
            found[line] = wrong, seen.code, seen.err[-300:]
    assert not found


def test_every_command_and_every_key_is_in_the_tables() -> None:
    """Taken from the command line and from the table of keys: a new one fails here until it has a line."""
    parser = program_parser()
    commands = set(parser.list_commands(typer.Context(parser)))
    assert commands == LOOKS.keys() | CHANGES.keys() and len(commands) > 35
    for name, some in (*LOOKS.items(), *CHANGES.items()):
        assert all(name in line.split() for line in some), name
    words = {word for line in lines() for word in line.split()}
    assert {*memory.ACTIONS, *fleet.ACTIONS, *config.ACTIONS} <= words
    assert list(WORST) == [key.name for key in KEYS]


def test_a_typed_command_does_what_it_does_without_the_config(machine: Machine) -> None:
    """All keys that may not count unsaid, in both files: the same files, byte for byte, the same output and status."""
    walked(machine, list(lines()), folder_walk.config(ACTS), ACTS, LOGS[0], PLACES)


def test_what_is_shown_differently_is_written_to_the_same_places(machine: Machine) -> None:
    """All keys: no other file, no other kind of record. A push walks some lines; the others are in `.ci/full`."""
    walked(machine, list(lines())[::4], folder_walk.config(SHOWS), SHOWS, LOGS[1], PLACES[1:])
    walked(machine, list(lines())[2::4], folder_walk.config(HIDES), HIDES, LOGS[0], PLACES[:1])


@pytest.mark.full("both logs, each file alone; a push walks a part")
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_walk(kind: str, place: str, log: str, machine: Machine) -> None:
    """Every line, with every kind of config, at both places, of both logs."""
    walked(machine, list(lines()), folder_walk.config(kind), kind, log, [place])


@pytest.mark.full("each key alone; a push sets all at once")
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_each_key_alone(key: Key, machine: Machine) -> None:
    """The same with one key, which no mistake of another hides; each of its worst values, each with some lines."""
    some = [line for line in lines() if not line.startswith(BY_PATHS)][KEYS.index(key) % 3 :: 3]
    for kind in (SHOWS, HIDES)[: len(WORST[key.name])]:
        text = folder_walk.worst(key, kind)
        walked(machine, some, text, kind if key.unsaid else ACTS, LOGS[0], PLACES)


def test_once_accepted_it_counts(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk sees what the keys do as soon as they count: checkpoints go or are not made, a log is compacted."""
    text = folder_walk.config(ACTS).replace("auto = true", "auto = false")
    monkeypatch.setenv(VARIABLE, "1")
    for line in ("snapshots LOG --prune", "clear LOG", "CTXKIT_LIMIT=90000 compact LOG"):
        without, found = machine.run(line, LOGS[0], off(text)), machine.run(line, LOGS[0], text)
        assert folder_walk.wrong(line, ACTS, without, found), line


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("place", PLACES)
def test_watch_names_the_line_that_accepts(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is ignored is named, and with that line typed a full log is compacted."""
    monkeypatch.chdir(tmp_path)
    claude = Claude(str(tmp_path))
    rows = [row for i in range(6) for row in (claude.user(f"q{i} " + "word " * 60), claude.says("reply " * 60))]
    if name == LOGS[0]:
        rows = [{"role": role, "content": f"{role} {i} " * 60} for i in range(6) for role in ("user", "assistant")]
    log, file = tmp_path / name, tmp_path / place.replace("LOG", name)
    file.parent.mkdir(exist_ok=True)
    file.write_text('limit = 800\nreserve = 1\ncompact = {auto = true, threshold = "1%", cooldown = "off"}\n')
    log.touch()
    append(log, *rows)
    with Watching(log) as watching:
        watching.event("status.changed")
        watching.end()
    assert f"ctxkit config {log} accept" in watching.errors and "compact.auto" in watching.errors
    good("config", log, "accept")
    with Watching(log) as watching:
        append(log, *rows[-2:])
        watching.event("compaction.started")
