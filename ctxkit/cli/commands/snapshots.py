"""ctxkit snapshots: list the snapshots and checkpoints of a log, newest first; remove them by name or by age."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.cli.log_access import set_own_zone, set_zone
from ctxkit.cli.options import named_session, refuse_doubtful, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.snapshot import CHECKPOINT, SNAPSHOT, SnapshotHead
from ctxkit.core.times import seconds
from ctxkit.errors import BadSnapshot, CtxkitError, NoSuchSnapshot, Usage, Warned
from ctxkit.settings.log_config import Configured
from ctxkit.snapshots.context_reference import moment
from ctxkit.snapshots.retention import over_bound
from ctxkit.snapshots.snapshot import beside, find, prune
from ctxkit.store.snapshot_files import SnapshotFile, Snapshots

SHOWN = 50
"""Rows without --limit."""


@takes()
def command(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="A log; it is not read and need not exist.", callback=named_session)
    ],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these: an id, its beginning, or a description.")
    ] = None,
    *,
    limit: int | None = None,
    agent: str | None = None,
    rm: bool = False,
    prune_: bool = False,
    dry_run: bool = False,
    sidecar: str | None = None,
    conversation: int | None = None,
    utc: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """List the snapshots and checkpoints of a log, newest first: id, time, messages, tokens, description, summary.

    Only the first line of each file is read, so a thousand large snapshots are listed quickly. --rm deletes the named
    ones, --prune the automatic checkpoints beyond `checkpoint.days` and `checkpoint.keep`. A snapshot made by hand is
    only deleted by --rm.
    """
    if rm or prune_:
        refuse_doubtful(log)
    some, notices = beside(log, sidecar, conversation)
    set_own_zone(utc=utc)
    for notice in notices:
        streams.warn(notice)
    if rm or prune_:
        _remove(some, log, sidecar, ids or (), rm=rm, pruned=prune_, dry_run=dry_run, json=json)
        return
    if dry_run:
        raise Usage("--dry-run belongs to --rm and --prune", "without them nothing is removed")
    there = some.found() if not ids else [find(some, word) for word in dict.fromkeys(ids)]
    for one in there:
        if one.fault and ids:
            raise BadSnapshot(f"{one.path}: {one.fault}", f"ctxkit snapshots LOG --rm {one.path.name} removes it")
        if one.fault:
            streams.warn(Warned(f"{one.path}: {one.fault}", "bad-snapshot"))
    found = [(one, one.head) for one in there if one.head is not None and agent in (None, *one.head.agents)]
    most = SHOWN if limit is None else limit
    over = _over_bound(some.checkpoints(), log, sidecar)
    for one, head in found[:most]:
        _print(one, head, json=json, over=one.path in over)
    streams.flush()
    more = f"; {len(found) - most:,} older ones: --limit {len(found)}" if len(found) > most else ""
    kinds = Counter(head.kind for _, head in found)
    counts = [layout.count(kinds[kind], kind) for kind in (SNAPSHOT, CHECKPOINT) if kinds[kind] or kind == SNAPSHOT]
    streams.say(f"{', '.join(counts)}{more}")
    if over:
        streams.say(
            f"{layout.count(len(over), 'checkpoint')} made by hand, over checkpoint.keep: only --rm deletes them."
        )


def _over_bound(there: Sequence[SnapshotFile], log: str, sidecar: str | None) -> set[Path]:
    """The checkpoints made by hand that are more than `checkpoint.keep`; none if the config cannot be read."""
    heads = [one.head for one in there if one.head is not None]
    if len(over_bound(heads, 1)) == 0:
        return set()
    try:
        keep = int(Configured(log, sidecar=sidecar, env=os.environ).load(tolerant=True)["checkpoint.keep"])
    except CtxkitError:  # of the log, which need not exist
        return set()
    return {there[place].path for place in over_bound(heads, keep)}


def _print(one: SnapshotFile, head: SnapshotHead, *, json: bool, over: bool) -> None:
    if json:
        streams.out_json({**one.body, "path": str(one.path), "bytes": one.size, "over": over})
        return
    taken = seconds(head.timestamp)
    when = head.timestamp if taken is None else streams.clock().time(taken)
    tokens = f"{head.tokens.count:,} tokens" if head.tokens is not None else ""
    kind = Styled(head.kind if head.kind != SNAPSHOT else "", "yellow")
    tags = Styled(" ".join(f"#{tag}" for tag in head.tags), "dim")
    streams.out(
        *layout.spaced(
            Styled(head.short, "bold"), Styled(when, "dim"), layout.count(head.message_count, "message"), tokens, kind,
            head.description, tags, Styled("over the bound" if over else "", "yellow"),
        ),
        hang=2,
    )  # fmt: skip
    if head.summary:
        streams.out("  ", Styled(head.summary, "dim"), hang=2)


def _remove(
    some: Snapshots, log: str, sidecar: str | None, ids: Sequence[str], *, rm: bool, pruned: bool, dry_run: bool,
    json: bool,
) -> None:  # fmt: skip
    if rm and pruned:
        raise Usage("--rm and --prune cannot be combined: nothing was removed", "use one after the other")
    if rm != bool(ids):
        text = "--rm needs the ids of snapshots" if rm else "ids are for --rm; --prune goes by age and number"
        raise Usage(f"{text}: nothing was removed", "ctxkit snapshots LOG --rm ID...")
    if rm:
        try:
            going = [(find(some, word), "named") for word in dict.fromkeys(ids)]
        except NoSuchSnapshot as error:
            error.message += ": nothing was removed"
            raise
    else:
        config = Configured(log, sidecar=sidecar, env=os.environ).load()
        set_zone(config, utc=streams.Streams.utc)
        there = some.found()
        for one in there:
            if one.fault:
                streams.warn(Warned(f"{one.path}: {one.fault}: left as it is", "bad-snapshot"))
        going = prune(there, moment(config), int(config["checkpoint.keep"]), int(config["checkpoint.days"]))
    paths = list(dict.fromkeys(one.path for one, _ in going))
    if not dry_run and paths:
        some.remove(paths)
    for one, why in going:
        if json:
            streams.out_json({**one.body, "path": str(one.path), "why": why, "removed": not dry_run})
        else:
            streams.out(*layout.spaced(_name(one), why, "" if one.head is None else one.head.description), hang=2)
    streams.flush()
    done = "Dry run, nothing was removed. Without it: removed" if dry_run else "Removed"
    streams.say(f"{done} {layout.count(len(paths), 'file')}." if paths else "Nothing is to be removed.")


def _name(one: SnapshotFile) -> Styled:
    return Styled(one.path.name if one.head is None else one.head.short, "bold")
