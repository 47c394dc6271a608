"""Mentioning: whether a session that was found speaks of something: in its title, its path, or any of its messages.

Used by `sessions --grep`; the search within a log is `recalling.py`.
"""

from __future__ import annotations

from ctxkit.core.needle import Needle
from ctxkit.core.select import Limit, NoLimit
from ctxkit.finding import Session
from ctxkit.opened import OpenedLog
from ctxkit.recalling import Search
from ctxkit.store.scan import Scan
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log


def mentions(session: Session, needle: Needle, limit: Limit | None = None) -> bool:
    """Whether the needle stands in the title, the path or a message, in the context or not, or in words of an op.

    `limit` bounds a regular expression. Raises what opening the log and replaying its ops raise, and BadPattern.
    """
    if needle.within(str(session.path)) or needle.within(session.glance.title):
        return True
    scan = Scan(needle.traces, fold=needle.ignore_case)
    with open_log(session.path) as source:
        scan.start(source, beside=False)
    if not (scan.everywhere or scan.stretches() or Sidecar(session.path).may_hold_ops()):
        return False
    many = session.glance.conversations
    return any(_in(session, number, needle, scan, limit) for number in (range(1, many + 1) if many > 1 else (None,)))


def _in(session: Session, conversation: int | None, needle: Needle, scan: Scan, limit: Limit | None) -> bool:
    log = OpenedLog.open(session.path, conversation=conversation)
    log.limit = limit or NoLimit()
    try:
        return next(Search(log, needle, scan).hits(), None) is not None
    finally:
        log.limit.stop()
