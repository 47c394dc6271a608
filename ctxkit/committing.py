"""Committing: what is decided becomes an op of the log: stamped, sized, and appended once.

Pipeline: `policies` decide, `Log` (a method per command) calls `commit`, `appending.py` appends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ctxkit.appending import AppendingLog
from ctxkit.core.ops import Count, Op, sealed
from ctxkit.core.state import State
from ctxkit.core.usage import Figures
from ctxkit.errors import Usage
from ctxkit.policies.decision import Decision

ALSO = {"trim": "compact"}
"""Command -> the op that it may write besides its own (`trim.summarize`)."""


class CommittingLog(AppendingLog):
    """A log that takes decisions. `op_id`: the id of the next op; `said`, `notes`: the words of the last decision."""

    op_id: str | None = None
    said = ""
    notes: Sequence[str] = ()
    written: str | None = None
    """The id of the op that was appended last."""

    def commit(
        self, name: str, decide: Callable[[], Decision], recheck: Callable[[Op], None] | None = None
    ) -> Op | None:
        """Stamp and append what is decided; None, and nothing appended, where there is nothing to do.

        `recheck`: raises where the op must not be appended to the log as it has become since it was read.

        Where the log has an op with `op_id` already, a retry: nothing is decided or appended, and that op is returned.
        """
        known = self.ledger.by_id.get(self.op_id) if self.op_id else None
        if known is not None:
            if known.op is None:
                raise Usage(f"op id {self.op_id} is that of an op that cannot be read: nothing was appended", "another")
            if known.name not in (name, ALSO.get(name)):
                what = f"op id {self.op_id} is that of op {known.number}, a {known.name}"
                raise Usage(f"{what}: nothing was appended", "an id is for one op and its retries")
            self.said, self.notes = f"op {self.op_id} is there already: nothing appended.", ()
            return known.op
        self.figures = None
        decision = decide()
        self.said, self.notes = decision.said, decision.notes
        if decision.op is None:
            return None
        before = self.state()
        op = self.stamp(decision.op, self.op_id)
        if op.name not in ("mark", "protect", "unprotect", "window"):
            after = self.state_with(op)
            self.weigh(after)
            op.before, op.after = sizes(before, after, self.figures)
        if not self.dry_run:
            self.append(sealed(op), None if recheck is None else partial(recheck, op))
            self.written = op.id
        return op

    def weigh(self, after: State) -> None:
        """Count what an op makes of the context, where account of it is kept, unless it is counted."""
        if self.figures is None and self.meter is not None:
            from ctxkit.measuring import change  # brings sqlite3: only where tokens are counted

            self.tell(change(self, after))


def sizes(before: State, after: State, counted: Figures | None) -> tuple[Count, Count]:
    """What an op says of the context before and after it; tokens where they were counted, by one counter."""
    one, other = (Count(messages=len(state.shown())) for state in (before, after))
    if counted is not None:
        left = counted.beyond if counted.left is None else counted.left
        one.tokens, other.tokens = counted.before + counted.beyond, counted.after + left
        one.counter = other.counter = counted.counter
    return one, other
