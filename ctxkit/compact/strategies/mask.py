"""mask: results of tools are replaced by a line each that says how long they were; nothing is summarized."""

from __future__ import annotations

from ctxkit.compact.masked_results import mask
from ctxkit.compact.plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.core.item_names import Names


class Mask(Strategy):
    """The oldest results, as many as it takes."""

    summarizes = False
    shortens = False
    nothing = (
        "no result that could be masked is longer than the line in its place: nothing was changed",
        "--strategy extract also summarizes text",
    )

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Results masked until the goal is reached."""
        return plan.smaller(plan.outcome(Names(), None, mask(plan.maskable(), plan.whole - plan.goal)))

    def note(self, plan: CompactionPlan, made: CompactionOutcome, told: str) -> str:
        """What the results say then."""
        return f"mask: {told}, their results replaced by their lengths; {made.counter}"

    def floor(self, plan: CompactionPlan, made: CompactionOutcome, least: str) -> str:
        """Nothing else could be masked."""
        return f"{least} of mask; --strategy extract leaves less"


STRATEGY = Mask()
