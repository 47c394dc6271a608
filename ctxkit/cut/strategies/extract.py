"""The strategy `extract`: a summary by rules, of the lines that keep most: files, commands, errors, decisions."""

from __future__ import annotations

from ctxkit.core.board import shortening
from ctxkit.core.boundaries import as_told, stale
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, Resummarized
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.summarize.extraction import Extraction
from ctxkit.cut.units.text_segments import all_pieces
from ctxkit.logfile.commit import WritableLog
from ctxkit.measure.count import Counting


class Extract(Strategy):
    """A summary of verbatim lines. It can be made again from the messages that are left."""

    tells_before = True

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Summarizes all that is older than the tail."""
        return plan.filled().summarized()

    def resummarize(self, log: WritableLog, op: Compact, covered: Names, leave: Names) -> Resummarized | None:
        """Makes the summary again, within its former budget, and if it was shortened also in at most as many tokens as
        it has now, if anything fits into these; None if it would not be shorter than the messages.
        """
        if op.model is not None or not op.budget:
            return None
        state = log.state()
        ids, told = Names.parse(op.ids) & covered, Names.parse(op.tells) & covered
        unread = stale(state, ids, told, log.is_summary, leave) if op.tells else Names()
        messages: dict[Name, Content] = {name: log.original(name) for name in covered - unread
            if (0 < name <= state.count if isinstance(name, int) else name in state.board.items)}  # fmt: skip
        counter = Counting(log).counter
        whole = sum(counter.counts([piece.text for piece in all_pieces(list(messages.items()))]))
        budget = min(op.budget, whole - 1)
        if budget <= 0:
            return None
        for name in state.shown() - covered - leave:  # what stays in the context need not be in the summary
            if not (name in state.board.telling and state.board.items[name].summary):
                messages[name] = log.full(entry(state, name))
        order = as_told(state, covered if op.tells else Names())
        pieces = all_pieces(sorted(messages.items(), key=lambda one: order(one[0])))
        found = Extraction(pieces, counter.counts, state.label, focus=op.focus or "")
        own = [name for name in state.board.telling if name.op == op.id]
        now = sum(counter.counts([log.text(name) for name in own]))
        if not any(shortening(state.board.stubs.get(name)) is not None for name in own):
            text = found.text(min(budget, now), covered) or found.text(budget, covered)
            return Resummarized(op=op.id, text=text) if text else None
        text = found.text(budget, covered)
        return Resummarized(op=op.id, text=text, short=found.text(min(budget, now), covered)) if text else None


STRATEGY = Extract()
