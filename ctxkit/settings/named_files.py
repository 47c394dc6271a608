"""The files that a setting names: a file, all of a folder, or those that fit a pattern, and their texts.

Pipeline: `logfile/assembly_sources.py` reads them for a context; a file that is missing is refused when its key is set.
Config of a cloned folder may only name files inside that folder (`keys.py`); links are checked here, and none may lead
out of it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ctxkit.errors import BadConfig, CtxkitError, NoPermission, ReadFailed, reason_of
from ctxkit.settings.keys import Key

LARGEST = 1 << 20
"""The most bytes of a file that is put into every context; a larger one is probably a mistake."""

FILES, SCANNED = 100, 10_000
"""The most files of a folder or pattern that are put into a context, and the most names that are read for them."""
INSIDE = "/./"
"""In an absolute path, as of an archetype: what comes before is a stranger's folder. No link in what follows may lead
out of it, and it may not become a link itself.
"""
_MAGIC = re.compile(r"[*?\[]")
"""The characters that make a name a pattern, if no file or folder has this name."""
_ALL = "**"


class ConfiguredFiles(NamedTuple):
    """The files that a value of config names, each with its name in the context, and what is left out of a folder;
    `unlisted`: the folders among these that cannot be listed, and why.
    """

    files: list[tuple[str, Path]]
    left_out: list[str]
    unlisted: Sequence[str] = ()


def configured_files(folder: Path, name: str, *, several: bool, whose: str = "the log's") -> ConfiguredFiles:
    """The files that `name` stands for, in a log's `folder`: a file; with `several` also all files below a folder, or
    those that fit a pattern (`*`, `**`, `?`, `[]`), sorted by path. `whose`: folder, in words.

    Hidden files and links that lead out are left out, and so is what is beyond FILES or LARGEST bytes in a folder.
    Raises BadConfig if there is nothing of that name, or nothing fits.
    """
    if not name or "\0" in name:
        raise BadConfig("not a file name")
    root, marked, inner = name.partition(INSIDE)
    if marked and root.startswith(("/", "~/")):
        real = os.path.realpath(os.path.expanduser(root))
        if real != root and not root.startswith("~/"):
            return ConfiguredFiles([], [f"{root} is a link, or is below one: ignored"])
        made = configured_files(Path(real), inner, several=several, whose="the archetype's")
        files = [(name if source == inner else f"{root}/{source}", place) for source, place in made.files]
        return made._replace(files=files)
    path = PurePosixPath(name)
    elsewhere = path.is_absolute() or ".." in path.parts or path.parts[:1] == ("~",)  # not from a folder's own config
    place = folder / os.path.expanduser(name) if elsewhere else folder / name
    found = Path(os.path.realpath(place))
    if os.path.lexists(place) and not (several and found.is_dir()):
        if not elsewhere and not found.is_relative_to(folder):
            return ConfiguredFiles([], [f"a link leads out of {whose} folder: ignored"])
        return ConfiguredFiles([(name, found)], [])
    fixed = _fixed(place.parts)
    base, pattern = Path(*place.parts[:fixed]), place.parts[fixed:] or (_ALL,)
    if not several or not base.is_dir():
        raise BadConfig("no such file")
    if not elsewhere and not Path(os.path.realpath(base)).is_relative_to(folder):
        return ConfiguredFiles([], [f"a link leads out of {whose} folder: ignored"])
    start = os.path.relpath(base, folder) if not elsewhere else str(base)
    return _below(base, pattern, "" if start == "." else start, folder if not elsewhere else base, whose)


def _fixed(parts: Sequence[str]) -> int:
    """How many parts of a path come before its pattern: a part that exists under this exact name is not a pattern."""
    places = (i for i, part in enumerate(parts) if _MAGIC.search(part) and not os.path.lexists(Path(*parts[: i + 1])))
    return next(places, len(parts))


def _fitting(base: Path, pattern: Sequence[str], unlisted: dict[str, OSError]) -> Iterator[str]:
    """Paths below `base` that fit. `**`, which is everything below a folder, follows no link: it may lead in a circle
    or out.

    `unlisted`: gets the folders that cannot be listed, and why.
    """
    todo = [("", tuple(pattern))]
    seen = set(todo)

    def look(start: str, parts: tuple[str, ...]) -> None:
        if (start, parts) not in seen:
            seen.add((start, parts))
            todo.append((start, parts))

    for start, parts in todo:  # `look` appends to it
        head, rest = parts[0], parts[1:]
        if head == _ALL and rest:
            look(start, rest)
        deeper = parts if head == _ALL else rest
        try:
            entries = _entries(base / start)
        except OSError as error:
            unlisted[start] = error
            continue
        for entry in entries:
            if head == _ALL or fnmatchcase(entry.name, head):
                if entry.name.startswith(".") and not head.startswith("."):
                    continue
                path = os.path.join(start, entry.name)
                if not rest:
                    yield path
                if deeper and entry.is_dir(follow_symlinks=head != _ALL):
                    look(path, deeper)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The content of a folder, by name; nothing if it is gone or not a folder. Raises OSError."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):  # as in a shell, nothing matches there
        return []


def _below(base: Path, pattern: Sequence[str], start: str, bounds: Path, whose: str) -> ConfiguredFiles:
    """The files below `base` that fit, sorted by path, up to the limits. Raises BadConfig if there is none;
    NoPermission, ReadFailed if `base` cannot be listed.
    """
    unlisted: dict[str, OSError] = {}
    some = sorted(set(islice(_fitting(base, pattern, unlisted), SCANNED + 1)))
    if "" in unlisted:
        why = unlisted[""]
        kind = NoPermission if isinstance(why, PermissionError) else ReadFailed
        raise kind(f"the folder cannot be listed: {reason_of(why)}")
    files: list[tuple[str, Path]] = []
    left_out = [] if len(some) <= SCANNED else [f"more than {SCANNED:,} names: the rest was not looked at"]
    closed = [
        f"{os.path.join(start, name)}: the folder cannot be listed: {reason_of(why)}"
        for name, why in sorted(unlisted.items())
    ]
    left_out += [f"{text}: left out" for text in closed]
    size, beyond = 0, 0
    inside = os.path.realpath(bounds)
    for match in some[:SCANNED]:
        source, real = os.path.join(start, match), Path(os.path.realpath(base / match))
        if not real.is_relative_to(inside):
            left_out.append(f"{source}: a link leads out of {whose} folder: ignored")
            continue
        if real.is_dir():
            if os.path.islink(base / match):
                left_out.append(f"{source}: a link to a folder, which is not followed: left out")
            continue
        try:
            bytes_of = os.stat(real).st_size
        except OSError as error:
            left_out.append(f"{source}: {reason_of(error)}: left out")
            continue
        if len(files) == FILES or (bytes_of <= LARGEST and size + bytes_of > LARGEST):
            beyond += 1
            continue
        size += bytes_of if bytes_of <= LARGEST else 0
        files.append((source, real))
    if beyond:
        left_out.append(f"{beyond:,} more files left out: at most {FILES} files and {LARGEST:,} bytes")
    if not files and not left_out:
        raise BadConfig("no file there" if pattern == (_ALL,) else "no file fits")
    return ConfiguredFiles(files, left_out, closed)


def text_of(path: Path) -> str:
    """The text of a file that config names. Raises BadConfig, NoPermission, ReadFailed; their message has no path."""
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadConfig("no such file") from error
    except PermissionError as error:
        raise NoPermission("permission denied") from error
    except OSError as error:
        raise ReadFailed(reason_of(error)) from error
    except ValueError as error:
        raise BadConfig(str(error)) from error


def missing(folder: Path | None, key: Key, paths: Sequence[str], *, below: bool = False) -> Iterator[str]:
    """Which of the files that a value of `key` names cannot be read, in words; `folder`: the log's, None if no log is
    known.

    Without a folder only absolute paths are checked. `below`: also folders inside a folder that cannot be listed, which
    are left out when the files are read.
    """
    for name in paths:
        if folder is None and not (name.startswith(("/", "~/"))):
            continue
        try:
            found = configured_files(folder or Path("/"), name, several=key.several)
            for source, path in found.files:
                if source == name:
                    text_of(path)
            yield from found.unlisted if below else ()
        except CtxkitError as error:
            yield f"{name}: {error.message}"


def decoded(raw: bytes, largest: int = LARGEST) -> str:
    """The text of these bytes. Raises ValueError if they are too large, or not text."""
    if len(raw) > largest:
        raise ValueError(f"larger than {largest:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not text: not UTF-8 (byte {error.start})") from error
    if "\0" in text:
        raise ValueError("not text: it contains NUL")
    return text.replace("\r\n", "\n").rstrip("\n")


def _read(path: Path) -> str:
    """The text of a regular file. A pipe is not waited for. Raises OSError, ValueError."""
    if path.is_dir():
        raise ValueError("not a regular file, but a folder")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a regular file")
        return decoded(stream.read(LARGEST + 1))
