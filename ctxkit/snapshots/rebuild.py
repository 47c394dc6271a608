"""Rebuilding: the context that a checkpoint refers to, from the log itself, proved by digests.

`snapshots/restore.py` brings back what is rebuilt here, `diff` compares it.
"""

from __future__ import annotations

import msgspec

from ctxkit.core.context import Projection, listed
from ctxkit.core.replay import fold
from ctxkit.core.snapshot import CheckpointPoint, Snapshot, SnapshotHead, runs
from ctxkit.errors import BadSnapshot
from ctxkit.logfile.open import OpenLog
from ctxkit.snapshots.context_reference import (
    first_rows,
    further_rows,
    of_names,
    ops_digest,
    projection_of,
    rows_digests,
)
from ctxkit.snapshots.snapshot import RecentWords, laid_out


def rebuilt(log: OpenLog, kept: Snapshot, *, summary: bool = False) -> Snapshot:
    """The context that a checkpoint refers to, proved by its digests; `summary`: with words that sum it up.

    Raises BadSnapshot where the log is not what it was.
    """
    head, point = kept.head, _point(kept)
    count, entries = head.at.messages, log.ledger.entries[: point.ops]
    messages = log.messages[:count]
    more = further_rows(messages)[: point.more]
    opening, further = rows_digests(log, first_rows(messages), more)
    if (
        (len(messages), len(more), len(entries)) != (count, point.more, point.ops)
        or (opening, further if more else None) != (head.prefix, point.more_digest)
        or ops_digest(entries) != point.ops_digest
    ):
        raise _changed(log, head)
    rows = log.transcript.rows if head.at.rows is None else head.at.rows
    transcript, ledger = log.upto(rows, point.ops)
    state = fold(transcript, ledger, log.identity, force=log.force)
    for projection in (
        Projection(None, None, point.now, dict(point.windows), point.newest),
        projection_of(log, point.now),
    ):
        names = listed(state, projection)
        if of_names(runs(names)) == head.digest:
            break
    else:
        raise _changed(log, head)
    past = log.seen_at(state)
    said = RecentWords(state)
    records, held = laid_out(past, names, said.add if summary else None)
    words = said.summary(len(names)) if summary else ""
    return Snapshot(msgspec.structs.replace(head, summary=words), kept.body, records, held)


def _point(kept: Snapshot) -> CheckpointPoint:
    """What a checkpoint's file says beside its head. Raises BadSnapshot."""
    try:
        return msgspec.convert(kept.body, CheckpointPoint)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise BadSnapshot(f"checkpoint {kept.head.short} cannot be read: {error}: nothing was changed") from error


def _changed(log: OpenLog, head: SnapshotHead) -> BadSnapshot:
    text = f"checkpoint {head.short} does not fit {log.opening.name}, which was changed since, or is another log"
    return BadSnapshot(f"{text}: nothing was changed", "ctxkit snapshots LOG lists all")
