"""A text that has a count is not counted again: a command run a second time makes no tokenizer."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxkit.tokens.encodings import Encoding
from tests.cli.runner import ctxkit
from tests.shared import HERE, transcripts

SESSION = HERE.parent / "fixtures/proofs-claude-code/compact.jsonl"
LOOKING = (
    "status LOG", "status LOG --plot", "status LOG --largest", "log LOG --tokens", "show LOG", "sessions .",
    "recall LOG the", "recall LOG --about the", "forget LOG 3-5 --dry-run", "resume LOG --cwd . --dry-run",
    "trim LOG --max-tokens 40% --dry-run", "trim LOG --max-tokens 9k --clear-inputs --dry-run",
    "compact LOG --target 40% --dry-run", "compact LOG --target 80% --dry-run", "compact LOG 2-5 --dry-run",
    "compact LOG --strategy mask --keep-last 0 --target 50% --dry-run",
    "compact LOG --strategy truncate --target 50% --dry-run", "export LOG --to openai", "export LOG --to claude-code",
    "export LOG --to openai --memory", "show LOG --full --memory", "memory show",
)  # fmt: skip
CHANGES = ("compact LOG --target 40% --force --yes", "trim LOG --max-tokens 60% --yes", "forget LOG 3-5 --yes")


def counted_again(log: Path, commands: Sequence[str], patch: pytest.MonkeyPatch) -> list[str]:
    """The commands that count a text, though they ran before."""
    patch.chdir(log.parent)
    asked: list[str] = []
    patch.setattr(Encoding, "counts", _noted(asked))
    found = []
    for command in commands:
        words = [str(log) if word == "LOG" else word for word in command.split()]
        assert ctxkit(*words).code in (0, 1), command
        asked.clear()
        ctxkit(*words)
        found += [command] if asked else []
    return found


def _noted(asked: list[str]):  # type: ignore[no-untyped-def]
    counts = Encoding.counts

    def noted(self: Encoding, texts: Sequence[str]) -> list[int]:
        asked.extend(texts)
        return counts(self, texts)

    return noted


@pytest.mark.parametrize("change", ["", *CHANGES])
def test_nothing_is_counted_twice(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a session as it is, and behind each kind of change."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log = tmp_path / "work" / "session.jsonl"
    log.parent.mkdir()
    shutil.copyfile(SESSION, log)
    monkeypatch.chdir(log.parent)
    ctxkit("memory", "add", "tests run on Python 3.11 only")
    if change:
        ctxkit(*[str(log) if word == "LOG" else word for word in change.split()])
    assert counted_again(log, LOOKING, monkeypatch) == []


@pytest.mark.full("the same of real sessions, which takes minutes")
@pytest.mark.parametrize("real", transcripts("claude-code", "codex", under=5 << 20), ids=lambda path: path.stem)
def test_nothing_of_a_real_session_is_counted_twice(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program's own sessions have usage, pictures and compactions of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log = tmp_path / "work" / real.name
    log.parent.mkdir()
    shutil.copyfile(real, log)
    assert counted_again(log, LOOKING, monkeypatch) == []
    ctxkit("compact", str(log), "--target", "40%", "--force", "--yes")
    assert counted_again(log, LOOKING, monkeypatch) == []
