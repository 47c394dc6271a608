"""The strategy `given`: a summary that somebody else wrote (`--summary-file FILE`). Users cannot choose it by name."""

from __future__ import annotations

from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.summarize.left_out import listed


class Given(Strategy):
    """The given text, under a line that names the messages."""

    shortens = False
    by_others = True

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Replaces the messages by the text."""
        text = f"[Summary of messages {listed(plan.ids, plan.state.label)}]\n\n{(plan.asked.text or '').strip()}"
        return plan.smaller(plan.outcome(plan.ids, text))


STRATEGY = Given()
