"""trim.summarize: what a trim drops is summarized, and the whole fits as before."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from tests.cli.runner import good, ops
from tests.cut.test_trim import run
from tests.shared import transcripts

SESSIONS = transcripts("claude-code", "codex", "mini-swe-agent", under=1_500_000)
ON = {"CTXKIT_TRIM_SUMMARIZE": "true"}


def opened(raw: bytes, **env: str) -> Log:
    return Log.open(io.BytesIO(raw), env={**ON, **env})


def test_what_is_dropped_is_told() -> None:
    """The op is a compact; what stays of the context, and the summary, fit."""
    log = opened(run())
    op = log.trim(6000)
    assert op is not None and op.name == "compact"
    body = log.ledger.entries[-1].body
    assert body["ids"].startswith("3-") and "#3 bash $ make 0" in body["text"] and body["target"] == "6000"
    used = log.status().tokens.used
    assert used is not None and used == body["after"]["tokens"] <= 6000
    assert "dropped, with a summary of" in log.said and log.names()[:2] == [1, 2]
    log.undo()
    assert log.names() == list(range(1, 43))


def test_only_where_it_is_asked_for() -> None:
    """Off by default; and where nothing is dropped a trim stays a trim."""
    log = Log.open(io.BytesIO(run()), env={})
    op = log.trim(6000)
    assert op is not None and op.name == "trim"
    whole = opened(run())
    op = whole.trim(29_000)
    assert op is not None and op.name == "trim" and op.ids == ""  # type: ignore[attr-defined]  # a trim
    assert opened(run()).trim(10**6) is None


def test_no_room() -> None:
    """The trim is the one that it was, and says so."""
    log = opened(run())
    op = log.trim(60)
    assert op is not None and op.name == "trim"
    assert any("no room is left for a summary" in note for note in log.notes)


def test_an_earlier_summary_is_told_anew() -> None:
    """By what it tells, never by its words."""
    log = opened(run())
    log.compact(target=60)
    told = Names.parse(log.ledger.entries[-1].body["ids"])
    log.trim(400)
    body = log.ledger.entries[-1].body
    assert body["ctxkit"] == "compact" and not told - Names.parse(body["ids"])
    assert "is left out]" not in body["text"].partition("\n")[2]
    assert [name for name in log.names() if not isinstance(name, int)] == [(body["id"], 1)]


@pytest.mark.parametrize("path", SESSIONS[:8], ids=lambda path: str(path.name))
def test_real_sessions(path: Path) -> None:
    """Never over the budget, by the figures of status."""
    log = opened(path.read_bytes())
    whole = log.status().tokens.used or 0
    for share in (0.8, 0.5):
        log = opened(path.read_bytes())
        try:
            log.trim(int(whole * share))
        except Exception as error:
            assert "do not fit" in str(error)
            continue
        assert (log.status().tokens.used or 0) <= int(whole * share)


def test_a_look_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show` and `export --max-tokens` too; nothing is appended."""
    monkeypatch.setenv("CTXKIT_TRIM_SUMMARIZE", "true")
    path = tmp_path / "log.jsonl"
    path.write_bytes(run())
    ran = good("show", path, "--max-tokens", "6000", "--full")
    assert "in short, word for word" in ran.text and "dropped, with a summary of" in ran.err and ops(path) == []
    assert b"in short, word for word" in good("export", path, "--to", "openai", "--max-tokens", "6000").out
    assert "summarized, to fit" in good("show", path, "--max-tokens", "6000", "--explain").text
    good("trim", path, "--max-tokens", "6000", "--op-id", "one")
    assert "there already" in good("trim", path, "--max-tokens", "6000", "--op-id", "one").err
