"""The history of a Codex session: its compactions and rollbacks, as cuts at their rows.

Pipeline: `reader.py` adds messages, turns, compactions and rollbacks in file order; `view` is the history with which
Codex would continue. Source: agents, Codex 3 and 4, and what Codex 0.169.0 was observed to do: a compaction replaces
everything before it. A rollback drops the last n turns of the user, and undoes the compactions in them.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ctxkit.core.transcript import ProgramCut, View


class _Compaction(msgspec.Struct):
    """`kept`: messages of the new history in its order; None for an old compaction without a list. `how`: in words."""

    row: int
    line: int
    kept: list[int] | None
    new: list[int]
    how: str = "compacted"


class _Rollback(msgspec.Struct):
    row: int
    line: int
    turns: int


class _Mark(msgspec.Struct):
    """An event that separates turns: "started", "ended" or "asked" (a user's message)."""

    kind: str
    turn: str


class _Segment:
    """A turn, read from its end: its id if known, whether the user speaks in it, and its compactions."""

    def __init__(self) -> None:
        self.turn = ""
        self.asked = False
        self.compactions: list[int] = []


class CodexHistory:
    """Events in file order, from which `view` finds what Codex would send."""

    def __init__(self) -> None:
        self._events: list[int | _Compaction | _Rollback | _Mark] = []
        """A number is a message that was added."""
        self._asking: set[int] = set()
        self._asides: set[int] = set()
        self._summaries: set[int] = set()

    def add(self, n: int) -> None:
        """Append message n."""
        self._events.append(n)

    def mark(self, kind: str, turn: str = "") -> None:
        """Record that a turn `started` or `ended`, or that the user `asked`; `turn`: its id."""
        self._events.append(_Mark(kind, turn))

    def asks(self, n: int) -> None:
        """Record that message n begins a turn of the user."""
        self._asking.add(n)

    def aside(self, n: int) -> None:
        """Record that message n belongs to the turn that follows it."""
        self._asides.add(n)

    def summary(self, n: int) -> None:
        """Record that message n is the summary of an old compaction."""
        self._summaries.add(n)

    def compact(self, row: int, line: int, kept: list[int] | None, new: Iterable[int]) -> None:
        """Record a compaction: the messages that it lists, `new` those of them that are new.

        `kept` is None for an old one: it keeps the user's messages, then `new`.
        """
        self._events.append(_Compaction(row, line, kept, list(new)))

    def begin_anew(self, row: int, line: int) -> None:
        """Record that what came before is not sent any more."""
        self._events.append(_Compaction(row, line, [], [], "begun anew"))

    def roll_back(self, row: int, line: int, turns: int) -> None:
        """Record that the last `turns` turns of the user were dropped."""
        if turns > 0:
            self._events.append(_Rollback(row, line, turns))

    def view(self, count: int) -> View:
        """The view: all messages in order, and the cuts that took messages out."""
        undone = self._undone()
        numbers: list[int] = []
        cuts: list[ProgramCut] = []
        lost: list[int] = []
        where, moved = "", False
        for at, event in enumerate(self._events):
            if isinstance(event, int):
                numbers.append(event)
            elif isinstance(event, _Compaction) and at in undone:
                lost += event.new
                if where:
                    cuts.append(ProgramCut(event.row, lost, where))
                    lost = []
            elif isinstance(event, _Compaction):
                kept = self._kept(event, numbers)
                out = sorted({*numbers, *lost} - {*kept})
                moved = moved or kept != sorted(kept)
                label = f"{event.how} by Codex at line {event.line}"
                cuts.append(
                    ProgramCut(event.row, out, label, kept[1:] if moved else [], kept[0] if moved and kept else 0)
                )
                numbers, lost = kept, []
            elif isinstance(event, _Rollback):
                where = f"rolled back by Codex at line {event.line}"
                remaining = self._remaining(numbers, event.turns)
                cuts.append(ProgramCut(event.row, sorted({*numbers[remaining:], *lost}), where))
                numbers, lost = numbers[:remaining], []
        present = set(numbers)
        for cut in cuts:  # a later compaction may list again what an earlier one took out
            cut.out = [n for n in cut.out if n not in present]
        return View(list(range(1, count + 1)), {}, cuts)

    def _kept(self, event: _Compaction, numbers: list[int]) -> list[int]:
        if event.kept is not None:
            return list(event.kept)
        return [*(n for n in numbers if n in self._asking and n not in self._summaries), *event.new]

    def _remaining(self, numbers: list[int], turns: int) -> int:
        """How many of `numbers` a rollback leaves. Asides directly before its first dropped turn go, too."""
        starts = [at for at, n in enumerate(numbers) if n in self._asking]
        if not starts:
            return len(numbers)
        remaining = starts[-min(turns, len(starts))]
        while remaining > starts[0] and numbers[remaining - 1] in self._asides:
            remaining -= 1
        return remaining

    def _undone(self) -> set[int]:
        """The compactions in turns that were rolled back, as indexes of the events."""
        undone: set[int] = set()
        turns = 0
        segment: _Segment | None = None
        for at in range(len(self._events) - 1, -1, -1):
            event = self._events[at]
            if isinstance(event, _Rollback):
                turns += event.turns
                continue
            if isinstance(event, _Mark) and event.kind == "started":
                if segment is None or (segment.turn and event.turn and segment.turn != event.turn):
                    continue
                turns, segment = self._close(segment, turns, undone), None
                continue
            segment = segment or _Segment()
            if isinstance(event, _Compaction):
                segment.compactions += [at] if event.kept is not None else []
            elif isinstance(event, _Mark):
                segment.turn = segment.turn or event.turn
                segment.asked = segment.asked or event.kind == "asked"
            else:
                segment.asked = segment.asked or event in self._asking
        if segment is not None:
            self._close(segment, turns, undone)
        return undone

    @staticmethod
    def _close(segment: _Segment, turns: int, undone: set[int]) -> int:
        """The number of turns still to be dropped before `segment`."""
        if turns:
            undone.update(segment.compactions)
        return turns - 1 if turns and segment.asked else turns
