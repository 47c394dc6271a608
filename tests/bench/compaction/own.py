"""ctxkit's own strategies, as users get them: the prefix as a log, compacted to a budget, and its context read back.

The newest step stays as it is by default, however large. Where that alone is more than the budget, the step is given
up, too (`--keep-steps 0`): no strategy here has more tokens than it was allowed, but for what it can never replace.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ctxkit import Log
from ctxkit.errors import NothingChanges
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.cases import read
from tests.bench.compaction.ready import Ready


def compacted(case: Ready, budget: int, strategy: str) -> Compacted:
    """What `ctxkit compact --budget N --strategy NAME` makes of the prefix; the prefix, where nothing gets smaller."""
    log = _compacted(case, budget, strategy, None)
    if log.compacted is not None and not log.compacted.found.reached:
        log = _compacted(case, budget, strategy, 0)
    return [log.full(one) for one in log.entries()]


def _compacted(case: Ready, budget: int, strategy: str, keep_steps: int | None) -> Log:
    log = read(case.case.prefix)
    log.dry_run = True
    try:
        op = log.compact(budget=budget, strategy=strategy, keep_steps=keep_steps)
    except NothingChanges:
        return log
    if op is not None:
        log.look_through(op)
    return log


OWN: dict[str, Callable[[Ready, int], Compacted]] = {
    f"ctxkit {name}": partial(compacted, strategy=name) for name in ("extract", "mask", "truncate")
}
"""By what the tables call them."""
