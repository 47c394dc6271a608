"""Sessions as their programs would send them: each at its own compactions, as chat records; which repository it is of.

A session is read as it stood right before each of its program's compactions, and at its end; an abandoned branch is
read as it stood at its last message, with what no other reading holds. Thinking and pictures are left out, as the
benchmark is about words, and so are system messages and instructions, which stand in every request as they are.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.messages import Content, Image, Other, Part, Result, Thinking
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.transcript import ProgramCut, View
from ctxkit.errors import CtxkitError
from ctxkit.formats.chat_lines import lines
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import read_source

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


class Reading(NamedTuple):
    """A session as its first `rows` have it: its context, and the compactions on its way, by row."""

    rows: int
    log: OpenLog
    numbers: Sequence[int]
    cuts: Sequence[ProgramCut]


def segments(raw: bytes) -> Iterator[list[Record]]:
    """The contexts that a session had at its end and before each of its compactions, oldest first.

    What a branch has in common with an older one is left out; what a compaction kept is there again.
    """
    taken = set[int]()
    for one in readings(raw):
        kept, places = max((cut.row for cut in one.cuts), default=0), one.log.transcript.row_of
        fresh = [n for n in one.numbers if n not in taken or places[n - 1] < kept]
        if taken.issuperset(fresh):
            continue
        taken.update(fresh)
        yield records(one.log, fresh)


def readings(raw: bytes) -> list[Reading]:
    """The session at its end, before each compaction, and at the end of each abandoned branch, oldest first."""
    try:
        log = opened(raw)
    except CtxkitError:
        return []  # nothing that ctxkit reads, or many conversations
    found: dict[int, Reading] = {}
    covered, left = set[int](), [log.transcript.rows]
    while left:
        place = left.pop()
        if place in found:
            continue
        then = until(log, place)
        view = then.transcript.view
        cuts = [cut for cut in view.cuts if cut.out] if view is not None else []
        found[place] = Reading(place, then, then.own(), cuts)
        covered.update(found[place].numbers)
        left += [cut.row for cut in cuts]
        if not left and (lost := _branches(log.transcript.view) - covered):
            left.append(log.transcript.row_of[max(lost) - 1] + 1)
            covered.add(max(lost))
    return [found[place] for place in sorted(found)]


def opened(raw: bytes) -> Log:
    """A log in memory, its config that of nobody."""
    return Log.open(io.BytesIO(raw), env={"CTXKIT_COUNTER": "o200k_base"})


def _branches(view: View | None) -> set[int]:
    return set() if view is None else {n for n, reason in view.inactive.items() if reason == "branch"}


def until(log: OpenLog, rows: int) -> OpenLog:
    """The log as its first rows have it."""
    old = log.opening
    if rows >= log.transcript.rows:
        return log
    then = read_source(old.name, old.path, old.source, None, conversation=None, format=old.format.name, rows=rows)
    return OpenLog(then, log.config)


def records(log: OpenLog, numbers: Sequence[int]) -> list[Record]:
    """These messages as chat records: what goes on to another program, words alone, without what only instructs."""
    contents = [content for n in numbers if not _instructs(content := log.content(n))]
    portable, _ = log.opening.format.portable(contents, log.answered)
    bare = [Content(one.role, worded(one.parts), one.name) for one in portable if one is not None]
    return list(lines(one for one in bare if one.parts))


def _instructs(content: Content) -> bool:
    return content.role in PREAMBLE_ROLES or (content.role == "user" and kind(content) == SyntheticKind.INSTRUCTION)


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
