"""History: a replay that is watched, op by op and cut by cut, as they came.

Used for the course of a context over a session; `replay` folds in one go, and knows from the start what is void.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.core.fit import dangling
from ctxkit.core.ledger import Ledger, LedgerEntry
from ctxkit.core.ops import Undo
from ctxkit.core.replay import FOREIGN, Event, Fold, goes_back_to, play_all, represents
from ctxkit.core.state import State
from ctxkit.core.transcript import Cut, Transcript


def history(transcript: Transcript, ledger: Ledger) -> Iterator[tuple[LedgerEntry | Cut, State]]:
    """Every op and every cut of the program, in order, with the state right after it: later undos did not count yet.

    As `force` folds: what cannot be read or has no target is passed over. The state goes on changing: look at it at
    once. Linear, but for ops that undo something, each of which plays the ones before it again.
    """
    base = State(transcript, ledger, len(transcript.messages))
    if transcript.view:
        base.use(transcript.view)
    after_ops = len(ledger.entries) + 1
    cuts = transcript.view.all_cuts if transcript.view else []
    events: list[Event] = [(entry.when, entry.number, entry) for entry in ledger.entries]
    events += [((cut.row, after_ops), FOREIGN - index, cut) for index, cut in enumerate(cuts)]
    events.sort(key=lambda event: event[0])
    earlier: dict[str, LedgerEntry] = {}
    played: list[Event] = []
    void: set[int] = set()
    folder = Fold(base.afresh())
    for event in events:
        when, source, what = event
        op = None
        if not isinstance(what, Cut):
            missing = dangling(what, earlier)
            earlier.update({what.id: what} if what.id else {})
            op = what.op
            if missing or op is None:
                continue
        played.append(event)
        left = folder.state.representation
        if isinstance(op, Undo):
            void = {entry.number for entry in ledger.upto(source).entries if entry.void}
        if isinstance(op, Undo) or (
            (since := goes_back_to(folder.state, when, op, after_ops)) is not None and left and left[-1][0] > since
        ):
            folder = Fold(base.afresh())
            play_all(folder, [one for one in played if one[1] not in void], after_ops)
        else:
            if represents(op):
                left.append((when, source))
            folder.play(event)
        yield what, folder.state
