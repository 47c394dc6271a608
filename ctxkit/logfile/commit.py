"""Committing: a decision becomes an op of the log: stamped, sized, and appended once.

Pipeline: a capability decides, `Log` (a method per command) calls `commit`, `logfile/append.py` appends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from ctxkit.core.chain import head
from ctxkit.core.decision import Decision, Outcome, holds
from ctxkit.core.derive.usage import Figures
from ctxkit.core.item_names import Names
from ctxkit.core.op_fit import stays_void
from ctxkit.core.ops import Compact, Count, Edit, Op, Restore, Resummarized, sealed
from ctxkit.core.state import State
from ctxkit.errors import UpdatedElsewhere, Usage
from ctxkit.logfile.append import UNKEPT, AppendableLog, OpsAppended

TRIES = 5
"""How often an op is decided at most, if other ops are appended meanwhile (replay 62)."""
MEANWHILE = "other ops were appended meanwhile: the figures are of the context before them"
ALSO = {"trim": "compact"}
"""Command -> the op that it may write besides its own (`trim.summarize`)."""


class WritableLog(AppendableLog):
    """A log that takes decisions. `op_id`: the id of the next op; `said`: the text of the last decision."""

    op_id: str | None = None
    said = ""
    written: str | None = None
    """The id of the op that was appended last."""
    warned: Sequence[str] = ()
    """What went wrong beside the last decision, in words."""

    def commit(
        self, name: str, decide: Callable[[], Decision], recheck: Callable[[Op], None] | None = None
    ) -> Op | None:
        """Stamp and append the result of a decision; None, and nothing appended, if there is nothing to do.

        An op is only appended to the log that it was decided on. If others came meanwhile, it is decided again on the
        log as it is now, at most TRIES times; a settled decision is kept if nothing that it names changed (replay 62).
        `recheck` raises if the op must not be appended to the log as it has become; it is called if messages came, and
        for a settled decision if ops came.

        If the log already has an op with `op_id` (a retry), nothing is decided or appended, and that op is returned.
        Raises UpdatedElsewhere.
        """
        decision = self._decided(name, decide)
        for left in reversed(range(TRIES)):
            if not isinstance(decision, Decision):
                return decision
            op, before = decision.op, self.state()
            if op is None:
                return None
            try:
                return self._append(op, recheck, decision.outcome)
            except OpsAppended:
                self.refresh()
            if (known := self._repeated(name)) is not None:  # the same, tried twice at once
                return known
            if not left:
                break
            if not decision.settled:
                decision = self._decided(name, decide)
                continue
            if recheck is not None:
                recheck(op)
            elif not holds(op, before, self.state()):
                raise self._elsewhere("other ops changed the messages that this one names")
            decision.op = self._moved_up(op)
            if self.figures is not None:
                self.figures = None
                self.notes = [*self.notes, MEANWHILE]
        raise self._elsewhere("other ops are appended again and again")

    def _elsewhere(self, what: str) -> UpdatedElsewhere:
        text = f"updated elsewhere: {what} in {self.opening.name}: nothing was appended"
        return UpdatedElsewhere(text, "check the log, and try again")

    def _moved_up(self, op: Op) -> Op:
        """A settled op, moved after the ops that came. One that replaces the whole context keeps its point, because
        later messages stay beside it.
        """
        return op if puts_whole(op) else msgspec.structs.replace(op, at=self.here())

    def _repeated(self, name: str) -> Op | None:
        """The op with `op_id`, if the log has it already, made durable. Raises Usage if it is another command's,
        WriteFailed.
        """
        known = self.ledger.by_id.get(self.op_id) if self.op_id else None
        if known is None:
            return None
        if known.op is None:
            raise Usage(f"op id {self.op_id} is that of an op that cannot be read: nothing was appended", "another")
        if known.name not in (name, ALSO.get(name)):
            what = f"op id {self.op_id} is that of op {known.number}, a {known.name}"
            raise Usage(f"{what}: nothing was appended", "use an id only for one op and its retries")
        self.make_durable()  # the first try may have been killed, or failed, before it was durable
        self.said, self.notes = f"op {self.op_id} is there already: nothing appended.", ()
        return known.op

    def _decided(self, name: str, decide: Callable[[], Decision]) -> Decision | Op:
        """The decision on the log as it was read; or the op with `op_id`, if it is there already."""
        known = self._repeated(name)
        if known is not None:
            return known
        self.figures, self.warned = None, ()
        decision = decide()
        self.said, self.notes = decision.said, decision.notes
        return decision

    def _append(self, decided: Op, recheck: Callable[[Op], None] | None, outcome: Outcome | None = None) -> Op:
        """Stamp, size and append one op. Raises OpsAppended, and what `append` raises."""
        before, entries = self.state(), self.ledger.entries
        if self._beside() and entries and entries[-1].place > (decided.at.rows or 0):
            raise self._elsewhere("messages and other ops came")  # it would be placed before the newest op
        op = self.stamp(decided, self.op_id)
        if self.hidden and UNKEPT not in self.notes:
            self.notes = [*self.notes, UNKEPT]
        op.prev = head(entries)
        if op.name not in ("mark", "protect", "unprotect", "window"):
            after = self.state_with(op)
            if not self.force:
                stays_void(before.ledger, after.ledger, self.transcript, self.identity)
            if outcome is not None:
                self.said, more = outcome(before, after)
                self.notes = [*self.notes, *more]
            self.weigh(after)
            op.before, op.after = sizes(before, after, self.figures)
        if not self.dry_run:
            self.before_append(op)
            self.append(sealed(op), None if recheck is None else partial(recheck, op))
            self.written = op.id
            self.after_append(op)
        return op

    @property
    def chosen_by_model(self) -> bool:
        """Whether a model chose what an op took out: only then a cleanup may be due."""
        return any("answer" in line.body for line in self.transcript.ops)

    def look_through(self, op: Op) -> str:
        """From now on this object's context is as if `op` came after everything; nothing is appended. Returns its id.

        Earlier ops of `look_through` stay.
        """
        made = self.stamp(op, None)
        self._state = self.state_with(made)
        self.through = (*self.through, made)
        return made.id

    # Hooks for rooms above this one; `Log` fills them.

    def before_append(self, op: Op) -> None:
        """Called before an op is appended: `Log` makes a checkpoint of the context that it replaces."""

    def after_append(self, op: Op) -> None:
        """Called once an op is durable."""

    def weigh(self, after: State) -> None:
        """Called with the state after an op: `Log` counts its tokens, if a token log is kept."""

    def again(self, op: Compact, covered: Names, leave: Names) -> Resummarized | None:
        """The summary of `op` written again for the messages `covered` only, because `leave` are forgotten; None if
        that is not possible.
        """
        return None


def puts_whole(op: Op) -> bool:
    """Whether an op defines the whole context."""
    return isinstance(op, Edit) or (isinstance(op, Restore) and op.mode == "replace")


def sizes(before: State, after: State, counted: Figures | None) -> tuple[Count, Count]:
    """The sizes of the context before and after an op; tokens if they were counted, by one counter."""
    one, other = (Count(messages=len(state.shown())) for state in (before, after))
    if counted is not None:
        left = counted.beyond if counted.left is None else counted.left
        one.tokens, other.tokens = counted.before + counted.beyond, counted.after + left
        one.counter = other.counter = counted.counter
    return one, other
