"""Checks the files beside a log for `check`: config, snapshots, drafts, and copies of all of these.

Everything is read, nothing is changed. Snapshots are read one at a time, the log once for all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ctxkit.core.derive.conflict_copies import copy_of
from ctxkit.core.findings import Finding
from ctxkit.core.snapshot import CHECKPOINT, SnapshotHead
from ctxkit.core.text.json_text import canonical, loads
from ctxkit.core.unreadable import attempt
from ctxkit.errors import CtxkitError, NoSuchLog
from ctxkit.logfile.assembly_sources import folder_of
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import read_source
from ctxkit.settings.keys import key_of
from ctxkit.settings.named_files import missing
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.snapshots.snapshot import prefixes
from ctxkit.store.copies import CopyDifference, beside, parting, same_start
from ctxkit.store.drafts import FOLDER as DRAFTS
from ctxkit.store.drafts import left
from ctxkit.store.folder import SIDECAR, orphans
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import SnapshotFile, Snapshots, names_of, read
from ctxkit.store.source import Source, open_log

ALIKE = 3
"""How many records a file must begin with in common with the log to count as its copy, if its name does not say so:
many logs have the same system prompt and first message.
"""


def surroundings(log: OpenLog) -> list[Finding]:
    """Findings and notes about the files beside a log: config, snapshots, drafts, copies; none for a stream."""
    found = list(_config(log))
    sidecar = log.opening.sidecar
    if sidecar is not None and sidecar.ignored:
        text = f"it {sidecar.ignored}: nothing in it counts, ops and config neither"
        found.append(Finding(sidecar.folder.name, "ignored-sidecar", text))
    elif sidecar is not None:
        found += (*_folders(sidecar), *_snapshots(log, sidecar), *_drafts(sidecar))
    found += _copies(log, sidecar)
    copies = {one.where for one in found}
    return [*found, *(one for one in _orphans(log) if one.where not in copies)]


def _config(log: OpenLog) -> Iterator[Finding]:
    """Mistakes in config files, if the log was opened in spite of them."""
    sidecar = log.opening.sidecar
    own = f"{sidecar.config_path}" if sidecar is not None else ""
    for error in log.config.errors:
        place, _, words = error.message.partition(": ")
        # the pattern matches every text
        file, line = re.fullmatch(r"(.*?)(?::(\d+))?", place, re.DOTALL).groups()  # type: ignore[union-attr]
        if not os.path.isabs(file) and file != own:
            file, line, words = "config", None, error.message
        name = "config.toml" if file == own else file
        where = f"{name} line {line}" if line else name
        yield Finding(where, "bad-config", words, int(line) if line else None)
    for name, setting in log.config.every():
        key, origin = key_of(name), setting.origin
        paths = key.paths(setting.value) if setting.value else []
        line = origin.rpartition(":")[2] if origin.startswith(f"{own}:") and own else None
        where = f"config.toml line {line}" if line else origin
        for text in missing(folder_of(log), key, paths, below=True):
            yield Finding(where, "bad-config", f"{name}: {text}", int(line) if line else None)


def _folders(sidecar: Sidecar) -> Iterator[Finding]:
    """Files that have the name of one of our folders."""
    for folder in (sidecar.folder, Snapshots(sidecar).folder, sidecar.folder / DRAFTS):
        if os.path.lexists(folder) and not os.path.isdir(folder):
            yield Finding(folder.name, "no-folder", "it is not a folder: nothing can be saved in it")


def _snapshots(log: OpenLog, sidecar: Sidecar) -> Iterator[Finding]:
    """Checks the head, name, messages and log of each snapshot, the oldest first."""
    files = shelf(log)
    try:
        there = files.found()[::-1]
        strays = files.strays()
    except CtxkitError as error:
        text = error.message.removeprefix(f"{files.folder}: ")
        yield Finding(files.folder.name, "damaged-snapshot", text)
        return
    counts = {one.head.at.messages for one in there if one.head is not None}
    known = prefixes(log, sorted(count for count in counts if 0 < count <= len(log.messages)))
    for one in there:
        where = f"{files.folder.name}/{one.path.name}"
        fault = one.fault
        if not fault:
            try:
                read(one.path)
            except NoSuchLog:
                continue  # it was removed meanwhile
            except CtxkitError as error:
                fault = error.message.removeprefix(f"{one.path}: ").removesuffix(": nothing was changed")
        if fault:
            code = "newer-snapshot" if one.newer else "damaged-snapshot"
            yield Finding(where, code, fault)
        elif one.head is not None:
            yield from _misplaced(one, one.head, where, there, known.get(one.head.at.messages), log)
    for name, kind in strays:
        yield Finding(f"{files.folder.name}/{name}", "damaged-snapshot", f"it is {kind}, and not read")


def _misplaced(
    one: SnapshotFile, head: SnapshotHead, where: str, there: list[SnapshotFile], prefix: str | None, log: OpenLog
) -> Iterator[Finding]:
    """Findings about an undamaged snapshot that has another name than its own, or is of another log."""
    what = "checkpoint" if head.kind == CHECKPOINT else "snapshot"
    own = names_of(head)
    if one.path.name not in own:
        same = [o for o in there if o.head is not None and o.head.session_id == head.session_id and o is not one]
        if any(copy_of(one.path.name, name) for name in own):
            twin = f"{same[0].path.name} is the same one" if same else "it is nowhere else"
            yield Finding(where, "conflict-copy", f"a copy of {what} {head.short}: {twin}", note=bool(same))
        else:
            yield Finding(where, "misnamed-snapshot", f"it holds {what} {head.short}, which is named {own[0]}")
    if head.at.messages and prefix != head.prefix:
        count = head.at.messages
        fewer = f"of a log of {count:,} messages, and this one has {len(log.messages):,}"
        others = f"of a log whose first {count:,} messages were others"
        text = f"{what} {head.short} was taken {fewer if prefix is None else others}"
        does = "refuses it" if head.kind == CHECKPOINT else "brings copies"
        yield Finding(where, "foreign-snapshot", f"{text}: restore {does}")


def _drafts(sidecar: Sidecar) -> Iterator[Finding]:
    """Drafts of open editors, and of edits that failed."""
    for path in left(sidecar):
        text = f"a draft of an edit that failed, or is open: ctxkit edit LOG --draft {path}"
        yield Finding(f"{path.relative_to(sidecar.folder)}", "draft-left", text, note=True)


def _copies(log: OpenLog, sidecar: Sidecar | None) -> Iterator[Finding]:
    """Copies of the log and of its files beside them."""
    host = os.uname().nodename.partition(".")[0]
    path = log.opening.path
    if path is not None:
        original = Path(os.path.realpath(path))
        for copy, certain in beside(original, host):
            yield from _copy(log, original, copy, certain)
    if sidecar is None or sidecar.ignored:
        return
    for original in (sidecar.ops_path, sidecar.config_path):
        for copy, certain in beside(original, host):
            yield from _copy(None, original, copy, certain)
    for copy, certain in beside(sidecar.folder, host):
        if certain or copy.is_dir():
            yield Finding(copy.name, "conflict-copy", f"a copy of {sidecar.folder.name}: nothing in it is read")


def _orphans(log: OpenLog) -> Iterator[Finding]:
    """Sidecars in the log's folder without their log; they are reported, and never changed."""
    if log.opening.path is None:
        return
    for folder in orphans(Path(os.path.realpath(log.opening.path)).parent):
        gone = folder.name.removesuffix(SIDECAR)
        text = f"a sidecar whose log is gone: ctxkit snapshots {folder.with_name(gone)} lists its snapshots"
        yield Finding(folder.name, "orphan-sidecar", text, note=True)


def _copy(log: OpenLog | None, original: Path, copy: Path, certain: bool) -> Iterator[Finding]:
    """A finding that compares a copy with its original; `log`: the original, if it is the open log.

    `certain`: the name shows that it is a copy; else the content has to.
    """
    try:
        if log is not None:
            mine, theirs = _both(log, copy)
        else:
            mine, theirs = open_log(original) if original.exists() else Source(str(original)), open_log(copy)
        if not certain and not same_start(mine, theirs):
            return  # another file with a similar name
        found = parting(mine, theirs)
        if not certain and found.same < ALIKE and found.more and found.fewer:
            return  # another session of the same program
    except CtxkitError as error:
        if certain:
            text = error.message.removeprefix(f"{copy}: ")
            yield Finding(copy.name, "conflict-copy", f"a copy of {original.name} that cannot be read: {text}")
        return
    yield Finding(copy.name, "conflict-copy", f"a copy of {original.name}: {_words(found)}", note=not found.more)


def _both(log: OpenLog, copy: Path) -> tuple[Source, Source]:
    """The records of a log and of its copy, one per line."""
    opening, source = log.opening, open_log(copy)
    if opening.laid_out is opening.source:
        return opening.source, source
    made = read_source(str(copy), copy, source, None, conversation=opening.conversation)
    return _spelled(opening.laid_out), _spelled(made.laid_out)


def _spelled(source: Source) -> Source:
    """The records of one JSON text in one spelling, so that blanks make no difference."""
    rows = b"".join(source.chunks()).splitlines() if source.read(0, 1) else []
    return Source(source.name, b"\n".join(attempt(partial(_canonical, row), row) for row in rows if row.strip()))


def _canonical(row: bytes) -> bytes:
    return canonical(loads(row))


def _words(found: CopyDifference) -> str:
    """The difference, in words."""
    if found.equal:
        return "it holds the same"
    start = f"the first {_records(found.same)} are the same" if found.same > 1 else "the first record is the same"
    start = start if found.same else "they begin differently"
    more = f"it has {_records(found.more)} more" if found.more else "it has nothing more"
    fewer = f"and lacks {found.fewer:,}" if found.fewer else "and lacks none"
    order = ", in a different order" if not (found.more or found.fewer) else ""
    return f"{start}; {more} {fewer}{order}"


def _records(count: int) -> str:
    return f"{count:,} record{'s' * (count != 1)}"
