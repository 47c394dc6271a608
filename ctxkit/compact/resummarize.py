"""A summary that `compact` made, made again without what is forgotten since, from the original messages.

`changes/forget.py` asks for it, where a summary tells some of what leaves; the words go into the op of the forget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxkit.compact.plan import load
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Compact
from ctxkit.core.strategies import STRATEGIES

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


def again(log: WritableLog, op: Compact, told: Names, leave: Names) -> str | None:
    """The words of a summary that `op` made by a rule, for `told` alone; None where they cannot be made again, or are
    not shorter than the messages. `leave`: what leaves the context now.
    """
    return load(op.strategy).again(log, op, told, leave) if op.strategy in STRATEGIES else None
