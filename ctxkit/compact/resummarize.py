"""Retelling: a summary that `compact` made, made again without what is forgotten since, from the original messages.

`changes/forget.py` asks for it, where a summary tells some of what leaves; the words go into the op of the forget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxkit.compact.extract import extract
from ctxkit.compact.truncate import left_out
from ctxkit.content.text_segments import all_pieces
from ctxkit.core.context import entry
from ctxkit.core.messages import Content
from ctxkit.core.names import Name, Names
from ctxkit.core.ops import Compact
from ctxkit.measure.count import Counting

if TYPE_CHECKING:
    from ctxkit.logfile.commit import CommittingLog


def again(log: CommittingLog, op: Compact, told: Names, leave: Names) -> str | None:
    """The words of a summary that `op` made by a rule, for `told` alone, within the tokens that it was made for; None
    where that gives none that are shorter than the messages. `leave`: what leaves the context now.
    """
    if op.strategy == "truncate":
        return left_out(told, log.state().label)
    if op.strategy != "extract" or op.model is not None or not op.budget:
        return None
    state = log.state()
    messages: dict[Name, Content] = {name: log.original(name) for name in told if _is_there(log, name)}
    counter = Counting(log).counter
    whole = sum(counter.counts([piece.text for piece in all_pieces(list(messages.items()))]))
    budget = min(op.budget, whole - 1)
    if budget <= 0:
        return None
    for name in state.shown() - told - leave:  # what stays beside it need not be said by it
        if not (name in state.board.telling and state.board.items[name].summary):
            messages[name] = log.full(entry(state, name))
    pieces = all_pieces(sorted(messages.items(), key=lambda one: state.key(one[0])))
    return extract(pieces, budget, counter.counts, told=told, label=state.label)


def _is_there(log: CommittingLog, name: Name) -> bool:
    return name in log.state().board.items if not isinstance(name, int) else 0 < name <= log.state().count
