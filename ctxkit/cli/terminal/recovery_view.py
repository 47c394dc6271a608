"""Formats the findings of `recover`: a line each for people, one object for programs. Nothing is printed here."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ctxkit.api.log import Log
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.snapshot import SnapshotHead
from ctxkit.core.times import seconds
from ctxkit.recovery.recover import ENDS, TORN, WHYS, Recovery, RecoveryPoint

NAMED = 10
"""Findings of each kind that are listed; --json has all."""


def lines(log: Log, found: Recovery, *, points: bool = True) -> Iterator[Line]:
    """Yield a line for each finding; with `points` also the newest checkpoint and the other recovery points."""
    name = log.opening.name
    damage: list[Line] = [_at(name, one.where, one.code, one.text) for one in found.damage]
    for gap in found.lost:
        place = f"bytes {gap.offset} to {gap.offset + gap.size} are lost"
        damage.append(_at(name, f"line {gap.line}", gap.code, f"{place}: {gap.text}"))
    yield from _some(damage)
    mends = any(
        one.line is not None and one.where.startswith("line ") and one.code != "missing-parent" for one in found.damage
    )
    if mends or any(one.code != TORN for one in found.lost):
        call = shlex.join(["ctxkit", "recover", name, "-o", "NEW"])
        yield [Styled("copy", "cyan"), f": {call} writes a clean copy of the rest"]
    yield from _some([_at(name, one.where, one.code, one.text) for one in found.unanswered])
    if found.open is not None:
        one = found.open
        which = f"message {one.first}" if one.first == one.last else f"messages {one.first} to {one.last}"
        yield _at(name, which, "no-end", f"the last exchange has no end: {WHYS[one.why]}")
    for draft in found.drafts[-NAMED:]:
        yield [Styled("draft", "cyan"), f": {draft.path}: continue with: {draft.apply}"]
    if not points:
        return
    if found.checkpoint is not None and not found.sound:
        size = layout.count(found.checkpoint.message_count, "message")
        yield [Styled("checkpoint", "cyan"), f": {named(found.checkpoint)}: {size}"]
    for point in found.points:
        yield [Styled(point.to, "cyan"), f": {describe(point)}"]


def _at(name: str, where: str, code: str, text: str) -> Line:
    return [f"{name}: ", Styled(where, "bold"), ": ", Styled(code, "red"), f": {text}"]


def _some(found: list[Line]) -> Iterator[Line]:
    yield from found[:NAMED]
    if len(found) > NAMED:
        yield [f"… {len(found) - NAMED:,} more (--json names all)"]


def describe(point: RecoveryPoint) -> str:
    """Return `message 47 ends the last whole step: 48-50 would leave (3 messages)`."""
    then = f"{short(point.leaves)} would leave ({layout.count(point.count, 'message')})"
    return f"message {point.message} ends {ENDS[point.to]}: {then if point.count else 'nothing needs to leave'}"


def short(names: str) -> str:
    """Return the start of a long list of messages."""
    return names if len(names) <= 60 else f"{names[:60].rpartition(',')[0]},…"


def named(head: SnapshotHead) -> str:
    """Return `[2026-02-12 14:30] - [before the refactor]`, the name of a checkpoint in a question."""
    label = head.description or ", ".join(head.tags) or head.short
    moment = seconds(head.timestamp)
    return f"[{head.timestamp if moment is None else streams.clock().whole(moment)}] - [{label}]"


def as_json(log: Log, found: Recovery, op: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the findings as an object; all keys are always present."""
    head = found.checkpoint
    return {
        "log": log.opening.name,
        "format": log.opening.format.name,
        "state": found.state,
        "damage": [msgspec.to_builtins(one) for one in found.damage],
        "lost": [msgspec.to_builtins(one) for one in found.lost],
        "unanswered": [msgspec.to_builtins(one) for one in found.unanswered],
        "open": msgspec.to_builtins(found.open),
        "points": [msgspec.to_builtins(one) for one in found.points],
        "drafts": [{"path": str(one.path), "apply": one.apply} for one in found.drafts],
        "checkpoint": None if head is None else {
            "id": head.session_id, "time": head.timestamp, "label": head.description, "tags": head.tags,
            "messages": head.message_count,
        },
        "op": op,
    }  # fmt: skip
