"""given: a summary that somebody else wrote (`--summary FILE`); no user asks for it by this name."""

from __future__ import annotations

from ctxkit.compact.left_out import these
from ctxkit.compact.plan import CompactionOutcome, CompactionPlan, Strategy


class Given(Strategy):
    """The words as they are, under a line that says of which messages they are."""

    shortens = False
    by_others = True

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """The text in the place of the messages."""
        text = f"[Summary of messages {these(plan.ids, plan.state.label)}]\n\n{(plan.wish.text or '').strip()}"
        return plan.smaller(plan.outcome(plan.ids, text))


STRATEGY = Given()
