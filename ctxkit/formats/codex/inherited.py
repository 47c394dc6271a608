"""A Codex history that begins in another file: a fork, or a later page of a long thread.

Pipeline: `logfile/history.py` asks the format -> here. Codex (0.153 and later, `history_mode` "paginated") writes only
what is new into such a file; `history_base` of its first row names the thread before it, how many rows of that thread
it goes on from (`ordinal` counts them over all files), and where they end in the file. Pure.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.splice import spliced
from ctxkit.formats.base import Inherited

_BASE = ("payload", "history_base")


def inherited(first: dict[str, Any]) -> Inherited | None:
    """What the file with this first row goes on from; None if it stands alone."""
    payload = first.get("payload")
    if first.get("type") != "session_meta" or not isinstance(payload, dict):
        return None
    base = payload.get("history_base")
    if base is None:
        return None
    named = base if isinstance(base, dict) else {}
    thread, rows, end = (named.get(key) for key in ("thread_id", "end_ordinal_exclusive", "end_byte_offset"))
    return Inherited(thread if isinstance(thread, str) else "", _count(rows), _count(end))


def _count(value: Any) -> int:
    """A number of bytes or rows; -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1


def alone(first: bytes) -> bytes:
    """The first row of a file as that of one that holds the whole history."""
    return spliced(first, {_BASE: b"null"})


def misfit(base: Inherited, last: bytes) -> str:
    """Why a file with this last row before byte `base.end` is not what `base` names; "" if it is."""
    try:
        record = loads(last)
    except ValueError:
        record = None
    ordinal = record.get("ordinal") if isinstance(record, dict) else None
    return "" if ordinal == base.rows - 1 else f"has row {ordinal} before byte {base.end}, not row {base.rows - 1}"
