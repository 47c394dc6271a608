"""A transcript: what reading a log gives, before any op is applied.

Pipeline: `store/jsonl.py` decodes rows, `formats/*` make a `Transcript` of them, `core/replay.py` folds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Damage, Message, Span
from ctxkit.core.sets.ranges import Ranges


class OpLine(msgspec.Struct):
    """An op as it stands in the log: its JSON object and its place.

    `rows` and `messages`: how many non-op rows and messages stand before it. `line` is 1-based, 0 in a sidecar
    that is merged. `sidecar`: it comes from `ops.jsonl`. `respelled`: its line is not spelled as ctxkit writes it.
    """

    body: dict[str, Any]
    rows: int
    messages: int
    line: int = 0
    sidecar: bool = False
    respelled: bool = False


class ProgramCut(msgspec.Struct):
    """The program's own compaction, rollback or rewind at one row of its log: an event that `undo` cannot name.

    At row `row` (0-based ordinal among the non-op rows) the messages `out` left the program's context;
    `moved` then stand, in this order, right after message `after`. `label` is what `why` prints.
    """

    row: int
    out: list[int] | Ranges
    label: str
    moved: Sequence[int] = []
    after: int = 0

    @property
    def is_compaction(self) -> bool:
        """Whether it is a compaction, not a rollback, a rewind or an edit."""
        return self.label.startswith("compacted by ")


class Compaction(msgspec.Struct, frozen=True):
    """What the program noted of a compaction of its own, at row `row`: the tokens before it, whether nobody asked for
    it, and the model that spoke then.
    """

    row: int
    tokens: int
    automatic: bool
    model: str


CUT_OFF = "cut-off"
"""Why a message is inactive if the path from the last row ends before it at a missing record."""
MAIN = "main"
"""How the default view of another program's log is named where a thread is asked for."""


class View(msgspec.Struct):
    """Which messages of a foreign log its program would go on with, seen from its last row.

    `order`: the numbers on the active path, earliest first, histories that a `ProgramCut` took out included.
    `inactive`: number -> reason ("branch", "sidechain", ...) for every other message.
    `cuts`: oldest first. `model`: that of the newest answer on the path, "" where none is named.
    `threads`: name -> the view of a sidechain, seen from its own last row; its `inactive` are messages of its own.
    `cut_before`: the line (1-based) of the record before which the path ends because a record is missing; messages that
    only this cuts off are inactive as `CUT_OFF`. 0: the path is whole.
    """

    order: Sequence[int]
    inactive: dict[int, str]
    cuts: list[ProgramCut] = []
    model: str = ""
    threads: dict[str, View] = {}
    cut_before: int = 0

    @property
    def all_cuts(self) -> list[ProgramCut]:
        """The cuts of the main thread, then those of the sidechains: all that a replay plays."""
        return [*self.cuts, *(cut for thread in self.threads.values() for cut in thread.cuts)]


class Transcript(msgspec.Struct):
    """The log, read. `row_of[n - 1]` is the row that opened message n (0-based, non-op rows only).

    `counts`: rows with what the provider counted, where they are no rows of a message, by the message they tell of.
    `compactions`: those of the program that noted how large its context was.
    `broken`: links to records that are missing, as far as the reader follows links.
    `inherited`: how many of the messages stand in other files, in which the history begins.
    `missing`: why the history before the first message could not be read, so that no message has a number; "" if it is
    whole.
    """

    format: str
    messages: Sequence[Message]
    row_of: Sequence[int]
    rows: int
    ops: list[OpLine]
    damage: list[Damage]
    view: View | None = None
    model: str = ""
    counts: dict[int, Span] = {}
    compactions: list[Compaction] = []
    broken: list[Damage] = []
    inherited: int = 0
    missing: str = ""


def visibility(held: Sequence[int], cuts: Sequence[ProgramCut], row_of: Sequence[int]) -> Iterator[int]:
    """Places in `held`, a context, of the messages before which no cut has changed anything since, newest first.

    A compaction ends them; a cut that took out only what came after a message, a rewind, does not.
    """
    left, lowest = len(cuts), len(row_of) + 1
    for place in range(len(held) - 1, -1, -1):
        n = held[place]
        while left and cuts[left - 1].row > row_of[n - 1]:
            left -= 1
            lowest = 0 if cuts[left].moved else min(lowest, next(iter(cuts[left].out), lowest))
        if n >= lowest:
            return
        yield place
