"""The file of a project's notes: found, read, and appended to by the path that logs use (`store/durable_append.py`).

It is in the user's own data folder, one file per project, named after the project's folder: notes come from sessions,
which are private, so they are not put into the project. Damaged lines are skipped and reported.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import CannotCreate, NoPermission, NoSuchLog, reason_of
from ctxkit.memory.notes import MemoryRow, body, once, parse
from ctxkit.search.project_sessions import Project
from ctxkit.store.durable_append import append_line, create_log, sync_folder
from ctxkit.store.private import make_private, user_data
from ctxkit.store.source import Source, open_log

LONGEST_NAME = 40
"""The most characters of a folder's name in the name of its file."""
DIGITS = 12
"""Hex digits of the digest of the folder's path, which tells apart folders of one name."""


class NotesRead(NamedTuple):
    """What a file has: its rows, each once; a line per damaged place; its size in bytes."""

    rows: list[MemoryRow]
    damage: list[str]
    size: int


def notes_path(project: Project, env: Mapping[str, str]) -> Path:
    """Where the notes of a project are, or will be: `memory/NAME-DIGEST.jsonl` in the user's data folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(project.folder)).lstrip(".-")[:LONGEST_NAME]
    digest = hashlib.sha256(os.fsencode(project.folder)).hexdigest()[:DIGITS]
    return user_data(env) / "memory" / f"{name or 'root'}-{digest}.jsonl"


def read_notes(path: Path) -> NotesRead:
    """The rows of a file; none if it does not exist. Raises NoPermission, ReadFailed."""
    try:
        with open_log(path) as source:
            _require_own(path)
            return _read(source)
    except NoSuchLog:
        return NotesRead([], [], 0)


def _read(source: Source) -> NotesRead:
    rows, damage = [], []
    raw = source.read(0, source.size)
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(parse(loads(line)))
        except ValueError as error:
            damage.append(f"{source.name}:{number}: {error}: skipped")
    return NotesRead(once(rows), damage, len(raw))


def append_row(path: Path, row: MemoryRow, recheck: Callable[[NotesRead], None] | None = None) -> None:
    """Append a row, durably. The file and its folder are created only for their owner.

    `recheck`: called with the file as it is now, while it is locked; raises to refuse. Raises CannotCreate,
    NoPermission, Locked, WriteFailed.
    """
    if not os.path.lexists(path):
        _create(path)
    _require_own(path)

    def look(now: Source, _: int) -> None:
        if recheck is not None:
            recheck(_read(now))

    append_line(path, dumps(body(row)).encode("ascii"), recheck=look)


def _create(path: Path) -> None:
    try:
        make_private(path.parent)
    except OSError as error:
        raise CannotCreate(f"{path.parent}: cannot create: {reason_of(error)}: no note was kept") from error
    try:
        create_log(path)
    except CannotCreate:
        if not os.path.lexists(path):  # else another process was faster
            raise
    try:
        sync_folder(path.parent.parent)
    except OSError as error:
        raise CannotCreate(f"{path.parent}: {reason_of(error)}: no note was kept") from error


def _require_own(path: Path) -> None:
    """Raises NoPermission for a file of another user: its notes would be a stranger's words in our contexts."""
    owner = os.stat(path).st_uid
    if owner not in (os.geteuid(), 0):
        raise NoPermission(f"{path} belongs to another user (uid {owner}): not read", "remove it")


def prefix_digest(source: Source, size: int) -> str:
    """The SHA-256 of the first `size` bytes of a log. Raises ReadFailed, UpdatedElsewhere."""
    found = hashlib.sha256()
    for piece in source.chunks(0, size):
        found.update(piece)
    return found.hexdigest()
