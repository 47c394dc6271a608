"""The strategy `truncate`: the oldest messages, as many as it takes, are replaced by a line that names them."""

from __future__ import annotations

from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, Resummarized
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.summarize.left_out import left_out
from ctxkit.formats.chat import content_of
from ctxkit.logfile.commit import WritableLog


class Truncate(Strategy):
    """Replaces messages without a summary."""

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Replaces the oldest messages by a line."""
        ids = _oldest(plan) if plan.is_worth else Names()
        return plan.smaller(plan.outcome(ids, left_out(ids, plan.state.label) if ids else None))

    def resummarize(self, log: WritableLog, op: Compact, covered: Names, leave: Names) -> Resummarized:
        """The line for the messages that are left."""
        return Resummarized(op=op.id, text=left_out(covered, log.state().label))


def _oldest(plan: CompactionPlan) -> Names:
    """The oldest messages that may be replaced, as many as it takes."""
    message = {"role": "user", "content": left_out(plan.ids, plan.state.label)}
    [line] = plan.base.counting.of_contents([Content("user", [*content_of(message).parts])])
    need, going = plan.whole + line - plan.goal, list[Name]()
    for place in plan.places:
        if need <= 0:
            break
        going += plan.units[place].names
        need -= plan.units[place].tokens
    return plan.originals_of(going)


STRATEGY = Truncate()
