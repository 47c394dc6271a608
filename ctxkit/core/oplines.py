"""Op lines: what every format's reader does with a row that is an op.

Pipeline: a `Reader` hands each row with a string `ctxkit` to its collector; the ops end up in `Transcript.ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ctxkit.core.jsontext import loads
from ctxkit.core.transcript import OpLine


class Lines(Protocol):
    """What the collector needs of a block: the bytes and the line number of record i."""

    @property
    def lines(self) -> Sequence[int]:
        """Line numbers, 1-based."""

    def raw(self, i: int) -> bytes:
        """The bytes of record i."""


class OpCollector:
    """The ops of one log, in file order, with their places."""

    def __init__(self) -> None:
        self.ops: list[OpLine] = []

    def add(self, block: Lines, i: int, rows: int, messages: int) -> None:
        """Take record i of `block`, before which `rows` non-op rows and `messages` messages stand."""
        body = loads(block.raw(i))
        self.ops.append(OpLine(body, rows, messages, block.lines[i]))
