"""Each edit changes what it says, on any session."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ctxkit import Log
from tests.resume.blocks import Block
from tests.resume.contexts import context, context_of
from tests.resume.edits import ASKED, EDITS, STUB, SUMMARY
from tests.shared import HERE

FIXTURES = HERE.parent / "fixtures"
SESSION = FIXTURES / "truth-claude-code/p77-model-switch-thinking.jsonl"
SESSIONS = {
    "claude-code": SESSION,
    "codex": FIXTURES / "truth-codex/rollback2-end.jsonl",
    "pi": FIXTURES / "truth-pi/branch-summary.jsonl",
}
SAME = {"nothing", "undone compact"}
NEEDS_GROUP = {"forget of parallel calls", "forget of one result"}
NEEDS_LENGTH = {"compact by extract", "compact by mask"}
NEEDS_USAGE = {"trim of replies"}


def edited(session: Path, name: str, tmp_path: Path) -> Log | None:
    """A copy of the session after an edit."""
    (tmp_path / name).mkdir()
    return EDITS[name](Path(shutil.copyfile(session, tmp_path / name / session.name)))


@pytest.mark.parametrize("agent", SESSIONS)
@pytest.mark.parametrize("name", [name for name in EDITS if name not in NEEDS_GROUP | NEEDS_LENGTH | NEEDS_USAGE])
def test_an_edit_changes_the_context_or_not(agent: str, name: str, tmp_path: Path) -> None:
    """An undone op leaves what was there; any other does not."""
    log = edited(SESSIONS[agent], name, tmp_path)
    assert log is not None
    assert (context_of(agent, log) == context(agent, SESSIONS[agent])) is (name in SAME)


def test_a_compact_by_rules(tmp_path: Path) -> None:
    """Of a session that is long enough; else there is nothing to condense."""
    told, masked = [
        edited(FIXTURES / "guide/session.jsonl", f"compact by {by}", tmp_path) for by in ("extract", "mask")
    ]
    assert told is not None and any("in short" in block.key for block in context_of("claude-code", told))
    assert masked is not None and masked.state().board.stubs
    (tmp_path / "short").mkdir()
    assert edited(FIXTURES / "truth-codex/rollback2-end.jsonl", "compact by mask", tmp_path / "short") is None


@pytest.mark.parametrize(("name", "words"), [("compact", SUMMARY), ("edit", ASKED["content"]), ("trim", STUB)])
def test_what_comes_in_is_in_the_context(name: str, words: str, tmp_path: Path) -> None:
    """A summary, a question of ours, what a message is shortened to."""
    log = edited(SESSION, name, tmp_path)
    assert log is not None
    assert any(words in block.key for block in context_of("claude-code", log))


@pytest.mark.parametrize("name", ["rewind", "clear"])
def test_a_session_is_whole_after_an_op_in_its_middle(name: str, tmp_path: Path) -> None:
    """The file is as it was, and some of it is out of the context."""
    log = edited(SESSION, name, tmp_path)
    assert log is not None
    assert (tmp_path / name / SESSION.name).read_bytes() == SESSION.read_bytes()
    assert 0 < len(list(log.entries())) < len(log.messages)


@pytest.mark.parametrize("agent", ["claude-code", "pi"])
def test_no_counted_reply_is_left(agent: str, tmp_path: Path) -> None:
    """The newest message tells the size in its row, so that the agent reads a file with such a key."""
    log = edited(SESSIONS[agent], "trim of replies", tmp_path)
    assert log is not None
    told = [json.loads(line) for line in b"".join(log.session(agent, recount=True).pieces).splitlines()]
    [row] = [row for row in told if "usage" in row]
    assert row["message"]["role"] == "user" and row["usage"]["input_tokens"] == log.status().tokens.used
    assert edited(SESSIONS["codex"], "trim of replies", tmp_path / "trim of replies") is None


def results(blocks: list[Block]) -> list[str]:
    """The ids of results, those that were made up with a `?`."""
    return [block.key + "?" * bool(block.rule) for block in blocks if block.kind == "tool_result"]


def test_parallel_calls(tmp_path: Path) -> None:
    """They go together; of a result that goes alone the call stays, and gets one that says so."""
    session = FIXTURES / "truth-claude-code/p14-parallel-chain-mid.jsonl"
    whole = results(context("claude-code", session))
    logs = [edited(session, name, tmp_path) for name in ("forget of parallel calls", "forget of one result")]
    gone, one = [results(context_of("claude-code", log)) for log in logs if log is not None]
    assert len(gone) < len(whole) and not any("?" in key for key in gone)
    assert len(one) == len(whole) and sum("?" in key for key in one) == 1
    assert edited(SESSION, "forget of one result", tmp_path / "forget of one result") is None
