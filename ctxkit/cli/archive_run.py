"""Runs `sessions --archive` and prints its copies, damaged copies and failures.

Pipeline: `cli/commands/sessions.py` -> here -> `search/archive.py`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import count
from ctxkit.cli.terminal.style import ERROR, Styled
from ctxkit.errors import ArchiveFailed, ExitCode, NoSuchLog, NothingMatched, Usage, Warned
from ctxkit.search.archive import Archived, archive, items
from ctxkit.search.project_sessions import archive_folder
from ctxkit.store.archive_files import LIST, REPLACED, Archive

STYLES = {"new": "green", "grown": "", "changed": "yellow"}
"""How a file differs from its copy -> its colour."""


def copy(folder: str, *, dry_run: bool, json: bool) -> int:
    """Copy what is new, and return the exit status. Raises NothingMatched, and what `archive` raises."""
    done: list[Archived] = []
    try:
        with streams.progress("archiving", "files") as step:
            for one in archive(Path(folder), os.environ, dry_run=dry_run):
                done.append(one)
                if step is not None:
                    step(len(done), 0)
                _print(one, json=json)
    except ArchiveFailed as error:
        every = sum(one.session for one in items(os.environ))
        left = every - sum(one.item.session for one in done)
        verb = "is" if left == 1 else "are"
        error.message += f": {left:,} of {every:,} sessions {verb} not archived; what was archived before is whole"
        error.hint = error.hint or "run it again: it goes on where it stopped"
        raise
    if not any(one.item.session for one in done):
        raise NothingMatched("no agent keeps sessions here: nothing was copied")
    streams.flush()
    _summary(done, folder, dry_run=dry_run)
    failed = [one.error for one in done if one.error is not None]
    return int(failed[0].code if failed else ExitCode.DONE)


def _print(one: Archived, *, json: bool) -> None:
    """Print a line for a file that was copied, or the error of one that was not."""
    if one.error is not None:
        streams.flush_unless_paged()
        path = str(one.item.original)
        streams.warn(one.error.message if path in one.error.message else f"{path}: {one.error.message}", one.error)
    elif json and one.difference.change != "same":
        streams.out_json(
            {
                "from": str(one.item.original),
                "path": one.item.name,
                "format": one.item.format,
                "session": one.item.session,
                "change": one.difference.change,
                "bytes": one.difference.bytes,
            }
        )
    elif one.difference.change != "same":
        change = one.difference.change
        size = f"{one.difference.bytes:>13,} bytes"
        streams.out(Styled(f"{change:<8}", STYLES[change]), f"{size}  {one.item.name}")


def _summary(done: list[Archived], folder: str, *, dry_run: bool) -> None:
    sessions = [one for one in done if one.item.session and one.error is None]
    numbers = {change: sum(one.difference.change == change for one in sessions) for change in (*STYLES, "same")}
    copied = [f"{number} {change}" for change, number in numbers.items() if number and change != "same"]
    size = sum(one.difference.bytes for one in done)
    same = f"; {numbers['same']} unchanged" if numbers["same"] else ""
    what = f"{', '.join(copied) or 'nothing new'}{same}, {size:,} bytes"
    if dry_run:
        streams.say(f"{count(len(sessions), 'session')}: {what}. Dry run, nothing was copied.")
        return
    streams.say(f"{count(len(sessions), 'session')}: {what}")
    if archive_folder(os.environ) is None:
        named = shlex.quote(os.path.abspath(folder))
        hint = f" ctxkit config set archive.dir {named} --user: then deleted sessions are found there"
        streams.say(Styled("hint:", "dim"), hint)


def verify(folder: str, *, json: bool) -> int:
    """Read all copies, print the damaged ones, and return the exit status. Raises NoSuchLog if there is no archive."""
    if not os.path.isfile(os.path.join(folder, LIST)):
        raise NoSuchLog(f"{folder}: no archive: there is no {LIST}", f"ctxkit sessions --archive {folder} makes one")
    found = Archive(Path(folder))
    damaged = 0
    with streams.progress("verifying", "files"):
        for one in found.verify():
            damaged += 1
            if json:
                streams.out_json(msgspec.to_builtins(one))
            else:
                streams.out(
                    Styled(os.path.join(folder, one.path), "bold"), ": ", Styled(one.code, ERROR), f": {one.text}"
                )
    if found.unreadable:
        streams.warn(Warned(f"{found.list_path}: {count(found.unreadable, 'line')} cannot be read", "damage"))
    streams.flush()
    wrong = damaged + bool(found.unreadable)
    size = sum(one.size for one in found.records.values())
    streams.say(f"{count(len(found.records), 'file')}, {size:,} bytes: {damaged or 'nothing'} damaged")
    if older := found.replaced():
        copies = "1 older copy" if len(older) == 1 else f"{len(older):,} older copies"
        size = sum(os.lstat(one).st_size for one in older)
        streams.say(f"{copies}, {size:,} bytes, in folders {REPLACED}/: nothing needs them, and nothing removes them")
    if damaged:
        streams.say(
            Styled("hint:", "dim"),
            " delete a damaged copy, and the next --archive makes it anew if its original is there",
        )
    return int(ExitCode.NO if wrong else ExitCode.DONE)


def refuse_others(named: Mapping[str, object]) -> None:
    """Raises Usage for the first option given that `--archive` does not take. `named`: option -> its value."""
    for option, value in named.items():
        if value:
            raise Usage(
                f"--archive copies all sessions of the agents: it cannot be combined with {option}", "leave it out"
            )
