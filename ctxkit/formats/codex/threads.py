"""Finds the files of a Codex thread by its id, from another file of the same home.

Used to read a fork together with the history that stands in another file. Only names are read, of the folders where
Codex keeps rollouts: `sessions/YYYY/MM/DD`, and `archived_sessions`, which has no folders in it. Source of the names:
what Codex 0.171.0 was observed to write. A thread that was taken back has one more file for each time, a page:
`rollout-<time>-<thread>_<page>.jsonl`. A file that was not used for long is compressed, and `.zst` added to its name.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.log_name import COMPRESSED, plain_name
from ctxkit.formats.registry import HOMES

ACTIVE, ARCHIVED = HOMES["codex"].inside, HOMES["codex"].retired
"""The folders in a home of Codex in which it keeps rollouts."""
_ROLLOUT = re.compile(rf"rollout-[0-9T-]{{19}}-([^_.]+)(?:_([^_.]+))?\.jsonl(?:{re.escape(COMPRESSED)})?")
"""The name of a rollout; the groups are its thread and its page."""
_JUST_NOW = 50_000_000
"""Nanoseconds in which a folder can change twice, and its time once."""
_DAY = ("[0-9]{4}", "[0-9]{2}", "[0-9]{2}")


def thread_files(beside: Path, thread: str) -> list[Path]:
    """The files of a thread, or of a page of one, in the home of the file `beside`: the newest day first, of a day the
    newest file first. Empty if there is none.

    A file that lies in no home of Codex is looked for in its own folder alone. Of a file that is there both plain and
    compressed, the plain one counts, as for Codex.

    Raises OSError if there is none in the folders that can be listed, and another cannot.
    """
    found, failed = list[Path](), list[OSError]()
    for folder in _folders(beside, failed):
        paths = (os.path.join(folder, name) for name in _listing(folder, failed).of.get(thread, ()))
        found += map(Path, filter(os.path.isfile, paths))
    if failed and not found:
        raise failed[0]
    return found


def file_id(name: str) -> str:
    """The last id in the name of a rollout, by which other files name it: its page's or its thread's; "" for none."""
    found = _ROLLOUT.fullmatch(name)
    return "" if found is None else found[2] or found[1]


def older_pages(paths: Iterable[str]) -> set[str]:
    """Those of the paths that are files of a thread which has a newer one among them: Codex goes on with the newest.

    Of two, the one in the later folder is newer, else the one with the later name (Codex 0.171.0).
    """
    newest: dict[str, str] = {}
    older = set[str]()
    for path in paths:
        name = _ROLLOUT.fullmatch(path.rpartition("/")[2])
        if name is None:
            continue
        other = newest.setdefault(name[1], path)
        if other != path:
            first, last = sorted((other, path), key=lambda one: (one.rpartition("/")[0], one))
            newest[name[1]] = last
            older.add(first)
    return older


def older_files(page: Path) -> list[Path]:
    """The other files of a thread, of the page with which Codex goes on with it; empty for any other file."""
    name = _ROLLOUT.fullmatch(page.name)
    if name is None or name[2] is None or not is_newest(page):
        return []
    try:
        return [path for path in thread_files(page, name[1]) if path.name != page.name]
    except OSError:
        return []


def is_newest(path: Path) -> bool:
    """Whether a file is the one with which Codex goes on with its thread."""
    name = _ROLLOUT.fullmatch(path.name)
    try:
        others = [] if name is None else thread_files(path, name[1])
    except OSError:
        others = []
    return str(path) not in older_pages(map(str, [path, *others]))


class _Listing(NamedTuple):
    """The names in a folder, the last first; `of`: those of rollouts, by each id in them."""

    names: list[str]
    of: dict[str, list[str]]


def _folders(beside: Path, failed: list[OSError]) -> Iterator[str]:
    """The folders in which the rollouts of a home lie: days, the newest first, then the archived ones."""
    own = os.path.dirname(os.path.abspath(beside))
    home, inside = own, ""
    while inside not in (ACTIVE, ARCHIVED) and home != os.path.dirname(home):
        home, inside = os.path.split(home)
    if inside not in (ACTIVE, ARCHIVED):
        yield own
        return
    known = [os.path.join(home, ACTIVE)]
    for pattern in _DAY:
        known = [inner for folder in known for inner in _below(folder, pattern, failed)]
    known.append(os.path.join(home, ARCHIVED))
    yield from known if own in known else [own, *known]


def _below(folder: str, pattern: str, failed: list[OSError]) -> list[str]:
    """The entries of a folder whose names fit a pattern, the last first."""
    return [os.path.join(folder, name) for name in _listing(folder, failed).names if re.fullmatch(pattern, name)]


def _listing(folder: str, failed: list[OSError]) -> _Listing:
    """The listing of a folder, an empty one if it is not there. Any other error is put into `failed`."""
    try:
        found = os.stat(folder)
        if time.time_ns() - found.st_mtime_ns < _JUST_NOW:
            return _listed(folder)
        return _kept(folder, found.st_dev, found.st_ino, found.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        failed.append(error)
    return _Listing([], {})


@lru_cache(maxsize=1024)
def _kept(folder: str, *_stamp: int) -> _Listing:
    """The listing of a folder for as long as nothing in it gets another name: a chain of forks asks for each."""
    return _listed(folder)


def _listed(folder: str) -> _Listing:
    names = sorted(os.listdir(folder), reverse=True)
    there = set(names)
    of: dict[str, list[str]] = {}
    for name in names:
        found = _ROLLOUT.fullmatch(name)
        if found is not None and (plain_name(name) == name or plain_name(name) not in there):
            for key in {*found.groups()} - {None}:
                of.setdefault(key, []).append(name)
    return _Listing(names, of)
