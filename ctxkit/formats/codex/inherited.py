"""A Codex history that begins in another file: a fork, or a later page of a long thread.

Pipeline: `logfile/history.py` asks the format -> here. Codex (0.153 and later, in mode "paginated") writes only what
is new into such a file. The "history_base" of its first row names the file before it by the last id in its name, the
number of the row that comes next (`ordinal` counts rows over all files), and the byte of that file after the last row
that counts. Source: what Codex 0.171.0 wrote and sent (docs/agents.md).
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import spliced
from ctxkit.core.text.utf8 import utf8
from ctxkit.formats.base import UNKNOWN, Inherited

_BASE, MODE = ("payload", "history_base"), ("payload", "history_mode")
PAGINATED, LEGACY = "paginated", "legacy"
"""Modes of a file: only a paginated one goes on from another; a legacy one holds its whole history."""


def inherited(first: dict[str, Any]) -> Inherited | None:
    """What the file with this first row goes on from; None if it stands alone.

    A row with a number that is no `session_meta` is not the first: that one, and what it may name, is lost.
    """
    payload = first.get("payload")
    if first.get("type") != "session_meta":
        return UNKNOWN if _count(first.get("ordinal")) > 0 else None
    if not isinstance(payload, dict) or payload.get("history_mode") != PAGINATED:
        return None
    base = payload.get("history_base")
    if base is None:
        return None
    named = base if isinstance(base, dict) else {}
    thread, rows, end = (named.get(key) for key in ("thread_id", "end_ordinal_exclusive", "end_byte_offset"))
    return Inherited(thread if isinstance(thread, str) else "", _count(rows), _count(end))


def unopened(first: dict[str, Any], last: dict[str, Any]) -> tuple[str, bool] | None:
    """Why Codex does not open a file with these rows, and whether it is for the last one; None if it does."""
    payload = first.get("payload")
    if first.get("type") != "session_meta" or not isinstance(payload, dict):
        return None
    mode = payload.get("history_mode", LEGACY)
    if mode is None:
        return "Codex does not open a file whose history_mode is null", False
    if mode == PAGINATED and "ordinal" not in last:
        return "Codex does not open a paginated file whose last row has no ordinal", True
    return None


def _count(value: Any) -> int:
    """A number of bytes or rows; -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1


def alone(first: bytes) -> bytes:
    """The first row of a file as that of one that holds its whole history.

    Codex reads a paginated file from its last `session_meta` on, and a legacy one from the first: what is joined holds
    several, so it is legacy, as a fork of older versions, which copied the rows of its parent.
    """
    return spliced(first, {_BASE: b"null", MODE: utf8(dumps(LEGACY))})


def misfit(base: Inherited, first: bytes, last: bytes) -> str:
    """Why a file with this first row, and `last` as the last one before byte `base.end`, is not what `base` names; ""
    if it is. Codex itself does not compare the number of the row.
    """
    head = _record(first).get("payload")
    if not isinstance(head, dict) or head.get("history_mode") != PAGINATED:
        return "is not paginated"
    if last == first.rstrip(b"\n"):
        return ""
    ordinal = _record(last).get("ordinal", base.rows - 1)
    return "" if ordinal == base.rows - 1 else f"has row {ordinal} before byte {base.end}, not row {base.rows - 1}"


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
