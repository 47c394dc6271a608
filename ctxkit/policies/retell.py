"""retell: a rule-made summary again, without what was forgotten since.

A model's words cannot be made again without the model: for those, None, and the caller drops the summary (DESIGN
section 4, forget).
"""

from __future__ import annotations

from ctxkit.core.effects import Item
from ctxkit.core.names import Names
from ctxkit.core.ops import Compact
from ctxkit.core.state import State
from ctxkit.policies.compact.truncate import left_out


def retell(state: State, item: Item, told: Names) -> str | None:
    """The summary's words for `told` alone; None where its strategy is not a rule that can be applied again."""
    entry = state.ledger.by_id.get(item.name.op)
    op = entry.op if entry else None
    if isinstance(op, Compact) and op.strategy == "truncate" and op.model is None:
        return left_out(told)
    return None
