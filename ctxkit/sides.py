"""Sides: the states that `diff` compares, and how people name them: an op, a mark, now.

Used by `comparing`; a `Side` is a log at some point, seen through its agent, thread and windows.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ctxkit.core.context import Entry, entry
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.messages import Content
from ctxkit.core.order import Order, order
from ctxkit.core.standing import Standings
from ctxkit.errors import NoSuchOp, Usage
from ctxkit.opened import BEFORE, NOW, OpenedLog

if TYPE_CHECKING:
    from ctxkit.measuring import Measuring

MARK = "mark:"


class Side:
    """One of two contexts that are compared. `title`: which state of the log it is, in words."""

    def __init__(self, log: OpenedLog, title: str) -> None:
        self.log = log
        self.title = title
        self.state = log.state()

    @cached_property
    def order(self) -> Order:
        """The context's names; agents and threads that this state does not have yet are no error."""
        return order(self.state, self.log.lens())

    @cached_property
    def standings(self) -> Standings:
        """Where the log's messages stand."""
        return Standings(self.state, self.log.lens())

    def label(self, place: int) -> str:
        """How people write the name of the message at `place` (from 0) of the context."""
        return self.state.label(self.order[place])

    def entry(self, place: int) -> Entry:
        """The message at `place`, light."""
        return entry(self.state, self.order[place])

    def content(self, place: int) -> Content:
        """The message at `place` in full, as it is shown."""
        return self.log.full(self.entry(place))

    def text(self, place: int) -> str:
        """All words of the message at `place`."""
        return self.log.text(self.order[place])

    @cached_property
    def measuring(self) -> Measuring:
        """What measures the messages."""
        from ctxkit.counting import Counting  # brings sqlite3: only where tokens are counted
        from ctxkit.measuring import Measuring

        return Measuring(Counting(self.log))

    def tokens(self, start: int, count: int) -> int:
        """Tokens of `count` messages from place `start` on."""
        return sum(self.measuring.entries([self.entry(place) for place in range(start, start + count)]))


def side(log: OpenedLog, word: str = NOW) -> Side:
    """The state of `log` that `word` names: `now`, an op (number, id, prefix of one), a mark (LABEL or mark:LABEL).

    An op stands for the state right after it, with ^ behind it for the one right before. What reads as several of
    these is the first of: now, op number, op id, label, prefix. Raises Usage for what is none of them.
    """
    if word == NOW:
        return Side(log, NOW)
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
            raise Usage(f"{word!r} is no op and no mark of {log.opening.name}, and no file", _choice(log)) from error
        before = word.endswith(BEFORE)
    return at_op(log, op, before=before)


def at_op(log: OpenedLog, op: LedgerEntry, *, before: bool = False) -> Side:
    """The state right after an op, or right before it."""
    label = op.body.get("label") if op.name == "mark" else None
    what = f"{op.name} {label}" if isinstance(label, str) and label else op.name
    title = f"{'before ' if before else ''}op {op.number} ({what})"
    return Side(log.seen_at(f"{op.number}{BEFORE if before else ''}"), title)


def newest_change(log: OpenedLog) -> LedgerEntry | None:
    """The newest op in force that can change a context: a mark cannot."""
    found = (op for op in reversed(log.ledger.entries) if op.op is not None and not op.void and op.name != "mark")
    return next(found, None)


def _named(log: OpenedLog, word: str) -> LedgerEntry | None:
    """The op that `word` is the number, the id or the label of."""
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


def _choice(log: OpenedLog) -> str:
    count = len(log.ledger.entries)
    labels = [op.body["label"] for op in log.ledger.entries if op.name == "mark" and op.body.get("label")]
    marks = f", and the marks {', '.join(map(str, dict.fromkeys(labels)))}" if labels else ""
    have = f"has ops 1-{count}{marks}" if count else "has no ops"
    return f"the log {have}; or name two logs, or {NOW}"
