"""Restores a snapshot: finds it, verifies it, compares it with the log, and brings it back.

Pipeline: `store/snapshot_files.py` reads it, `snapshots/restore_decision.py` decides, `Log.restore` appends the op.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ctxkit.core.context import Entry, entry
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call, Message, Result
from ctxkit.core.ops import Op, Restore
from ctxkit.core.roles import ASSISTANT
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.core.snapshot import CHECKPOINT, Snapshot
from ctxkit.core.steps import Steps
from ctxkit.core.text.json_text import canonical, dumps
from ctxkit.errors import NoSuchLog, NoSuchSnapshot, Usage
from ctxkit.formats.chat import content_of
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import NATIVE
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.snapshots.rebuild import rebuilt
from ctxkit.snapshots.restore_decision import RestoreRequest
from ctxkit.snapshots.restore_decision import restore as decided
from ctxkit.snapshots.snapshot import find, model, prefix, records
from ctxkit.store.snapshot_files import read
from ctxkit.store.source import Source

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


def loaded(log: OpenLog, word: str, *, summary: bool = False) -> Snapshot:
    """The snapshot that `word` names, verified: one beside the log (`snapshots/snapshot.py`), else the file at that
    path. `summary`: with a summary, which is made now for a checkpoint.

    Raises NoSuchSnapshot; NoSuchLog for a file that does not exist; BadSnapshot, NoPermission, ReadFailed.
    """
    return with_messages(log, _named(log, word), summary=summary)


def with_messages(log: OpenLog, kept: Snapshot, *, summary: bool = False) -> Snapshot:
    """The snapshot with its messages; those of a checkpoint are rebuilt from its log. Raises BadSnapshot."""
    if kept.head.kind != CHECKPOINT or kept.messages:
        return kept
    return rebuilt(log, kept, summary=summary)


def _named(log: OpenLog, word: str) -> Snapshot:
    path = Path(word)
    if log.opening.sidecar is not None:
        try:
            path = find(shelf(log), word).path
        except NoSuchSnapshot:
            if not os.path.isfile(word):
                raise
    try:
        return read(path)
    except NoSuchLog as error:
        text = error.message.replace("no such log", "no such snapshot").replace("not a log", "not a snapshot")
        raise NoSuchLog(f"{text}: nothing was changed", "ctxkit snapshot - <LOG >FILE writes one") from error


def is_own(log: OpenLog, kept: Snapshot) -> bool:
    """Whether a snapshot was taken of this log, which may have grown since."""
    count = kept.head.at.messages
    return 0 < count <= len(log.messages) and prefix(log, count) == kept.head.prefix


def as_log(kept: Snapshot) -> WritableLog:
    """A snapshot as a log of its messages, without a window."""
    from ctxkit.logfile.commit import WritableLog

    lines = b"".join(dumps(record).encode("ascii") + b"\n" for record in kept.messages)
    found = WritableLog.open(Source(f"snapshot {kept.head.short}", lines), format=NATIVE, env={})
    found.config = found.config.without_windows()
    return found


def strange(log: OpenLog, kept: Snapshot) -> Iterator[str]:
    """Reasons to ask before a restore, in words: the snapshot is of another log, or for another model."""
    head = kept.head
    if not is_own(log, kept):
        of = f"another log ({head.log or 'a stream'})"
        yield f"{head.kind} {head.short} is of {of}: its messages are added as copies, at the end"
    here = model(log)
    if head.model and here and head.model != here:
        yield f"{head.kind} {head.short} was taken for {head.model}, and this log is for {here}"


def restore(
    log: WritableLog, snapshot: str | Snapshot, *, replace: bool = False, summary: bool = False, append: bool = False
) -> Op | None:
    """Implements `Log.restore`."""
    if append and replace:
        raise Usage("--append and --replace are two places: nothing was changed", "one of the two")
    kept = snapshot if isinstance(snapshot, Snapshot) else loaded(log, snapshot, summary=summary)
    kept = with_messages(log, kept, summary=summary)
    return log.commit("restore", lambda: plan(log, kept, replace=replace, summary=summary, append=append))


def plan(
    log: WritableLog, kept: Snapshot, *, replace: bool = False, summary: bool = False, append: bool = False
) -> Decision:
    """The decision of `restore`. Raises Usage for a snapshot without messages."""
    if not kept.messages and not summary:
        raise Usage(
            f"snapshot {kept.head.short} holds no messages: nothing was changed", "--summary brings its summary"
        )
    own = is_own(log, kept)
    wish = RestoreRequest(
        kept, own, () if replace or summary else steps_of(kept), _as_it_is(log, kept) if own else b"",
        log.listed(), replace, summary, append, frozenset(_shorter(log, kept)) if own else frozenset()
    )  # fmt: skip
    found = decided(log.state(), log.here(), wish)
    if isinstance(found.op, Restore):
        found.notes.extend(_seen_then(log, found.op))
    return found


def steps_of(kept: Snapshot) -> Sequence[int]:
    """For each message the place of the first one of its step."""

    def light() -> Iterator[Message]:
        for n, record in enumerate(kept.messages, start=1):
            parts = content_of(record).parts
            calls = tuple(part.id for part in parts if isinstance(part, Call))
            results = tuple(part.id for part in parts if isinstance(part, Result))
            yield Message(n, 0, 0, record["role"], calls=calls, results=results)

    steps = Steps(light())
    return LazySequence(len(kept.messages), lambda place: steps.leader(place + 1) - 1)


def _seen_then(log: WritableLog, op: Restore) -> Iterator[str]:
    """What a request would hold after `op`, where it is not what was asked for: messages that `window.messages` hides,
    which shows only the newest; an answer at the end.
    """
    was, then = log.names(), log.with_op(op)
    now = then.names()
    if op.mode != "replace" and (newest := log.projection().newest) is not None:
        there = set(now)
        most = f"window.messages shows the newest {newest}"
        if gone := sum(name not in there for name in was):
            yield f"{most}: {gone} of the visible are hidden now"
        if hidden := sum(item.n is not None and item.n not in there for item in op.items):
            yield f"{most}: {hidden} of the restored stay hidden (--append puts them at the end)"
    if now and now[-1:] != was[-1:] and _is_answer(one := entry(then.state(), now[-1])):
        yield f"the context ends with an answer now ({then.state().label(one.name)}): a request would have no question"


def _is_answer(one: Entry) -> bool:
    calls = (
        one.message.calls if one.message is not None else one.item is not None and one.item.message.get("tool_calls")
    )
    return one.role in ASSISTANT and not calls


def _shorter(log: OpenLog, kept: Snapshot) -> Iterator[Name]:
    """What ops shortened to less than the snapshot has."""
    state = log.state()
    for held, record in zip(kept.held, kept.messages, strict=True):
        name = Names.parse(str(held.n or held.origin)).single
        if name in state.board.stubs and (isinstance(name, int) or name in state.board.items):
            shown = entry(state, name)
            [now] = records([(log.full(shown), shown)])
            if len(canonical(now)) < len(canonical(record)):
                yield name


def _as_it_is(log: OpenLog, kept: Snapshot) -> bytes:
    """For each message of the snapshot, whether the log's message with its number is the same."""
    found = bytearray(len(kept.messages))
    for place, (held, record) in enumerate(zip(kept.held, kept.messages, strict=True)):
        if held.n is None:
            continue
        message = log.messages[held.n - 1]
        shown = Entry(held.n, message.role, message, None, None, False)
        [now] = records([(log.content(held.n), shown)])
        found[place] = canonical(now) == canonical(record)
    return bytes(found)
