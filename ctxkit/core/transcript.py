"""A transcript: what reading a log gives, before any op is applied.

Pipeline: `store/jsonl.py` decodes rows, `formats/*` make a `Transcript` of them, `core/replay.py` folds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Damage, Message


class OpLine(msgspec.Struct):
    """An op as it stands in the log: its JSON object and its place.

    `rows` and `messages`: how many non-op rows and messages stand before it. `line` is 1-based, 0 in a sidecar
    that is merged. `sidecar`: it comes from `ops.jsonl`.
    """

    body: dict[str, Any]
    rows: int
    messages: int
    line: int = 0
    sidecar: bool = False


class Cut(msgspec.Struct):
    """The program's own compaction, rollback or rewind at one row of its log: an event that `undo` cannot name.

    At row `row` (0-based ordinal among the non-op rows) the messages `out` left the program's context;
    `moved` then stand, in this order, right after message `after`. `label` is what `why` prints.
    """

    row: int
    out: list[int]
    label: str
    moved: list[int] = []
    after: int = 0


class View(msgspec.Struct):
    """Which messages of a foreign log its program would go on with, seen from its last row.

    `order`: the numbers on the active path, earliest first, histories that a `Cut` took out included.
    `inactive`: number -> reason ("branch", "sidechain", ...) for every other message.
    `cuts`: oldest first.
    """

    order: list[int]
    inactive: dict[int, str]
    cuts: list[Cut] = []


class Transcript(msgspec.Struct):
    """The log, read. `row_of[n - 1]` is the row that opened message n (0-based, non-op rows only)."""

    format: str
    messages: Sequence[Message]
    row_of: Sequence[int]
    rows: int
    ops: list[OpLine]
    damage: list[Damage]
    view: View | None = None
    model: str = ""
