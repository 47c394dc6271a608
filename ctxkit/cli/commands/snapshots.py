"""ctxkit snapshots: what was kept of a log, newest first; removed by name or by age."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from ctxkit.cli.log_access import zoned, zoned_alone
from ctxkit.cli.options import JsonOption, QuietOption, SidecarOption, UtcOption, named_session
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.snapshot import CHECKPOINT, SNAPSHOT, SnapshotHead
from ctxkit.core.times import seconds
from ctxkit.errors import BadSnapshot, NoSuchSnapshot, Usage
from ctxkit.snapshots.context_reference import moment
from ctxkit.snapshots.snapshot import beside, find, prune
from ctxkit.store.snapshot_files import SnapshotFile, Snapshots

SHOWN = 50
"""How many are listed unless --limit says."""


def command(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="A log; it is not read and need not exist.", callback=named_session)
    ],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these: an id, its beginning, or a description.")
    ] = None,
    *,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="List at most N (50).")] = SHOWN,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only those with messages of this agent.")] = None,
    rm: Annotated[bool, typer.Option("--rm", help="Delete the named ones.")] = False,
    pruned: Annotated[
        bool, typer.Option("--prune", help="Delete checkpoints that are too old or too many (see config).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Print what --rm or --prune would delete.")] = False,
    sidecar: SidecarOption = None,
    conversation: Annotated[
        int | None, typer.Option(metavar="N", help="Which conversation of a file that holds many.")
    ] = None,
    utc: UtcOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the snapshots and checkpoints of a log, newest first: id, time, messages, tokens, description, summary.

    Only the first line of each file is read, so a thousand large snapshots are listed quickly. --rm deletes the named
    ones, --prune the automatic checkpoints beyond `checkpoint.days` and `checkpoint.keep`. A snapshot made by hand is
    only deleted by --rm.
    """
    streams.Streams.quiet = quiet
    some, notices = beside(log, sidecar, conversation)
    zoned_alone(utc=utc)
    for notice in notices:
        streams.warn(notice)
    if rm or pruned:
        _remove(some, log, sidecar, ids or (), rm=rm, pruned=pruned, dry_run=dry_run, json=json)
        return
    if dry_run:
        raise Usage("--dry-run belongs to --rm and --prune", "without them nothing is removed")
    there = some.found() if not ids else [find(some, word) for word in dict.fromkeys(ids)]
    for one in there:
        if one.fault and ids:
            raise BadSnapshot(f"{one.path}: {one.fault}", f"ctxkit snapshots LOG --rm {one.path.name} removes it")
        if one.fault:
            streams.warn(f"{one.path}: {one.fault}")
    found = [(one, one.head) for one in there if one.head is not None and _has(one.head, agent)]
    for one, head in found[:limit]:
        _print(one, head, json=json)
    streams.flush()
    more = f"; {len(found) - limit:,} older ones: --limit {len(found)}" if len(found) > limit else ""
    kinds = Counter(head.kind for _, head in found)
    counts = [layout.count(kinds[kind], kind) for kind in (SNAPSHOT, CHECKPOINT) if kinds[kind] or kind == SNAPSHOT]
    streams.say(f"{', '.join(counts)}{more}")


def _has(head: SnapshotHead, agent: str | None) -> bool:
    return agent is None or agent in head.agents


def _print(one: SnapshotFile, head: SnapshotHead, *, json: bool) -> None:
    if json:
        streams.out_json({**one.body, "path": str(one.path), "bytes": one.size})
        return
    taken = seconds(head.timestamp)
    when = head.timestamp if taken is None else streams.clock().time(taken)
    tokens = f"{head.tokens.count:,} tokens" if head.tokens is not None else ""
    kind = Styled(head.kind if head.kind != SNAPSHOT else "", "yellow")
    tags = Styled(" ".join(f"#{tag}" for tag in head.tags), "dim")
    streams.out(
        *layout.spaced(
            Styled(head.short, "bold"), Styled(when, "dim"), layout.count(head.message_count, "message"), tokens, kind,
            head.description, tags,
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
        text = "use --rm for names" if rm else "--prune goes by age and number; it takes no names"
        raise Usage(f"{text}: nothing was removed", "ctxkit snapshots LOG --rm ID...")
    if rm:
        try:
            going = [(find(some, word), "named") for word in dict.fromkeys(ids)]
        except NoSuchSnapshot as error:
            error.message += ": nothing was removed"
            raise
    else:
        from ctxkit.logfile.log_config import Configured

        config = Configured(log, sidecar=sidecar, env=os.environ).load()
        zoned(config, utc=streams.Streams.utc)
        there = some.found()
        for one in there:
            if one.fault:
                streams.warn(f"{one.path}: {one.fault}: left as it is")
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
