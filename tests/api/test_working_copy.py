"""The working copy: the context of a log as a small log, which shows and decides the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import CtxkitError, Log
from ctxkit.api.working_copy import WorkingCopy, in_memory
from ctxkit.core.item_names import Names
from ctxkit.core.text.json_text import dumps
from ctxkit.cut.trim import Trimming, TrimRequest, as_op
from ctxkit.errors import NothingToSend
from tests.effort import examples
from tests.simulated_agent import turns

STEPS: dict[str, Callable[[Log, str], object]] = {
    "forget": lambda log, names: log.forget(names),
    "protect": lambda log, names: log.protect(names),
    "unprotect": lambda log, names: log.unprotect(names, force=True),
    "trim": lambda log, names: log.trim(900),
    "compact": lambda log, names: log.compact(names, force=True),
    "truncate": lambda log, names: log.compact(names, force=True, strategy="truncate"),
    "recall": lambda log, names: log.recall(names),
    "mark": lambda log, names: log.mark(),
    "rewind": lambda log, names: log.rewind(),
    "undo": lambda log, names: log.undo(),
    "edit": lambda log, names: log.edit(log.draft().replace("Next", "Then")),
    "clear": lambda log, names: log.clear(),
}


def agent(count: int = 25, seed: int = 1) -> Log:
    """A log in memory with so many turns."""
    log = in_memory(dumps(row).encode("ascii") for turn in turns(count, seed) for row in turn)
    log.config = log.config.given({"model": "gpt-4o", "limit": 100_000})
    return log


def shown(log: Log) -> list[object]:
    """The context, for comparing."""
    try:
        return list(log.export("chat").values)
    except NothingToSend:
        return []


def kept(log: Log) -> list[tuple[bool, ...]]:
    """Of each message of the context, whether it is protected, in full and against cuts, and part of the preamble."""
    state = log.state()
    return [(state.protected(one), state.guarded(one), state.is_preamble(one)) for one in log.names()]


def decided(log: Log, copy: WorkingCopy, budget: int) -> tuple[object, object]:
    """What a trim of the log, and one of its copy, would take."""
    found = []
    for one in (log, copy.log):
        try:
            trimming = Trimming(one, TrimRequest(budget))
            op = as_op(trimming, trimming.plan())
            if op is not None and one is not log:
                op = copy.op_in_log(op, log.here())  # type: ignore[assignment]
            found.append(None if op is None else (str(Names.parse(op.ids)), op.stubs, op.reasons))
        except CtxkitError as error:
            found.append((type(error), error.message))  # type: ignore[arg-type]
    return found[0], found[1]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(list(STEPS)), max_size=6), st.integers(0, 9))
def test_shows_and_decides_the_same(steps: list[str], seed: int) -> None:
    """After any ops the copy, and a copy of the copy, show what the log shows; a trim takes the same of them."""
    log, drawn = agent(seed=seed), random.Random(seed)
    for step in steps:
        first = drawn.randrange(1, len(log.messages))
        try:
            STEPS[step](log, f"{first}-{min(first + drawn.randrange(12), len(log.messages))}")
        except CtxkitError:
            continue
    copy = WorkingCopy.of(log)
    for one in (copy, copy.made_again()):
        assert shown(one.log) == shown(log) and kept(one.log) == kept(log)
        if "compact" in steps or "truncate" in steps:
            continue  # of a summary, a plan's reason lists what it stands for: `log` has other numbers for those
        one.log.estimates = log.estimates = True
        mine, other = decided(log, one, 600)
        assert mine == other


def test_follows_the_log() -> None:
    """A message that is added to both, and an op that is carried out in both: the same context."""
    log = agent()
    log.trim(900)
    copy = WorkingCopy.of(log)
    row = {"role": "user", "content": "more"}
    log.add_message(row)
    copy.add(dumps(row).encode("ascii"), len(log.messages))
    assert copy.in_log(Names.parse(str(len(copy.told)))) == Names.parse(str(len(log.messages)))
    found = Trimming(copy.log, TrimRequest(700))
    op = as_op(found, found.plan())
    assert op is not None
    op = copy.log.stamp(op)  # type: ignore[assignment]
    from ctxkit.core.ops import sealed

    log.append(sealed(copy.op_in_log(op, log.here())))
    copy.append(op)
    assert shown(copy.log) == shown(log)


def test_small_as_the_context() -> None:
    """A copy holds what the context has; one from which much left says so, and is made again without it."""
    log = agent(200)
    log.trim(900)
    copy = WorkingCopy.of(log)
    assert len(copy.log.messages) == len(log.names()) < len(log.messages) / 4 and not copy.is_sparse
    whole = WorkingCopy.of(agent(200))
    whole.log.trim(900)
    assert whole.is_sparse
    again = whole.made_again()
    assert shown(again.log) == shown(whole.log) and len(again.log.messages) == len(again.log.names())


@pytest.mark.parametrize("change", ["edit", "first"])
def test_what_cannot_be_copied(change: str) -> None:
    """A context with literals of an edit is looked at in the log itself; a first message that is not guarded is not."""
    log = agent()
    if change == "edit":
        log.edit(log.draft().replace("Next", "Then"))
    else:
        log.forget("2")
    copy = WorkingCopy.of(log)
    assert copy.whole is (change == "edit") and shown(copy.log) == shown(log) and kept(copy.log) == kept(log)
    assert not any(guarded for _, guarded, lead in kept(log) if not lead) or change == "edit"
    if copy.whole:
        assert copy.log is log and copy.made_again() is copy and not copy.is_sparse


def test_in_memory(tmp_path: Path) -> None:
    """A log in memory grows by messages and ops, and is the same as a file with the same lines."""
    log = in_memory()
    log.add_message({"role": "user", "content": "one"})
    log.mark("here")
    log.add_message({"role": "user", "content": "two"})
    log.rewind("here")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(log.copy_out()))
    assert shown(log) == shown(Log.open(path)) == [{"role": "user", "content": "one"}]
    assert Log.open(path).check() == [] and log.check() == []


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("later", ["2026-02-02T10:30:00Z", "2026-02-02T12:00:00Z"])
def test_what_came_back_is_as_new(append: bool, later: str) -> None:
    """What a restore brought back stands inside the window of the copy as long as inside that of the log; where it put
    the first message elsewhere, the log is its own copy.
    """
    times = ["2026-02-01T10:00:00Z", "2026-02-01T10:01:00Z", "2026-02-02T10:00:00Z"]
    rows = [
        {"role": role, "content": ts, "ts": ts} for role, ts in zip(("user", "assistant", "user"), times, strict=True)
    ]
    log = in_memory(dumps(row).encode("ascii") for row in rows)
    log.clock = lambda: 1_770_026_400.0  # 2026-02-02T10:00:00Z
    kept = log.snapshot("x").kept
    log.set_window(3600)
    log.restore(kept, append=append)
    log.add_message({"role": "user", "content": "later", "ts": later})
    copy = WorkingCopy.of(log)
    assert copy.whole is append and shown(copy.log) == shown(log) == shown(copy.made_again().log)
    assert len(shown(log)) == (4 if later < "2026-02-02T11" else 1)
