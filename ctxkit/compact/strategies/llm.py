"""llm: a model tells the story of what is replaced, and the facts by rules stand under it."""

from __future__ import annotations

from ctxkit.compact.ask_model import SummaryAsking
from ctxkit.compact.plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.core.strategies import RULES
from ctxkit.errors import ModelFailed


class AskModel(Strategy):
    """The words of a model; rules take over where it gives none."""

    fallback = RULES
    by_others = True

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """The story in the summary's room. Raises ModelFailed where nothing may take over."""
        if not plan.has_room():
            return plan.shortened()
        wish = plan.wish
        try:
            asking = SummaryAsking(wish.model, wish.seconds, wish.hooks)
            plan.story = asking.story(plan.log, plan.ids, plan.pieces, plan.base_room())
        except ModelFailed as error:
            if not wish.fallback:
                error.message += ": nothing was changed"
                raise
            plan.failure = error.message
        return plan.summarized()


STRATEGY = AskModel()
