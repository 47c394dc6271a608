"""What a program's own compactions took out is told again, from the file, so that a later forget reaches it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Compact
from ctxkit.core.reasons import Reasons
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import CtxkitError
from tests.cut.summarize.test_resummarize import found_in, said
from tests.effort import examples
from tests.formats.claude_code.logs import assistant, boundary, log, user

EACH = 8
"""Messages between two compactions of the program."""


def session(compactions: int, more: int = EACH) -> bytes:
    """A Claude Code session with so many compactions of its own. Message n has its word; a summary by the program has
    the words of what it tells, too.
    """
    rows: list[dict[str, Any]] = []
    n, parent = 0, None

    def add(text: str, who: str, **extra: Any) -> None:
        nonlocal n, parent
        n += 1
        make = user if who == "user" else assistant
        rows.append(make(f"m{n}", parent, text, n, **extra))
        parent = f"m{n}"

    for part in range(compactions + 1):
        if part:
            rows.append(boundary(f"b{part}", None, n))
            parent = f"b{part}"
            told = "\n".join(said(k, 1) for k in range(max(1, n - EACH), n + 1))
            words = ["This session is being continued from a previous conversation.", "## Pending tasks", told]
            add("\n".join([*words, said(n + 1, 9)]), "user", isCompactSummary=True)
        for k in range(more if part == compactions else EACH):
            add(said(n + 1, 3), "user" if k % 2 == 0 else "assistant")
    return log(*rows)


def opened(raw: bytes) -> Log:
    return Log.open(io.BytesIO(raw), env={})


def summary(of: Log) -> str:
    """What the context has of ctxkit's summaries."""
    return "\n".join(of.text(one.name) for one in of.entries() if one.item is not None)


@pytest.mark.parametrize(
    ("compactions", "tells", "ids"), [(0, "", "2-"), (1, "1-8", "9-"), (2, "1-17", "18-"), (3, "1-26", "27-")]
)
def test_the_originals_are_told(compactions: int, tells: str, ids: str) -> None:
    """All of them, in order; of the program's summaries the newest alone is read."""
    one = opened(session(compactions, 40))
    op = one.compact(target="60%", keep_last=0)
    assert isinstance(op, Compact) and op.tells == tells and op.ids.startswith(ids) and op.text is not None
    old = Names.parse(tells).numbers
    quoted = {int(line.partition(" ")[0][1:]) for line in op.text.split("\n") if line.startswith("#") and ":" in line}
    assert len(quoted & set(old)) >= len(old) // 8
    stale = {9, 18, 27} & set(old)
    assert not stale & quoted
    assert op.text.startswith(f"[messages {1 if tells else 2}-")


def test_a_later_forget_reaches_them() -> None:
    """Nothing of a forgotten original is left, nor of the program's summary, which may tell it; undo brings it back."""
    one = opened(session(1, 4))
    one.compact(target="90%", keep_last=0)
    before = summary(one)
    assert 6 in found_in(before) and "#9 earlier summary" in before
    op = one.forget("6")
    after = summary(one)
    assert op.ids == "6" and 6 not in found_in(after) and "#9 earlier summary" not in after and 2 in found_in(after)
    one.undo()
    assert summary(one) == before


def test_the_reasons_know_it() -> None:
    """A message that the program took out is summarized in ctxkit's summary; it can come back beside it."""
    one = opened(session(1, 30))
    one.compact(target="70%", keep_last=0)
    reasons = [reason.text for reason in Reasons(Visibilities(one.state(), one.projection())).of(5)]
    assert any("compacted by Claude Code" in reason for reason in reasons)
    assert any("summarized in" in reason for reason in reasons)
    one.recall("5")
    assert 5 in [entry.name for entry in one.entries()]


def test_what_was_forgotten_before_is_not_told(tmp_path: Path) -> None:
    """Neither it, nor the program's summary, which may have it."""
    path = tmp_path / "log.jsonl"
    first, mark, later = session(1, 30).partition(b'{"type": "system"')
    path.write_bytes(first)
    Log.open(path, env={}).forget("6")
    with path.open("ab") as file:
        file.write(mark + later)
    one = Log.open(path, env={})
    op = one.compact(target="80%", keep_last=0)
    assert isinstance(op, Compact) and op.text is not None and op.tells == "1-5,7-8"
    assert 6 not in found_in(op.text) and 2 in found_in(op.text) and "#9 earlier summary" not in op.text
    one.undo("1")  # the forget comes after the compact again: what it told is out of it
    assert 6 not in found_in(summary(one))


def test_a_forget_that_is_in_force_again() -> None:
    """A compact that was made while it was undone has no effect, as it has none on what it replaces."""
    one = opened(session(1, 20))
    forgotten, again = one.forget("9"), one.undo()
    op = one.compact(target="80%", keep_last=0)
    assert isinstance(op, Compact) and 9 in Names.parse(op.ids) and again is not None
    one.undo(again.id)
    assert 9 not in found_in(summary(one)) and not one.state().ledger.by_id[forgotten.id].void


def test_a_second_compact_tells_them_again() -> None:
    """From the originals, as the first."""
    one = opened(session(1, 60))
    first = one.compact("9-30", target="40%")
    second = one.compact(target="50%", keep_last=0)
    assert isinstance(first, Compact) and isinstance(second, Compact)
    assert first.tells == second.tells == "1-8" and second.ids.startswith("9-")


def test_other_strategies_tell_what_they_replace() -> None:
    """They quote no messages."""
    op = opened(session(1, 40)).compact(target="30%", strategy="truncate")
    assert isinstance(op, Compact) and not op.tells


@given(
    st.integers(1, 3), st.lists(st.tuples(st.sampled_from(["compact", "forget", "undo", "redo"]), st.integers(1, 60)))
)
@settings(max_examples=examples(25), deadline=None)
def test_no_summary_tells_what_was_forgotten(compactions: int, steps: list[tuple[str, int]]) -> None:
    """Whatever is compacted, forgotten, undone in between: the forgotten words are in no summary by rules."""
    one = opened(session(compactions, 6))
    forgotten: dict[str, set[int]] = {}
    for what, n in steps:
        n = min(n, len(one.messages))
        try:
            match what:
                case "compact":
                    one.compact(target="85%", keep_last=0, force=True)
                case "forget":
                    op = one.forget(str(n))
                    forgotten[op.id] = set(Names.parse(op.ids).numbers)
                case "undo":
                    one.undo()
                case _:
                    one.redo()
        except CtxkitError:
            continue
    state = one.state()
    gone = set().union(*(names for key, names in forgotten.items() if not state.ledger.by_id[key].void))
    text = summary(one)
    assert not gone & found_in(text)
