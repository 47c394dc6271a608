"""The history of a Codex session: its compactions and rollbacks, as cuts at their rows.

Pipeline: `reader.py` tells it of messages, turns, compactions and rollbacks in file order; `view` is what Codex would
go on with. Source: TRUTH, Codex rules 3 and 4: a compaction replaces everything before it; a rollback drops the last n
turns of the user, and one that goes back past a compaction undoes that compaction.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ctxkit.core.transcript import Cut, View


class _Turn(msgspec.Struct):
    """A turn of the user: its first message and row, and how many messages the history held before it."""

    n: int
    row: int
    held: int


class History:
    """What Codex would send, message numbers in order, while the file is read."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._cuts: list[tuple[Cut, list[int]]] = []
        """Each compaction with the history that it replaced; each rollback with an empty one."""
        self._turns: list[_Turn] = []
        self._last = 0

    def add(self, n: int) -> None:
        """Message n comes last."""
        self.numbers.append(n)
        self._last = n

    def turn(self, n: int, row: int) -> None:
        """The user begins a turn with message n; told before `add`."""
        self._turns.append(_Turn(n, row, len(self.numbers)))

    def compact(self, row: int, line: int, kept: list[int], new: Iterable[int]) -> None:
        """A compaction: `kept` are messages of the history in the order in which it lists them, `new` its own."""
        stays = set(kept)
        fresh = list(new)
        out = [n for n in self.numbers if n not in stays and n not in fresh]
        moved = [] if kept == sorted(kept) else kept[1:]
        after = kept[0] if moved else 0
        self._cuts.append((Cut(row, out, f"compacted by Codex at line {line}", moved, after), self.numbers))
        self.numbers = list(kept)
        self._last = max([self._last, *fresh])

    def roll_back(self, row: int, line: int, turns: int) -> None:
        """The last `turns` turns of the user are gone; compactions since then are undone."""
        if turns <= 0 or not self._turns:
            return
        to = self._turns[-min(turns, len(self._turns))]
        del self._turns[-min(turns, len(self._turns)) :]
        while self._cuts and self._cuts[-1][0].row > to.row:
            _, before = self._cuts.pop()
            if before:
                self.numbers = before
        out = list(range(to.n, self._last + 1))
        del self.numbers[to.held :]
        self._cuts.append((Cut(row, out, f"rolled back by Codex at line {line}"), []))

    def view(self, count: int) -> View:
        """Every message is on the one path; what is out is out by a cut."""
        return View(list(range(1, count + 1)), {}, [cut for cut, _ in self._cuts])
