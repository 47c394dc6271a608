"""The event log: with `--log-format json`, a line of JSON on standard error for each warning and error.

Pipeline: `streams.py` and `error_report.py` print its lines instead of messages. A line has names of a closed set,
figures and a digest; never a path, text of a log, a label or typed words.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from ctxkit.core.text.json_text import dumps
from ctxkit.core.times import iso
from ctxkit.errors import CtxkitError, Warned, short_name

if TYPE_CHECKING:
    from pathlib import Path

    from ctxkit.logfile.open import OpenLog

VERSION = 1

BEGIN = b'{"event_log":'
"""The first bytes of each line."""
DIGITS = 12
DONE = "made"
"""The reason of an event for a checkpoint that was made, or a compaction that `watch` made."""
OPEN_CALL = "open-call"
"""The reason of an event for a compaction of `watch` that was refused because a call had no result."""
OTHER = ("usage", "interrupted", "output-failed", "bug", DONE, OPEN_CALL)
"""Reasons beside the names of error classes and the reasons of warnings."""
Kind = Literal["error", "warning", "compaction", "fallback", "checkpoint"]
"""The kind of an event. `compaction`: a compact was refused, or failed; of `watch` also one that was made."""
KINDS: dict[str, Kind] = {"fallback": "fallback", "checkpoint-failed": "checkpoint"}
"""Reason of a warning -> kind of its event."""


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line; all keys are always present.

    `event_log`: version of the line. `time`: ISO, UTC. `event`: a `Kind`. `command`: its name, null for a call without
    one. `code`: the exit status of an error, null for an event that ends no command. `reason`: the short name of an
    error's class, or one of `Warned.REASONS` and `OTHER`. `seconds`: since the command began. `log`: the digest that
    the token log has; for a log that could not be opened, 12 hex digits of the SHA-256 of its path; null without a log.
    """

    event_log: int = VERSION
    time: str
    event: Kind
    command: str | None
    code: int | None
    reason: str
    seconds: float
    log: str | None


class EventLog:
    """Makes the lines of one run. `command`: a name of the registry; `path`: of the log; `log`: the opened log.

    `began`: when the command did, by the monotonic clock; None for now.
    """

    def __init__(self, command: str | None, began: float | None = None) -> None:
        self.command = command
        self.path: str | None = None
        self.log: OpenLog | None = None
        self.began = time.monotonic() if began is None else began

    def line(self, kind: Kind, reason: str, code: int | None = None, log: str | None = None) -> bytes:
        """Return the line of an event that happens now. `log`: the digest of one of many logs."""
        record = EventRecord(
            time=iso(int(time.time())), event=kind, command=self.command, code=code, reason=reason,
            seconds=round(time.monotonic() - self.began, 3), log=log or self._digest(),
        )  # fmt: skip
        return dumps(msgspec.to_builtins(record)).encode("ascii") + b"\n"

    def error(self, reason: str, code: int) -> bytes:
        """Return the line of the error that ended the command."""
        return self.line("compaction" if self.command == "compact" else "error", reason, code)

    def warning(self, text: str, error: CtxkitError | None = None, log: str | None = None) -> bytes:
        """Return the line of a warning; `error`: its cause, if one of several logs failed; `log`: its digest."""
        if error is not None:
            return self.line("warning", short_name(type(error)), int(error.code), log)
        reason = text.reason if isinstance(text, Warned) else "notice"
        return self.line(KINDS.get(reason, "warning"), reason, None, log)

    def end(self) -> bytes:
        """Return the line of a checkpoint that was made; empty without one."""
        return self.line("checkpoint", DONE) if self.log is not None and self.log.checkpointed else b""

    def _digest(self) -> str | None:
        from ctxkit.measure.token_log import fingerprint

        if self.log is not None:
            with suppress(CtxkitError, OSError, ValueError):
                return fingerprint(self.log)
        if self.path is None or self.path == "-":
            return None
        return path_digest(self.path)


def path_digest(path: str | Path) -> str:
    """The digest of a log that could not be opened, from its path."""
    return hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:DIGITS]
