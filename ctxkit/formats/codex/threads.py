"""Finds the files of a Codex thread by its id, from another file of the same home.

Used to read a fork together with the history that stands in another file. Only names are read, of the folders where
Codex keeps rollouts: `sessions/YYYY/MM/DD`, and `archived_sessions`, which has no folders in it. Source of the names:
what Codex 0.171.0 was observed to write. A thread that was taken back has one more file for each time, a page:
`rollout-<time>-<thread>_<page>.jsonl`. A file that was not used for long is compressed, and `.zst` added to its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ctxkit.core.log_name import COMPRESSED, plain_name
from ctxkit.formats.registry import HOMES

ACTIVE, ARCHIVED = HOMES["codex"].inside, HOMES["codex"].retired
"""The folders in a home of Codex in which it keeps rollouts."""
_ROLLOUT = re.compile(rf"rollout-[0-9T-]{{19}}-([^_.]+)(?:_([^_.]+))?\.jsonl(?:{re.escape(COMPRESSED)})?")
"""The name of a rollout; the groups are its thread and its page."""
_DAY = ("[0-9]{4}", "[0-9]{2}", "[0-9]{2}")


def thread_files(beside: Path, thread: str) -> list[Path]:
    """The files of a thread, or of a page of one, in the home of the file `beside`: the newest day first, of a day the
    newest file first. Empty if there is none.

    A file that lies in no home of Codex is looked for in its own folder alone. Of a file that is there both plain and
    compressed, the plain one counts, as for Codex. Folders that cannot be listed count as empty.
    """
    found = []
    for folder in _folders(beside):
        names = _names(folder)
        fitting = [name for name in names if (one := _ROLLOUT.fullmatch(name)) is not None and thread in one.groups()]
        fitting = [name for name in fitting if plain_name(name) == name or plain_name(name) not in names]
        found += [path for name in sorted(fitting, reverse=True) if (path := folder / name).is_file()]
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


def is_newest(path: Path) -> bool:
    """Whether a file is the one with which Codex goes on with its thread."""
    name = _ROLLOUT.fullmatch(path.name)
    return name is None or str(path) not in older_pages(map(str, [path, *thread_files(path, name[1])]))


def _folders(beside: Path) -> Iterator[Path]:
    """The folders in which the rollouts of a home lie: days, the newest first, then the archived ones."""
    own = Path(os.path.abspath(beside)).parent
    kept = next((one for one in (own, *own.parents) if one.name in (ACTIVE, ARCHIVED)), None)
    if kept is None:
        yield own
        return
    known = [kept.parent / ACTIVE]
    for pattern in _DAY:
        known = [inner for folder in known for inner in _below(folder, pattern)]
    known.append(kept.parent / ARCHIVED)
    yield from known if own in known else [own, *known]


def _below(folder: Path, pattern: str) -> list[Path]:
    """The entries of a folder whose names fit a pattern, the last first."""
    return [folder / name for name in sorted(_names(folder), reverse=True) if re.fullmatch(pattern, name)]


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()
