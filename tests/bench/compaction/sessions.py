"""Sessions as their programs would send them: each at its own compactions, as chat records; which repository it is of.

A session is read as it stood right before each of its program's compactions, and at its end; an abandoned branch is
read as it stood at its last message, with what no other reading holds. Thinking and pictures are left out: the
benchmark is about words.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ctxkit import Log
from ctxkit.core.messages import Content, Image, Other, Part, Result, Thinking
from ctxkit.core.transcript import View
from ctxkit.errors import CtxkitError
from ctxkit.formats.chat_lines import lines
from ctxkit.opened import OpenedLog
from ctxkit.reading import read_source

FOLDERS = ("claude-code", "codex", "pi", "copilot-cli", "mini-swe-agent", "swe-agent")
MADE = "made"
"""The folder of sessions that are made (`made.py`)."""
MAIN = frozenset({"claude-code", "codex", MADE})
"""Whose cases make the figures; the others are reported apart."""

REMOTE = re.compile(rb'"repository_url"\s*:\s*"[^"]*?([^"/:]+?)(?:\.git)?"')
TASK = re.compile(rb'"instance_id"\s*:\s*"\w+?__([\w-]+?)-\d+"')
FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')

Record = dict[str, Any]
"""A message as a chat record."""


def files(shared: Path) -> list[Path]:
    """All sessions at hand, in a fixed order."""
    folders = (shared / "transcripts" / name for name in FOLDERS)
    return [path for folder in folders for path in sorted(folder.glob("*.*"))]


def segments(raw: bytes) -> Iterator[list[Record]]:
    """The contexts that a session had at its end and before each of its compactions, oldest first."""
    try:
        log = opened(raw)
    except CtxkitError:
        return  # nothing that ctxkit reads, or many conversations
    found = {place: _own(_until(log, place)) for place in _places(log)}
    taken: set[int] = set()
    for _, (then, numbers) in sorted(found.items()):
        fresh = [n for n in numbers if n not in taken]
        taken.update(fresh)
        if fresh:
            yield records(then, fresh)


def opened(raw: bytes) -> Log:
    """A log in memory, its config that of nobody."""
    return Log.open(io.BytesIO(raw), env={"CTXKIT_COUNTER": "o200k_base"})


def _places(log: OpenedLog) -> set[int]:
    """Numbers of rows before which to read: the end, the compactions, and the ends of abandoned branches."""
    transcript = log.transcript
    places, covered = set[int](), set[int]()
    left = [transcript.rows]
    while left:
        place = left.pop()
        if place in places:
            continue
        places.add(place)
        then = _until(log, place)
        view = then.transcript.view
        covered.update(_own(then)[1])
        left += [cut.row for cut in view.cuts if cut.out] if view is not None else []
        if not left and (lost := _branches(transcript.view) - covered):
            left.append(transcript.row_of[max(lost) - 1] + 1)
            covered.add(max(lost))
    return places


def _branches(view: View | None) -> set[int]:
    return set() if view is None else {n for n, reason in view.inactive.items() if reason == "branch"}


def _until(log: OpenedLog, rows: int) -> OpenedLog:
    """The log as its first rows have it."""
    old = log.opening
    if rows >= log.transcript.rows:
        return log
    then = read_source(old.name, old.path, old.source, None, conversation=None, format=old.format.name, rows=rows)
    return OpenedLog(then, log.config)


def _own(log: OpenedLog) -> tuple[OpenedLog, Sequence[int]]:
    return log, log.own()


def records(log: OpenedLog, numbers: Sequence[int]) -> list[Record]:
    """These messages as chat records: what goes on to another program, words alone."""
    contents = [log.content(n) for n in numbers]
    handed, _ = log.opening.format.handed(contents, log.answered)
    bare = [Content(one.role, worded(one.parts), one.name) for one in handed if one is not None]
    return list(lines(one for one in bare if one.parts))


def worded(parts: Sequence[Part]) -> list[Part]:
    """Without thinking, pictures, and what ctxkit only carries."""
    return [_plain(part) for part in parts if not isinstance(part, Thinking | Image | Other)]


def _plain(part: Part) -> Part:
    if isinstance(part, Result) and not isinstance(part.content, str):
        return Result(part.id, worded(part.content) or "", part.is_error)
    return part


def repository(path: Path, raw: bytes) -> str:
    """Which repository a session worked in: of its remote, its task, or its folder, else the file's name."""
    head = raw[: 1 << 20]
    for pattern in (REMOTE, TASK):
        if found := pattern.search(head):
            return found[1].decode("utf-8", "replace").lower()
    if found := FOLDER.search(head):
        folder = re.split(r"[/\\]\.worktrees[/\\]|__worktrees[/\\]", json.loads(found[1]))[0]
        return re.split(r"[/\\]", folder.rstrip("/\\"))[-1].lower() or path.stem
    return path.stem
