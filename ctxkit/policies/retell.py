"""retell: a rule-made summary again, without what was forgotten since.

A model's words, or a person's, cannot be made again by a rule: for those, None, and the caller drops the summary.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxkit.core.effects import Item
from ctxkit.core.names import Names
from ctxkit.core.ops import Compact
from ctxkit.core.state import State

Again = Callable[[Compact, Names, Names], str | None]
"""Makes the words of a compact again from the original messages: for the names that it still tells, when others leave;
None where there are no such words.
"""


def nobody(op: Compact, told: Names, leave: Names) -> str | None:
    """Where the messages cannot be read."""
    return None


def retell(state: State, item: Item, told: Names, leave: Names, again: Again = nobody) -> str | None:
    """The summary's words for `told` alone; None where its strategy is not a rule that can be applied again."""
    entry = state.ledger.by_id.get(item.name.op)
    op = entry.op if entry else None
    if not isinstance(op, Compact) or op.model is not None or not item.summary:
        return None
    return again(op, told, leave)
