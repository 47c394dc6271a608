"""A night session, and the morning after: snapshot and restore among the commands, in the words of who asked for them.

What `show` prints after each step stands in fixtures/night/contexts, and what `export` gives beside it; `GOLDEN=write`
in the environment writes it anew.
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
        """What `show` prints and `export` gives, compared with their golden files; the words alone."""
        self.steps += 1
        shown, exported = good("show", log or self.log), ctxkit("export", log or self.log, "--to", "chat")
        assert exported.code == (0 if shown.out else 1), exported.err  # nothing to send
        for out, kind in ((shown.out, "txt"), (exported.out, "jsonl")):
            golden = NIGHT / "contexts" / f"{self.steps}-{name}.{kind}"
            if os.environ.get("GOLDEN") == "write":
                golden.parent.mkdir(exist_ok=True)
                golden.write_bytes(out)
            assert golden.read_bytes() == out, name
        words = [value["content"] for value in exported.values]
        assert re.findall(r"^    (.+)$", shown.text, re.M) == words
        return words

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

    monkeypatch.setenv("EDITOR", f"sed -i.seen '/^#%%/s/^#//;w {morning.folder}/saved'")
    assert "[PRIOR_CONTEXT_PROVIDED] 8 messages (8 brought back)" in morning.does("edit").err
    saved = (morning.folder / "saved").read_text(encoding="utf-8")
    assert re.findall(r"^%% .+", saved, re.M)[0] == "%% 1 2026-02-11T22:01:00Z user (cleared by op 2)"
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-12T09:35:00Z")
    assert morning.shows("edit") == words

    key = morning.does("snapshot", "-m", "the scene by the lamp").text.strip()
    assert morning.shows("snapshot") == words
    new = morning.folder / "day.jsonl"
    good("init", new, "--profile", "persona")
    [kept] = (morning.folder / "mira.jsonl.ctxkit/snapshots").glob(f"*-{key[:8]}.json")
    assert kept.name == f"20260212T093000Z-{key[:8]}.json"
    assert ctxkit("restore", new, kept).code == 2
    good("restore", new, kept, "--yes")
    assert morning.shows("new-log", new) == words
    good("add", new, "--ts", "2026-02-12T09:34:00Z", "Good morning. The tide is out.")
    assert morning.shows("the-morning", new) == [*words, "Good morning. The tide is out."]
    assert 2 * morning.steps == len(list((NIGHT / "contexts").iterdir()))
    for log in (morning.log, new):
        assert good("check", log).code == 0
