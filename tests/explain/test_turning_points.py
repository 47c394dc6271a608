"""Turning points: ops and the program's compactions, in their places, with their sizes."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Compact
from ctxkit.core.transcript import ProgramCut
from ctxkit.errors import CtxkitError
from ctxkit.explain.turning_points import places, recorded_sizes, turning_points
from ctxkit.measure.per_op import OpSizes
from tests.cli.runner import good, lines, message, small

CODEX = Path(__file__).parents[2] / "fixtures/truth-codex/compacted-list-then-legacy.jsonl"
CLAUDE = Path(__file__).parents[2] / "fixtures/proofs-claude-code/compact.jsonl"


def test_ops(tmp_path: Path) -> None:
    """Each in its place, with the messages that it left; a mark changes none."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "6")
    good("add", path, "more")
    good("protect", path, "2")
    log = Log.open(path)
    found = turning_points(log)
    assert [one.what.name for one in found if isinstance(one.what, LedgerEntry)] == ["mark", "forget", "protect"]
    forget = found[1]
    assert forget.sizes is not None and forget.sizes[0] > forget.sizes[1] and forget.unit in ("tokens", "messages")
    names = log.listed()
    at = places(log, names, found)
    assert at[0] == at[1] == len(names) - 1 and at[2] == len(names)


def test_programs() -> None:
    """What the log's program compacted stands before the first message that it left, with what was left."""
    for file in (CODEX, CLAUDE):
        log = Log.open(file)
        view = log.transcript.view
        assert view is not None
        found = [one for one in turning_points(log) if isinstance(one.what, ProgramCut)]
        assert len(found) == len(view.cuts) > 0
        assert all(one.sizes is not None and one.sizes[0] >= one.sizes[1] >= 0 for one in found)
        assert places(log, log.listed(), found) == sorted(places(log, log.listed(), found))


def test_nothing(tmp_path: Path) -> None:
    """A log without ops has none."""
    log = Log.open(small(tmp_path, marks=[]))
    assert turning_points(log) == [] and places(log, log.listed(), []) == []


@pytest.mark.parametrize("seed", range(8))
def test_what_a_compaction_did_in_tokens(tmp_path: Path, seed: int) -> None:
    """Of our own, of its undo and redo, and in a chain: what a replay counts; nothing where that is not recorded."""
    path, chance, told = tmp_path / "log.jsonl", random.Random(seed), 0
    path.write_bytes(lines(*(message("user" if n % 2 else "assistant", f"words {n} " * 40) for n in range(1, 40))))
    log = Log.open(path)
    compacted = log.compact(target="70%", force=True)
    assert compacted is not None
    for _ in range(10):
        with suppress(CtxkitError):
            match chance.choice(["compact", "undo", "undo", "redo", "forget", "add"]):
                case "compact":
                    log.compact(target=f"{chance.randint(20, 80)}%", force=True)
                case "forget":
                    log.forget([str(chance.randint(25, 39))])
                case "add":
                    log.add_message({"role": "user", "content": "more words"})
                case other:
                    getattr(log, other)()
    for effect in OpSizes(log):
        sizes, unit = recorded_sizes(log.ledger, effect.op) or ((0, 0), "")
        assert effect.before is not None and effect.after is not None
        if unit == "tokens":
            told += 1
            assert sizes == (effect.before.tokens, effect.after.tokens), effect.op.number
            assert f"{sizes[0]:,} → {sizes[1]:,} tokens" in good("log", path).text or sizes[0] == sizes[1]
        assert unit == "tokens" or not isinstance(effect.op.op, Compact)
    assert told
