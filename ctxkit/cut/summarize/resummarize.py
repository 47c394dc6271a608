"""Makes a summary of `compact` again, from the original messages, without those that are forgotten.

`changes/forget.py` needs it if a summary covers some of what leaves. The new text goes into the op of the forget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxkit.core.item_names import Names
from ctxkit.core.ops import Compact, Resummarized
from ctxkit.core.strategies import STRATEGIES
from ctxkit.cut.compact_plan import load

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


def resummarize(log: WritableLog, op: Compact, covered: Names, leave: Names) -> Resummarized | None:
    """The texts of the summary of `op` for the messages `covered`; None if rules cannot make it, or not shorter than
    the messages. `leave`: the messages that leave the context now.
    """
    return load(op.strategy).resummarize(log, op, covered, leave) if op.strategy in STRATEGIES else None
