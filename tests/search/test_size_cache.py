"""What a log's context came to is known to the list of sessions, until the log changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.search.sessions import ROUGH
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago counts as settled."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)


def listed(path: Path) -> tuple[object, object]:
    """Tokens and counter, as `sessions` has them."""
    [found] = good("sessions", path, "--json").values
    return found["tokens"], found["counter"]


@pytest.mark.parametrize("raw", [SMALL, FOREIGN])
def test_status_notes(tmp_path: Path, raw: bytes) -> None:
    """An estimate before, its figure after, an estimate once the log or its ops grew."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(raw)
    assert listed(path)[1] == ROUGH
    [told] = good("status", path, "--json").values
    assert listed(path) == (told["tokens"]["used"], told["tokens"]["counter"])
    assert f"{told['tokens']['used']:,} tokens" in good("sessions", path).text
    good("forget", path, "2")
    assert listed(path)[1] == ROUGH
    [less] = good("status", path, "--json").values
    assert listed(path)[0] == less["tokens"]["used"] < told["tokens"]["used"]
    with path.open("ab") as log:
        log.write(lines(message("user", "more")))
    assert listed(path)[1] == ROUGH


@pytest.mark.parametrize("words", ["--at 1", "--no-tokens", "--no-assembly", "--now 2026-01-01", "--context-limit 60k"])
def test_another_look_is_not_noted(tmp_path: Path, words: str) -> None:
    """Only the context as it is."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(SMALL)
    good("mark", path)
    good("status", path, *words.split())
    assert listed(path)[1] == ROUGH


def test_streams_and_many_conversations(tmp_path: Path) -> None:
    """Have no place to be noted at."""
    path = tmp_path / "many.jsonl"
    path.write_bytes(lines(*({"messages": [message("user", f"question {i}")]} for i in range(2))))
    good("status", path, "--conversation", "1")
    assert listed(path) == (None, None)
    assert ctxkit("status", stdin=SMALL).code == 0
