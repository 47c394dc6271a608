"""truncate: the oldest messages are replaced by a line that names them; as many as it takes."""

from __future__ import annotations

from ctxkit.compact.left_out import left_out
from ctxkit.compact.plan import CompactionOutcome, CompactionPlan, Strategy, user
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact
from ctxkit.formats.chat import content_of
from ctxkit.logfile.commit import WritableLog


class Truncate(Strategy):
    """The last resort: nothing of the messages is told."""

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """A line for the oldest messages."""
        if not plan.is_worth:
            return plan.shortened()
        ids = _oldest(plan)
        return plan.smaller(plan.outcome(ids, left_out(ids, plan.state.label) if ids else None))

    def again(self, log: WritableLog, op: Compact, told: Names, leave: Names) -> str:
        """The line for the others."""
        return left_out(told, log.state().label)


def _oldest(plan: CompactionPlan) -> Names:
    """The oldest of what may be replaced, as far as it takes."""
    said = user(left_out(plan.ids, plan.state.label))
    [line] = plan.base.counting.of_contents([Content("user", [*content_of(said).parts])])
    need, going = plan.whole + line - plan.goal, list[Name]()
    for place in plan.places:
        if need <= 0:
            break
        going += plan.units[place].names
        need -= plan.units[place].tokens
    return plan.originals_of(going)


STRATEGY = Truncate()
