"""ctxkit's own strategies, as users get them: the prefix as a log, compacted to a budget, and its context read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.core.messages import Content
from ctxkit.core.strategies import OF_TRIM, OFFLINE
from ctxkit.errors import DoesNotFit, NothingChanges
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.cases import read
from tests.bench.compaction.ready import Ready
from tests.bench.compaction.sessions import Record


def compact(records: Sequence[Record], budget: int, strategy: str) -> list[Content]:
    """What `ctxkit compact --budget N --strategy NAME` makes of a log; the log, where nothing gets smaller."""
    log = read(records)
    log.dry_run = True
    try:
        op = log.compact(budget=budget, strategy=strategy)
    except NothingChanges:
        op = None
    if op is not None:
        log.look_through(op)
    return [log.full(one) for one in log.entries()]


def trim(records: Sequence[Record], budget: int, strategy: str) -> Compacted:
    """What `ctxkit trim --max-tokens N --strategy NAME` makes of a log; why it cannot, where it does not fit."""
    log = read(records)
    log.dry_run = True
    try:
        op = log.trim(budget, strategy=strategy)
    except DoesNotFit as error:
        return error.message
    if op is not None:
        log.look_through(op)
    return [log.full(one) for one in log.entries()]


def _trimmed(strategy: str) -> Callable[[Ready, int], Compacted]:
    return lambda case, budget: trim(case.case.prefix, budget, strategy)


def _made(strategy: str) -> Callable[[Ready, int], Compacted]:
    return lambda case, budget: compact(case.case.prefix, budget, strategy)


OWN: dict[str, Callable[[Ready, int], Compacted]] = {f"ctxkit {name}": _made(name) for name in OFFLINE}
"""By what the tables call them."""
TRIMS: dict[str, Callable[[Ready, int], Compacted]] = {
    "ctxkit trim" if name == OF_TRIM[0] else f"ctxkit trim, {name}": _trimmed(name) for name in OF_TRIM
}
"""The same, of trims: messages leave, and no summary takes their place."""
