"""Collects ops while a log is read: the one way from a row with a string `ctxkit` key to an `OpLine`.

Pipeline: every format's `Reader.feed` hands op rows over here; `core/ledger.py` judges what they hold.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import OpLine

_CAPITAL = re.compile(rb"(?<!\\)(?:\\\\)*\\u[0-9a-f]{0,3}[A-F]")
"""An escape with a capital digit. ctxkit writes small ones: that is the one bit whose flip leaves an op's sum right."""


class _Lines(Protocol):
    """As much of a `formats.base.Block` as an op needs (core does not import formats)."""

    @property
    def rows(self) -> Any:
        """The decoded rows."""

    @property
    def lines(self) -> Any:
        """Their line numbers, 1-based."""

    def raw(self, i: int) -> bytes:
        """The bytes of record i."""


class OpCollector:
    """The ops of one log, in file order."""

    def __init__(self) -> None:
        self.ops: list[OpLine] = []

    def add(self, block: _Lines, i: int, rows: int, messages: int) -> None:
        """Take row `i` of `block`, an op, before which `rows` non-op rows and `messages` messages stand.

        An op whose values cannot be read (nested too deeply) keeps its name only: the ledger then finds no valid op
        in it, which is said, and nothing is applied.
        """
        raw = block.raw(i)
        try:
            body = loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            body = {"ctxkit": block.rows[i].ctxkit}
        self.ops.append(OpLine(body, rows, messages, block.lines[i], respelled=_CAPITAL.search(raw) is not None))
