"""What a version has written is read to the same context by every later one, and goes on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxkit.measure import token_log
from ctxkit.memory.note_file import notes_path, read_notes
from ctxkit.search.project_sessions import project
from tests import written_by
from tests.cli.runner import ctxkit, good
from tests.written_by import EXPECTED, FOLDER, LATER, context, copied, goes_on, standing

VERSIONS = sorted(path for path in FOLDER.iterdir() if path.is_dir())


class Kept(NamedTuple):
    """A log that a version wrote, and what it read it to."""

    version: str
    row: dict[str, Any]
    contexts: dict[str, Any]

    @property
    def path(self) -> Path:
        """The log."""
        return FOLDER / self.version / self.row["log"]


def kept() -> list[Kept]:
    """The logs of all versions."""
    found = []
    for folder in VERSIONS:
        rows = [json.loads(line) for line in (folder / EXPECTED).read_text().splitlines()]
        contexts = {row["log"]: row["context"] for row in rows}
        found += [Kept(folder.name, row, contexts) for row in rows]
    return found


ALL = pytest.mark.parametrize("one", kept(), ids=lambda one: f"{one.version}-{one.row['log']}")


def without_news(now: Any, then: Any) -> Any:
    """What is said now, without keys that were not there then: these may come, and none may go."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: without_news(value, then[key]) for key, value in now.items() if key in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [without_news(*pair) for pair in zip(now, then, strict=True)]
    return now


@ALL
def test_the_same_context(one: Kept, tmp_path: Path) -> None:
    """Messages, calls, results and pictures of the context, and what took out each of the others."""
    log, options = copied(one.path, tmp_path), one.row["options"]
    found = context(log, *options)
    assert without_news(found, one.row["context"]) == one.row["context"]
    assert standing(log, *options) == one.row["out"]


@pytest.mark.one_in(5)
@ALL
def test_it_goes_on(one: Kept, tmp_path: Path) -> None:
    """Another op is appended and found whole; an undo and a restore lead where they led."""
    log, options = copied(one.path, tmp_path), one.row["options"]
    found = goes_on(log, *options)
    for key in LATER:
        then = one.contexts.get(one.row[key], []) if isinstance(one.row[key], str) else one.row[key]
        assert without_news(found[key], then) == then, key
    assert found["check"] <= one.row["check"]  # since then, what is no damage is a note
    good("mark", log, "later", *options)
    assert ctxkit("check", log, "-q", *options).code == found["check"]


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_what_is_no_log(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts are applied, one that was kept after a mistake too; notes stand; a token log is known as one."""
    log = copied(folder / "edit.jsonl", tmp_path)
    good("edit", log, "--draft", folder / "edit.jsonl.draft")
    assert b"Core." in good("show", log).out
    log = copied(folder / "draft.jsonl", tmp_path)
    [draft] = log.parent.glob("draft.jsonl.ctxkit/drafts/*/draft.txt")
    draft.write_text(draft.read_text().replace("%%%", "%%").replace("Segfault", "Core"))
    good("edit", log, "--draft", draft)
    assert b"Core." in good("show", log).out
    monkeypatch.chdir(tmp_path)
    env = {"HOME": str(tmp_path)}
    monkeypatch.setenv("HOME", env["HOME"])
    notes = notes_path(project(tmp_path, env), env)
    notes.parent.mkdir(parents=True)
    notes.write_bytes((folder / "notes.jsonl").read_bytes())
    assert read_notes(notes).damage == []
    said = good("memory").text
    assert "The port is 80." in said and "The docs are written." in said and "Write the docs." not in said
    assert all(line.startswith(token_log.BEGIN) for line in (folder / "tokens.jsonl").read_bytes().splitlines())


def test_a_version_is_written_once(tmp_path: Path) -> None:
    """The generator refuses a folder that is there, and the name of another version."""
    for folder in (tmp_path, tmp_path / "9.9"):
        with pytest.raises(SystemExit):
            written_by.main([str(folder)])
    assert not (tmp_path / "9.9").exists()
