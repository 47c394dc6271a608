"""The history of a Codex session: its compactions and rollbacks, as cuts at their rows.

Pipeline: `reader.py` tells it of messages, turns, compactions and rollbacks in file order; `view` is what Codex would
go on with. Source: agents, Codex 3 and 4, and what Codex 0.169.0 was seen to do: a compaction replaces everything
before it; a rollback drops the last n turns of the user, and a compaction in one of them is as if it had not been.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ctxkit.core.transcript import ProgramCut, View


class _Compaction(msgspec.Struct):
    """`kept`: messages of the history in the order in which it lists them, None for an old one without a list."""

    row: int
    line: int
    kept: list[int] | None
    new: list[int]


class _Rollback(msgspec.Struct):
    row: int
    line: int
    turns: int


class _Mark(msgspec.Struct):
    """An event that tells turns apart: "started", "ended" or "asked" (a user's message)."""

    kind: str
    turn: str


class _Segment:
    """A turn, seen from its end: its id where one is known, whether the user speaks in it, and its compactions."""

    def __init__(self) -> None:
        self.turn = ""
        self.asked = False
        self.compactions: list[int] = []


class CodexHistory:
    """What Codex would send: events in file order, which `view` plays."""

    def __init__(self) -> None:
        self._events: list[int | _Compaction | _Rollback | _Mark] = []
        """A number: the message that comes last."""
        self._asking: set[int] = set()
        self._asides: set[int] = set()
        self._summaries: set[int] = set()

    def add(self, n: int) -> None:
        """Message n comes last."""
        self._events.append(n)

    def mark(self, kind: str, turn: str = "") -> None:
        """A turn `started` or `ended`, or the user `asked`; `turn`: its id."""
        self._events.append(_Mark(kind, turn))

    def asks(self, n: int) -> None:
        """Message n begins a turn of the user."""
        self._asking.add(n)

    def aside(self, n: int) -> None:
        """Message n goes with the turn that it stands before."""
        self._asides.add(n)

    def summary(self, n: int) -> None:
        """Message n is the summary of an old compaction."""
        self._summaries.add(n)

    def compact(self, row: int, line: int, kept: list[int] | None, new: Iterable[int]) -> None:
        """A compaction: what it lists, `new` what of that was not there before. None: the user's words, then `new`."""
        self._events.append(_Compaction(row, line, kept, list(new)))

    def roll_back(self, row: int, line: int, turns: int) -> None:
        """The last `turns` turns of the user are gone."""
        if turns > 0:
            self._events.append(_Rollback(row, line, turns))

    def view(self, count: int) -> View:
        """Every message is on the one path; what is out is out by a cut."""
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
                label = f"compacted by Codex at line {event.line}"
                cuts.append(
                    ProgramCut(event.row, out, label, kept[1:] if moved else [], kept[0] if moved and kept else 0)
                )
                numbers, lost = kept, []
            elif isinstance(event, _Rollback):
                where = f"rolled back by Codex at line {event.line}"
                held = self._held(numbers, event.turns)
                cuts.append(ProgramCut(event.row, sorted({*numbers[held:], *lost}), where))
                numbers, lost = numbers[:held], []
        present = set(numbers)
        for cut in cuts:  # what an earlier one took and a later one lists again is there
            cut.out = [n for n in cut.out if n not in present]
        return View(list(range(1, count + 1)), {}, cuts)

    def _kept(self, event: _Compaction, numbers: list[int]) -> list[int]:
        if event.kept is not None:
            return list(event.kept)
        return [*(n for n in numbers if n in self._asking and n not in self._summaries), *event.new]

    def _held(self, numbers: list[int], turns: int) -> int:
        """How many of `numbers` a rollback leaves: not what was said by itself right before the first turn it drops."""
        starts = [at for at, n in enumerate(numbers) if n in self._asking]
        if not starts:
            return len(numbers)
        held = starts[-min(turns, len(starts))]
        while held > starts[0] and numbers[held - 1] in self._asides:
            held -= 1
        return held

    def _undone(self) -> set[int]:
        """The compactions, by their place in the events, that stand in turns that were rolled back."""
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
                turns, segment = self._settle(segment, turns, undone), None
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
            self._settle(segment, turns, undone)
        return undone

    @staticmethod
    def _settle(segment: _Segment, turns: int, undone: set[int]) -> int:
        """How many turns are still to be dropped before `segment`."""
        if turns:
            undone.update(segment.compactions)
        return turns - 1 if turns and segment.asked else turns
