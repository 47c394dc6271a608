"""The token log: a line of JSON for each command that counted tokens or cut a context, in a file of the user's.

`CTXKIT_LOG` names it. A line holds figures and digests, never a path, a word of a log, a name or a label.
"""

from __future__ import annotations

import hashlib
import re
import time
from itertools import islice
from pathlib import Path

import msgspec

from ctxkit.core.derive.usage import Figures
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.text.json_text import dumps
from ctxkit.core.times import iso
from ctxkit.logfile.commit import WritableLog
from ctxkit.logfile.open import OpenLog
from ctxkit.store import run_journal

VARIABLE = "CTXKIT_LOG"
VERSION = 1
BEGIN = b'{"token_log":'
"""How each line begins: what begins otherwise is another file."""
DIGITS = 12
FIRST, LARGEST = 64, 64 << 10
"""Messages that a log is known by at most, and bytes of each."""
_MODEL = re.compile(r"(?=.{1,100}\Z)[A-Za-z0-9][A-Za-z0-9._:@+-]*(?:/[A-Za-z0-9][A-Za-z0-9._:@+-]*){0,2}")


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the token log; every key is always there.

    `token_log`: version of the record. `time`: ISO, UTC, of the end. `op`: id of the op that was appended. `log`: what
    the log is known by (`known_by`); `other`: the second log, of a comparison. `before`, `after`: tokens, by
    `counter`; the same for a look. `budget`: tokens that had to fit; `limit`, `reserve`: as the command knew them.
    `messages` were in the context before; so many of them were `dropped` and `stubbed`, and so many `came`. `exit`: the
    command's status; `seconds`: it took.
    """

    token_log: int = VERSION
    time: str
    command: str
    op: str | None
    log: str | None
    other: str | None
    counter: str
    model: str | None
    before: int
    after: int
    budget: int | None
    limit: int | None
    reserve: int
    messages: int
    dropped: int
    came: int
    stubbed: int
    exit: int
    seconds: float


class Meter:
    """Takes the figures of one command; those that were told last count."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._began = time.monotonic()
        self._told: tuple[OpenLog, Figures, OpenLog | None] | None = None

    def __call__(self, log: OpenLog, figures: Figures, other: OpenLog | None = None) -> None:
        """These were counted in `log`, or from `log` to `other`."""
        self._told = log, figures, other

    def record(self, status: int) -> TokenRecord | None:
        """What the command came to, which ends with this exit status; None where it counted nothing."""
        if self._told is None:
            return None
        log, found, other = self._told
        model = log.config["model"] or log.model
        return TokenRecord(
            time=iso(int(log.clock())), command=self.command,
            op=log.written if isinstance(log, WritableLog) else None,
            log=known_by(log), other=None if other is None else known_by(other), counter=found.counter,
            model=model if _MODEL.fullmatch(model) else None, before=found.before, after=found.after,
            budget=found.budget, limit=found.limit, reserve=log.config["reserve"], messages=found.messages,
            dropped=found.dropped, came=found.came, stubbed=found.stubbed, exit=status,
            seconds=round(time.monotonic() - self._began, 3),
        )  # fmt: skip

    def write(self, path: str, status: int) -> None:
        """Add the record to the file `path`, where there is one. Raises WriteFailed."""
        record = self.record(status)
        if record is None or self._told is None:
            return
        never = [file for log in self._told[::2] if isinstance(log, OpenLog) for file in _files(log)]
        run_journal.add(Path(path), dumps(msgspec.to_builtins(record)).encode("ascii"), BEGIN, never)


def known_by(log: OpenLog) -> str | None:
    """What tells a log from others, however it grows and wherever it lies: 12 hex digits of the SHA-256 of its first
    messages, as they stand there, up to the first that is no system prompt. None for a log without messages.
    """
    digest = hashlib.sha256()
    source, found = log.opening.laid_out, False
    for message in islice(log.messages, FIRST):
        digest.update(source.read(message.offset, min(message.size, LARGEST)) + b"\n")
        found = True
        if message.role not in PREAMBLE_ROLES:
            break
    return digest.hexdigest()[:DIGITS] if found else None


def _files(log: OpenLog) -> list[Path]:
    """The files of a log, to which no record goes."""
    beside = log.opening.sidecar
    own = [] if log.opening.path is None else [log.opening.path]
    return own if beside is None else [*own, beside.ops_path, beside.config_path]
