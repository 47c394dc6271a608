"""The states that `diff` compares, and their names: an op, a mark, now, a snapshot.

Used by `diff`; a `ComparedState` is a log at some point, through its agent, thread and windows. A snapshot of the log
is compared as the context after `restore --replace`; one of another log as a log of its own.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ctxkit.core.context import Entry, entry
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.messages import Content
from ctxkit.core.sets.runs import NameRuns, order
from ctxkit.core.snapshot import Snapshot, SnapshotHead
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import NoSuchLog, NoSuchOp, NoSuchSnapshot, Usage
from ctxkit.logfile.open import BEFORE, NOW, OpenLog
from ctxkit.snapshots.restore import as_log, is_own, loaded, plan

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog
    from ctxkit.measure.size import Measuring

MARK, SNAPSHOT = "mark:", "snapshot:"


class ComparedState:
    """One of two compared contexts. `title`: its name in words; `kept`: its snapshot, if it is one of this log."""

    def __init__(self, log: OpenLog, title: str, kept: SnapshotHead | None = None) -> None:
        self.log = log
        self.title = title
        self.kept = kept
        self.state = log.state()

    @cached_property
    def order(self) -> NameRuns:
        """The names of the context; an agent or thread that this state does not have yet is no error."""
        return order(self.state, self.log.projection())

    @cached_property
    def visibilities(self) -> Visibilities:
        """The visibility of the log's messages."""
        return Visibilities(self.state, self.log.projection())

    def name(self, place: int) -> Name:
        """The name of the message at `place` (from 0) of the context; for a snapshot's copy the name of its origin."""
        name = self.order[place]
        item = self.state.board.items.get(name) if self.kept is not None and isinstance(name, ItemName) else None
        return name if item is None or item.origin is None else item.origin

    def label(self, place: int) -> str:
        """The name at `place` as people write it; s.2 for a copy without an origin, the second item of the snapshot."""
        name = self.name(place)
        if self.kept is not None and isinstance(name, ItemName) and name == self.order[place]:
            return f"s.{name.k}"
        return self.state.label(name)

    def entry(self, place: int) -> Entry:
        """The message at `place`, without its content."""
        return entry(self.state, self.order[place])

    def content(self, place: int) -> Content:
        """The message at `place` in full, as it is shown."""
        return self.log.full(self.entry(place))

    def text(self, place: int) -> str:
        """All text of the message at `place`."""
        return self.log.text(self.order[place])

    @cached_property
    def measuring(self) -> Measuring:
        """Measures the tokens of messages."""
        from ctxkit.measure.count import Counting  # imports sqlite3, which only counting needs
        from ctxkit.measure.size import Measuring

        return Measuring(Counting(self.log))

    @property
    def total(self) -> int:
        """Tokens of the context, when resumed, and of what is sent besides."""
        from ctxkit.measure.count import Counting
        from ctxkit.measure.overhead import added

        counting = Counting(self.log)
        measured = self.measuring.with_counting(counting).of(list(self.order))
        return measured.resumed + added(counting, measured)

    def tokens(self, start: int, count: int) -> float:
        """Tokens of `count` messages from place `start` on."""
        return sum(self.measuring.entries([self.entry(place) for place in range(start, start + count)]))


def side(log: WritableLog, word: str = NOW) -> ComparedState:
    """The state of `log` that `word` names: `now`, an op (number, id, prefix of one), a mark (LABEL or mark:LABEL),
    a snapshot (as in `restore`, also with the prefix snapshot:).

    An op means the state right after it; with ^ after it, the one right before. If a word fits several of these, the
    first counts, in the order: now, op number, op id, label, prefix, snapshot. Raises Usage for a word that fits none;
    for a snapshot also BadSnapshot, NoPermission, ReadFailed.
    """
    if word == NOW:
        return ComparedState(log, NOW)
    if word.startswith(SNAPSHOT):
        try:
            return of_snapshot(log, loaded(log, word.removeprefix(SNAPSHOT)))
        except NoSuchSnapshot as error:
            raise Usage(error.message, error.hint) from error
    op = _named(log, word)
    before = op is None and word.endswith(BEFORE)
    if before:
        op = _named(log, word.removesuffix(BEFORE))
    if op is None:
        try:
            op = log.ledger.find(word.removesuffix(BEFORE))
        except NoSuchOp as error:
            if "not unique" in error.message:
                raise Usage(error.message, error.hint) from error
            try:
                return of_snapshot(log, loaded(log, word))
            except (NoSuchSnapshot, NoSuchLog) as none:
                if "not unique" in none.message:
                    raise Usage(none.message, none.hint) from none
            text = f"{word!r} is not an op, a mark or a snapshot of {log.opening.name}, and not a file"
            raise Usage(text, _choice(log)) from error
        before = word.endswith(BEFORE)
    return at_op(log, op, before=before)


def at_op(log: OpenLog, op: LedgerEntry, *, before: bool = False) -> ComparedState:
    """The state right after an op, or right before it (`before`)."""
    label = op.body.get("label") if op.name == "mark" else None
    what = f"{op.name} {label}" if isinstance(label, str) and label else op.name
    title = f"{'before ' if before else ''}op {op.number} ({what})"
    return ComparedState(log.seen_at(f"{op.number}{BEFORE if before else ''}"), title)


def of_snapshot(log: WritableLog, kept: Snapshot) -> ComparedState:
    """The state of a snapshot, of this log or of another one. Raises Usage for a snapshot without messages."""
    head = kept.head
    title = f"{head.kind} {head.short}" + (f" ({head.description})" if head.description else "")
    if not is_own(log, kept):
        return ComparedState(as_log(kept), f"{title} of {head.log or 'a stream'}")
    op = plan(log, kept, replace=True).op
    return ComparedState(log if op is None else log.with_op(op), title, head)


def newest_change(log: OpenLog) -> LedgerEntry | None:
    """The newest op in force that can change a context, which a mark cannot."""
    found = (op for op in reversed(log.ledger.entries) if op.op is not None and not op.void and op.name != "mark")
    return next(found, None)


def _named(log: OpenLog, word: str) -> LedgerEntry | None:
    """The op with this number, id or label."""
    label = word.removeprefix(MARK)
    if label == word:
        if word.isascii() and word.isdigit() and 0 < int(word) <= len(log.ledger.entries):
            return log.ledger.entries[int(word) - 1]
        if word in log.ledger.by_id:
            return log.ledger.by_id[word]
    marks = [op for op in log.ledger.entries if op.name == "mark" and op.body.get("label") == label]
    if len(marks) > 1:
        live = {mark.number for mark in log.state().marks}
        marks.sort(key=lambda op: (op.number in live, not op.void, op.number))
    return marks[-1] if marks else None


def _choice(log: OpenLog) -> str:
    count = len(log.ledger.entries)
    labels = [op.body["label"] for op in log.ledger.entries if op.name == "mark" and op.body.get("label")]
    marks = f", and the marks {', '.join(map(str, dict.fromkeys(labels)))}" if labels else ""
    have = f"has ops 1-{count} (1^: before all){marks}" if count else "has no ops"
    return f"the log {have}; or name two logs, a snapshot (ctxkit snapshots LOG), or {NOW}"
