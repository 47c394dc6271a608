"""What a cloned folder's config sets never leads to a write: every key at its worst value, the whole file system seen.

The folder's config is `ctxkit.toml` or the log's sidecar. What a command writes with it is what it writes without it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxkit.store.keys import KEYS, Key
from tests.cli.runner import ctxkit, good
from tests.watch.running import Claude, Watching, append, log_of

PLACES = ("ctxkit.toml", "chat.jsonl.ctxkit/config.toml")
WORST: dict[str, Any] = {
    "format": "chat", "now": "2020-01-01T00:00:00Z", "counter": "pieces", "reserve": 1, "limit": 800,
    "compact.auto": True, "compact.threshold": "1%", "compact.target": "1%", "compact.strategy": "truncate",
    "compact.cooldown": "off", "compact.input": 1000, "checkpoint.auto": True, "checkpoint.keep": 1,
    "checkpoint.days": 1, "window.min": "1s", "window.default": "1s", "window.max": "1s", "window.messages": 1,
    "status.yellow": "0%", "status.red": "0%", "trim.strategy": "episodes", "time.zone": "utc",
    "sql.memory_limit": "1GB",
}  # fmt: skip
"""Key -> the value with which most is changed; of others, a value of their type that would name something."""
LOOKS = (
    "show LOG", "status LOG", "log LOG", "export LOG --to openai", "check LOG", "why LOG 2", "window LOG", "agents LOG",
    "snapshots LOG", "config LOG", "cat LOG 2", "sessions .", "status .", "check .", "memory list",
)  # fmt: skip
CHANGES = ("add LOG hello", "mark LOG here", "forget LOG 2", "clear LOG", "checkpoint LOG", "undo LOG")


def worst(key: Key) -> str:
    """A line of config."""
    made = {"switch": True, "number": 1, "texts": ["."], "duration": "1s", "window": "1s", "percent": "1%"}
    value = WORST.get(key.name, "cyan" if key.choices else made.get(key.kind, "x"))
    return f"{key.name.replace('NAME', 'frodo')} = {json.dumps(value)}\n"


def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Claude]:
    """A home, and a clone with a log and a session of Claude Code; the clone, and the session's next rows."""
    home, clone = tmp_path / "home", tmp_path / "clone"
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("HOME", str(home))
    (home / ".claude/projects").mkdir(parents=True)
    clone.mkdir()
    monkeypatch.chdir(clone)
    claude = Claude(str(clone))
    rows = [row for i in range(6) for row in (claude.user(f"q{i} " + "word " * 60), claude.says("reply " * 60))]
    log_of(clone / "session.jsonl", *rows)
    rows = [{"role": role, "content": f"{role} {i} " * 60} for i in range(6) for role in ("user", "assistant")]
    log_of(clone / "chat.jsonl", *rows)
    return clone, claude


def files(root: Path) -> dict[str, bytes]:
    """Every file below a folder but the caches, with its bytes."""
    cache = root / "home/cache"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_relative_to(cache)
    }


def cloned(clone: Path, place: str, text: str) -> None:
    """Put a stranger's config into the clone."""
    (clone / place).parent.mkdir(exist_ok=True)
    (clone / place).write_text(text)
    (clone / "x").write_text("[]")  # what paths of keys name


def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, keys: list[Key]) -> None:
    """No command that looks changes any file, with these keys in the clone's config."""
    clone, _ = machine(tmp_path, monkeypatch)
    cloned(clone, place, "".join(map(worst, keys)))
    before = files(tmp_path)
    for command in LOOKS:
        ctxkit(*command.replace("LOG", "chat.jsonl").split())
        assert files(tmp_path) == before, command


@pytest.mark.parametrize("place", PLACES)
def test_looking_writes_nothing(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command that looks changes any file; all keys at once."""
    looks(tmp_path, monkeypatch, place, [key for key in KEYS if key.name != "format"])


@pytest.mark.full("each key alone; a push sets all at once")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_each_key_alone(key: Key, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with one key, which no mistake of another hides."""
    looks(tmp_path, monkeypatch, place, [key])


@pytest.mark.parametrize("place", PLACES)
def test_a_typed_change_writes_what_it_writes_without_it(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many files come to be in each folder, and no older one goes."""
    text = "".join(worst(key) for key in KEYS if key.name not in ("format", "window.default", "window.messages"))
    made = []
    for name, config in (("with", text), ("without", "")):
        clone, _ = machine(tmp_path / name, monkeypatch)
        cloned(clone, place, config)
        seen = []
        for command in CHANGES:
            ran = ctxkit(*command.replace("LOG", "chat.jsonl").split())
            seen.append((command, ran.code, sorted(os.path.dirname(path) for path in files(tmp_path / name))))
        made.append(seen)
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["chat.jsonl", "session.jsonl"])
@pytest.mark.parametrize("place", ["ctxkit.toml", "NAME.ctxkit/config.toml"])
def test_watch_writes_nothing(name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is appended; what is ignored is named, with the line to type. Once accepted, it counts."""
    clone, claude = machine(tmp_path, monkeypatch)
    keys = (one for one in KEYS if one.name not in ("format", "now", "window.default", "window.messages"))
    cloned(clone, place.replace("NAME", name), "".join(map(worst, keys)))
    log = clone / name
    rows = [claude.user("more"), claude.says("done")]
    if name == "chat.jsonl":
        rows = [{"role": "user", "content": "more"}, {"role": "assistant", "content": "done"}]
    before = files(tmp_path)
    with Watching(log) as watching:
        watching.event("status.changed")
        append(log, *rows)
        watching.event("status.changed", messages=14)
        watching.end()
    assert {one["event"] for one in watching.events} == {"status.changed"}
    after = files(tmp_path)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {path for path in changed if not path.startswith("home/state/ctxkit/watch/")} == {f"clone/{name}"}
    assert f"ctxkit config {log} accept" in watching.errors and "compact.auto" in watching.errors
    good("config", log, "accept")
    with Watching(log) as watching:
        append(log, *rows)
        watching.event("compaction.started")
