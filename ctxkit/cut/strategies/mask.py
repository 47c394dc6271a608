"""The strategy `mask`: each result of a tool is replaced by a line with its length. Nothing is summarized."""

from __future__ import annotations

from ctxkit.core.item_names import Names
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.shorten.shorten import mask


class Mask(Strategy):
    """Masks the oldest results, as many as it takes."""

    summarizes = False
    shortens = False
    nothing = (
        "no result that could be masked is longer than the line in its place: nothing was changed",
        "--strategy extract also summarizes text",
    )

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Masks results until the goal is reached."""
        return plan.smaller(plan.outcome(Names(), None, mask(plan.maskable(), plan.whole - plan.goal)))

    def note(self, plan: CompactionPlan, made: CompactionOutcome, replaced: str) -> str:
        """The note on the messages with masked results."""
        return f"mask: {replaced}, their results replaced by their lengths; {made.counter}"

    def floor(self, plan: CompactionPlan, made: CompactionOutcome, least: str) -> str:
        """The note if masking all results does not reach the target."""
        return f"{least} of mask; --strategy extract leaves less"


STRATEGY = Mask()
