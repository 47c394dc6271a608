"""Old spellings of flags: what they do is what the new ones do, and one line names these."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli.old_flags import GONE_WITH, OLD_FLAGS, SHOW_TOOLS
from tests.cli.runner import Ran, ctxkit, good, small

TOOLS = '[{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]'
CASES = (
    ("show LOG --about question --model openai/m", "show LOG --about question --about-model openai/m"),
    ("recall LOG --about question --model openai/m", "recall LOG --about question --about-model openai/m"),
    ("forget LOG --about question --model openai/m -y", "forget LOG --about question --about-model openai/m -y"),
    ("remember LOG --about question --model openai/m -y", "remember LOG --about question --about-model openai/m -y"),
    ("edit LOG --print --about question --model=openai/m", "edit LOG --print --about question --about-model=openai/m"),
    ("protect LOG --about question --model openai/m", "protect LOG --about question --about-model openai/m"),
    ("tool call LOG call.json --model openai/m", "tool call LOG call.json --about-model openai/m"),
    ("compact LOG --target 30% --model openai/m", "compact LOG --target 30% --summary-model openai/m"),
    ("compact LOG --about question --model openai/m",
     "compact LOG --about question --about-model openai/m --summary-model openai/m"),
    ("compact LOG --about question --strategy truncate --model openai/m",
     "compact LOG --about question --strategy truncate --about-model openai/m"),
    ("compact LOG --budget 40", "compact LOG --target 0.04k"),
    ("compact LOG --budget 9k", "compact LOG --target 9k"),
    ("compact LOG 3-8 --summary words.txt", "compact LOG 3-8 --summary-file words.txt"),
    ("snapshot LOG --summary words.txt", "snapshot LOG --summary-file words.txt"),
    ("snapshot LOG --model openai/m", "snapshot LOG --summary-model openai/m"),
    ("status LOG --limit 34", "status LOG --context-limit 34"),
    ("status LOG --limit much", "status LOG --context-limit much"),
    ("status LOG --tools tools.json", "status LOG --tools-file tools.json"),
    ("trim LOG --tools tools.json --max-tokens 90", "trim LOG --tools-file tools.json --max-tokens 90"),
    ("trim LOG --keep 2 --max-tokens 90", "trim LOG --keep-last 2 --max-tokens 90"),
    ("trim LOG --keep 0 --max-tokens 90", "trim LOG --keep-last 0 --max-tokens 90"),
    ("export LOG --to openai --tools tools.json --max-tokens 200",
     "export LOG --to openai --tools-file tools.json --max-tokens 200"),
    ("show LOG --calls", "show LOG --tools"),
    ("show LOG --tools tools.json --max-tokens 200", "show LOG --tools-file tools.json --max-tokens 200"),
    ("show --max-tokens 200 --tools=tools.json LOG", "show --max-tokens 200 --tools-file=tools.json LOG"),
    ("edit LOG --apply draft.txt", "edit LOG --draft draft.txt"),
    ("resume LOG --to codex --cwd . --id 5e551011-0000-4000-8000-00000000abcd --dry-run --copy",
     "resume LOG --to codex --cwd . --id 5e551011-0000-4000-8000-00000000abcd --dry-run --force"),
    ("recover LOG --to exchange", "recover LOG --point exchange"),
    ("init new.jsonl --agent sam --archetype kind.toml", "init new.jsonl --agent sam --agent-config kind.toml"),
)  # fmt: skip


def ran(folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """One call, on a log of its own."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    small(folder, name="LOG")
    (folder / "words.txt").write_text("We looked. All is well.")
    (folder / "tools.json").write_text(TOOLS)
    (folder / "kind.toml").write_text('window = "8h"')
    (folder / "call.json").write_text('{"mode": "preview", "action": "forget", "criteria": "question"}')
    (folder / "draft.txt").write_bytes(good("edit", "LOG", "--print").out.replace(b"second", b"changed"))
    return ctxkit(*words.split())


def plain(found: Ran) -> tuple[int, list[Any]]:
    """What is the same whenever it ran."""
    text = re.sub(r"\b[0-9a-f]{12,}\b|\d+ ms|\d{4}-\d\d-\d\dT[\d:.]+Z", "X", found.text)
    return found.code, text.splitlines()


def op(folder: Path) -> list[dict[str, Any]]:
    """The ops of the log, without what tells one run from another."""
    found = [json.loads(line) for line in (folder / "LOG").read_text().splitlines()]
    for one in found:
        one["by"] = {key: value for key, value in one.get("by", {}).items() if key != "args"}
    own = ("id", "ts", "sum")
    return [{key: value for key, value in one.items() if key not in own} for one in found if "ctxkit" in one]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("old", "new"), CASES)
def test_it_does_what_the_new_one_does(old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same result, op and status, and one line more."""
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    before, now = ran(tmp_path / "old", old, monkeypatch), ran(tmp_path / "new", new, monkeypatch)
    assert plain(before) == plain(now) and op(tmp_path / "old") == op(tmp_path / "new")
    notice, *rest = before.err.splitlines()
    named = rf"ctxkit: --[a-z-]+ is now --[a-z-]+( and --[a-z-]+)?; the old name goes with {GONE_WITH}"
    assert re.fullmatch(named, notice)
    assert all(name in new for name in re.findall(r"--[a-z-]+", notice.partition(" is now ")[2]))
    assert len(rest) == len(now.err.splitlines()) and "is now" not in now.err
    quiet = ran(tmp_path / "quiet", f"{old} -q", monkeypatch)
    assert "is now" not in quiet.err


def test_every_old_name_has_a_case() -> None:
    """On each of its commands."""
    tried = {(old.split()[0], word.partition("=")[0]) for old, _ in CASES for word in old.split()}
    assert {(name, one.name) for one in OLD_FLAGS for name in one.commands} <= tried
    assert ("show", SHOW_TOOLS.name) in tried


def test_both_names(tmp_path: Path) -> None:
    """Nobody knows which is meant."""
    found = ctxkit("status", small(tmp_path), "--limit", "9", "--context-limit", "10")
    assert found.code == 2 and "--limit is the old name of --context-limit, and both were given" in found.err


def test_show_tools_of_a_log(tmp_path: Path) -> None:
    """--tools before a log lists the calls of that log, and is no file of definitions."""
    path = small(tmp_path)
    for words in (("--tools", path), ("--tools", path, "--max-tokens", "9k"), (path, "--tools", "-q")):
        found = good("show", *words)
        assert found.text.startswith("n  tool") and "is now" not in found.err


def test_values_that_look_like_old_names(tmp_path: Path) -> None:
    """A value is a value: `--grep --model` looks for that text."""
    found = ctxkit("show", small(tmp_path), "--grep", "--model")
    assert "is now" not in found.err
