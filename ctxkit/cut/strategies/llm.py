"""The strategy `llm`: a model summarizes what is replaced, and a summary by rules follows."""

from __future__ import annotations

from ctxkit.core.strategies import RULES
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.summarize.ask_model import summarizer
from ctxkit.errors import ModelFailed


class AskModel(Strategy):
    """A summary by a model; by rules if the model gives none."""

    fallback = RULES
    by_others = True
    tells_before = True

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Asks the model. Raises ModelFailed if the model fails and the request has no fallback."""
        plan = plan.filled()
        if not plan.is_worth:
            return plan.summarized()
        asked, before = plan.asked, plan.before.names
        try:
            asking = summarizer(plan.log, asked.model, asked.hooks)
            pieces = [piece for piece in plan.pieces if piece.name not in before] if before else plan.pieces
            words = asking.summarize(plan.log, plan.ids, pieces, plan.base_room(), asked.focus)
        except ModelFailed as error:
            if not asked.fallback:
                error.message += ": nothing was changed"
                raise
            return plan.but(failure=error.message).summarized()
        return plan.but(by_model=words).summarized()

    def note(self, plan: CompactionPlan, made: CompactionOutcome, replaced: str) -> str:
        """The note on the replaced messages, and on names that the model made up."""
        said = super().note(plan, made, replaced)
        many = plan.by_model.marked if plan.by_model is not None else 0
        return f"{said}; {many} name{'s' * (many != 1)} that no message has: marked (not in the log)" if many else said


STRATEGY = AskModel()
