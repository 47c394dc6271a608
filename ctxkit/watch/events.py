"""The events of a watcher: a closed set, one class each.

Pipeline: `watch/watcher.py` makes them; `cli/commands/watch.py` prints them.
The JSON of an event is its fields and `event`, its name; `docs/commands/watch.md` has the table.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ctxkit.measure.status import Level

WaitsFor = Literal["", "user", "model", "tool"]
"""Whose turn it is; "" for a log without a message."""
Replacement = Literal["replaced", "truncated", "rewritten", "removed"]
"""What happened to a log: another file has its name, it became shorter, its bytes changed, it is gone."""


SkipReason = Literal["cooldown", "open call", "not full", "nothing to condense"]
"""Why no compaction is made: the last one was just made, a call has no result, the context has room, nothing can go."""


class LastOp(msgspec.Struct, frozen=True):
    """The newest op of a log: its number, its name, its time (ISO)."""

    number: int
    name: str
    time: str | None


class LastCheckpoint(msgspec.Struct, frozen=True):
    """The newest checkpoint of a log: its id, its time (ISO), its label, its tags."""

    id: str
    time: str
    label: str
    tags: list[str]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """The fields of all events. `log`: its path; `time`: when it was noticed, ISO, UTC."""

    log: str
    time: str


class StatusChanged(Event, frozen=True, kw_only=True, tag="status.changed"):
    """The figures of a log. `used`, `limit`: tokens; `percent`: of the limit; `level`: its colour in `status`.

    `counted`: the figures are those of `ctxkit status`; else they include an estimate of what was appended since.
    `messages`: in the context. `per_minute`: tokens per minute lately; `full_in`: seconds until the limit at this rate.
    `window`: seconds, 0 for none. `marks`: labels, oldest first, "" for a mark without one. `tools`: tools whose calls
    have no result. `lag`: seconds from the newest write to this event. Unknown values are None.
    """

    format: str
    model: str
    used: int | None
    limit: int | None
    percent: float | None
    level: Level | None
    counted: bool
    messages: int
    per_minute: int | None = None
    full_in: int | None = None
    window: int = 0
    marks: list[str] = []
    last_op: LastOp | None = None
    checkpoint: LastCheckpoint | None = None
    waits_for: WaitsFor = ""
    tools: list[str] = []
    lag: float | None = None


class CompactionStarted(Event, frozen=True, kw_only=True, tag="compaction.started"):
    """A compaction began, because `percent` of the limit were used."""

    percent: float


class CompactionDone(Event, frozen=True, kw_only=True, tag="compaction.done"):
    """A compaction was appended as op `op`. `before`, `after`: tokens.

    `fallback`: why rules replaced the model, or None. `resume`: the command that goes on with the condensed session, if
    another program owns the log. `note`: what else is to be known, or None.
    """

    op: str
    before: int
    after: int
    strategy: str
    seconds: float
    fallback: str | None = None
    resume: str | None = None
    note: str | None = None


class CompactionFailed(Event, frozen=True, kw_only=True, tag="compaction.failed"):
    """A compaction failed; nothing was appended. `code`: the exit code of the error; `error`: its short name, as in
    the structured logs; `reason`: its message.
    """

    code: int
    error: str
    reason: str
    seconds: float


class CompactionSkipped(Event, frozen=True, kw_only=True, tag="compaction.skipped"):
    """A compaction was due and was not made. `detail`: the message of `compact`, or ""."""

    reason: SkipReason
    detail: str = ""


class CheckpointMade(Event, frozen=True, kw_only=True, tag="checkpoint.made"):
    """A checkpoint of a finished exchange. `seconds`: from the newest write to the checkpoint.

    `over`: the number of checkpoints made by hand beyond `checkpoint.keep`, which nothing removes. `note`: which older
    ones were removed, or None.
    """

    id: str
    label: str
    tags: list[str]
    seconds: float
    over: int = 0
    note: str | None = None


class EndedAbnormally(Event, frozen=True, kw_only=True, tag="ended.abnormally"):
    """The watcher of a log was killed. `at`: the time of its last note (ISO); `pid`: its process.

    `compacting`: a compaction was under way. `at_work`: why the session itself counts as at work, or None.
    `checkpoint`: the newest one, or None. `remedy`: the command to type.
    """

    at: str
    pid: int
    compacting: bool
    at_work: str | None
    checkpoint: LastCheckpoint | None
    remedy: str


class LogReplaced(Event, frozen=True, kw_only=True, tag="log.replaced"):
    """A log is no longer the file that was read; it is read again from its start, unless it was removed."""

    how: Replacement


class OpFromElsewhere(Event, frozen=True, kw_only=True, tag="updated.elsewhere"):
    """Another program appended an op: its id and its name."""

    op: str
    name: str


class ArchiveDone(Event, frozen=True, kw_only=True, tag="archive.done"):
    """Sessions were archived; `log` is the folder of the archive. `sessions`: all that were found; `copied`: those of
    them that were new, grown or changed; `bytes`: written; `failed`: files that could not be copied.
    """

    sessions: int
    copied: int
    bytes: int
    failed: int
    seconds: float


AnyEvent = (
    StatusChanged | CompactionStarted | CompactionDone | CompactionFailed | CompactionSkipped | CheckpointMade
    | EndedAbnormally | LogReplaced | OpFromElsewhere | ArchiveDone
)  # fmt: skip
"""Any event; the set is closed."""

NAMES: tuple[str, ...] = tuple(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))
"""The names of all events."""


def as_json(event: Event) -> dict[str, Any]:
    """The event as JSON; all keys of its kind are always present."""
    built: dict[str, Any] = msgspec.to_builtins(event)
    return built
