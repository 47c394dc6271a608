"""A watched replay is, at every op, the replay of the log as it was then."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from ctxkit.core.history import history
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.names import Names
from ctxkit.core.ranges import Ranges
from ctxkit.core.replay import fold
from ctxkit.core.transcript import Cut
from ctxkit.log import Log
from tests.cli.runner import SMALL, lines
from tests.shared import SHARED

REAL = [
    path for kind in ("claude-code", "codex", "pi") for path in sorted((SHARED / "transcripts" / kind).glob("*.jsonl"))
]
OPS = ("mark", "mark", "forget", "compact", "compact", "trim", "rewind", "rewind", "undo", "undo", "clear", "edit",
       "restore", "recall", "protect")  # fmt: skip


def written(seed: int, count: int) -> bytes:
    """The small log with that many ops behind it, any op on anything."""
    chosen = random.Random(seed)
    rows, marks = [], ["gone"]
    for k in range(count):
        kind, some = chosen.choice(OPS), f"{(low := chosen.randint(1, 9))}-{chosen.randint(low, 11)}"
        op: dict[str, object] = {"ctxkit": kind, "v": 1, "id": f"o{k}", "at": {"messages": 11}}
        match kind:
            case "mark":
                marks.append(f"o{k}")
            case "rewind":
                op["to"] = chosen.choice(marks[-3:])
            case "undo":
                op["op"] = f"o{chosen.randint(max(0, k - 4), k)}"
            case "edit" | "restore":
                op["items"] = [{"n": chosen.randint(1, 11)}, {"message": {"role": "user", "content": f"said {k}"}}]
                op |= {"mode": chosen.choice(["replace", "append"])} if kind == "restore" else {}
            case "compact":
                op |= {"ids": some, "text": f"summary {k}"}
            case "trim":
                op |= {"ids": some, "stubs": {"10": "short"}}
            case "clear":
                op["keep"] = chosen.choice(["", "1-2"])
            case _:
                op["ids"] = some
        rows.append(op)
    return SMALL + lines(*rows)


def agrees(log: Log) -> int:
    """How many ops were watched; each with the state that a replay up to it comes to."""
    seen = 0
    for what, state in history(log.transcript, log.ledger):
        if isinstance(what, LedgerEntry):
            then = fold(log.transcript, log.ledger.upto(what.number), force=True)
            arrived = Names(Ranges.span(1, len(log.messages)), state.board.items)
            assert state.shown() & arrived == then.shown(), what.number
            assert state.board.stubs == then.board.stubs and len(state.marks) == len(then.marks)
            seen += 1
    return seen


@pytest.mark.parametrize("seed", range(40))
def test_every_op_as_it_was(seed: int) -> None:
    """Ops that undo others among them: what they void was in force before."""
    assert agrees(Log.open(io.BytesIO(written(seed, 25)), env={})) > 10


def test_what_is_not_played() -> None:
    """Ops that nobody knows, that cannot be read, or whose target is missing."""
    odd = [{"ctxkit": "odd", "v": 1, "id": "a"}, {"ctxkit": "forget", "v": 1, "id": "b", "at": {"messages": 11}},
           {"ctxkit": "rewind", "v": 1, "id": "c", "at": {"messages": 11}, "to": "nobody"}]  # fmt: skip
    log = Log.open(io.BytesIO(SMALL + lines(*odd)), env={})
    assert list(history(log.transcript, log.ledger)) == []


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_cuts_of_real_sessions(path: Path) -> None:
    """All cuts come, in order, and the last state is the session's."""
    log = Log.open(path)
    watched = list(history(log.transcript, log.ledger))
    view = log.transcript.view
    assert view is not None and [what for what, _ in watched if isinstance(what, Cut)] == sorted(
        view.all_cuts, key=lambda cut: cut.row
    )
    if watched:
        assert watched[-1][1].shown() == log.state().shown()
