"""A night session, and the morning after: snapshot and restore among the commands, in the words of who asked for them.

What `show` prints after each step stands in fixtures/night/contexts; `GOLDEN=write` in the environment writes it anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ctxkit import Log
from tests.cli.runner import ROOT, Ran, ctxkit, good

NIGHT = ROOT / "fixtures/night"
MORNING = "2026-02-12T09:00:00Z"
"""Nine o'clock: more than eight hours after the last word of the night."""
EFFECTIVE = 1770888600.0
"""09:30, when the commands are run."""


class Morning:
    """The log, at nine the next day."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.steps = folder, 0
        self.log = folder / "mira.jsonl"

    def shows(self, name: str, log: Path | None = None) -> list[str]:
        """What `show` prints, compared with its golden file; the words alone."""
        ran = good("show", log or self.log)
        self.steps += 1
        golden = NIGHT / "contexts" / f"{self.steps}-{name}.txt"
        if os.environ.get("GOLDEN") == "write":
            golden.parent.mkdir(exist_ok=True)
            golden.write_bytes(ran.out)
        assert golden.read_text(encoding="utf-8") == ran.text, name
        return re.findall(r"^    (.+)$", ran.text, re.M)

    def does(self, command: str, *words: str | Path) -> Ran:
        """A command on the log."""
        return good(command, self.log, *words)


@pytest.fixture
def morning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Morning:
    """The night as it was told, in a log of profile persona."""
    monkeypatch.setitem(Log.open.__func__.__kwdefaults__, "clock", lambda: EFFECTIVE)
    found = Morning(tmp_path)
    good("init", found.log, "--profile", "persona")
    with found.log.open("ab") as file:
        file.write((NIGHT / "log.jsonl").read_bytes())
    monkeypatch.setenv("CTXKIT_NOW", MORNING)
    return found


def test_night(morning: Morning, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty at nine, back by a wider window, gone by a clear, back by an edit; kept, and taken into a new log."""
    words = re.findall(r'"content": "([^"]+)"', (NIGHT / "log.jsonl").read_text(encoding="utf-8"))

    assert morning.shows("nine-o-clock") == []
    assert "Context window set to 24h" in morning.does("window", "24h").err
    assert morning.shows("window-24h") == words
    assert "Context cleared. Starting fresh." in morning.does("clear").err
    assert morning.shows("clear") == []

    draft = morning.folder / "draft"
    draft.write_text(re.sub("^#%%", "%%", morning.does("edit", "--print").text, flags=re.M))
    restored = ctxkit("edit", morning.log, "--apply", draft)
    assert restored.code == 0, restored.err
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-12T09:35:00Z")
    assert morning.shows("edit") == words

    key = morning.does("snapshot", "-m", "the scene by the lamp").text.strip()
    new = morning.folder / "day.jsonl"
    good("init", new, "--profile", "persona")
    [kept] = (morning.folder / "mira.jsonl.ctxkit/snapshots").iterdir()
    assert kept.name == f"20260212T093000Z-{key[:8]}.json"
    assert ctxkit("restore", new, kept).code == 2
    good("restore", new, kept, "--yes")
    assert morning.shows("new-log", new) == words
    good("add", new, "--ts", "2026-02-12T09:34:00Z", "Good morning. The tide is out.")
    assert morning.shows("the-morning", new) == [*words, "Good morning. The tide is out."]
    assert morning.steps == len(list((NIGHT / "contexts").iterdir()))
    for log in (morning.log, new):
        assert good("check", log).code == 0
