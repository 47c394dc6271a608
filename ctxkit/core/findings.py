"""Findings: what `check` tells, whichever module saw it."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong. `where`: `line 7`, `op 3`, `message 12`, a file beside the log; `code` is stable."""

    where: str
    code: str
    text: str
    line: int | None = None
    """Of what is wrong with a line: its number, from 1."""
    byte: int | None = None
    """And where it stands, in bytes from the start of the log (of a container: of the messages laid out as lines)."""
    note: bool = False
    """Worth knowing, and no fault: nothing is lost, and nothing is refused for it."""
