"""Whose file a log of chat messages is: the user's, which gets its ops itself, or a program's, which is only read.

Pipeline: `logfile/read.py` asks once a log is read. Many programs keep their sessions as plain chat messages, and some
cannot read a file again in which a row is not theirs. In this order: `--own`; the rows, the companion or the folder of
a program that is listed (`formats/chat_programs.py`); an op in the log or in its sidecar, or a sidecar that ctxkit made
with the log; a folder in which programs keep their files. Else it is the user's.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ctxkit.core.text.utf8 import utf8
from ctxkit.formats.chat_programs import PROGRAMS, ChatProgram, of_row

COMPANION = 1 << 16
"""Bytes of a companion that are looked at."""
_BASES = (
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CONFIG_HOME", ".config"),
    ("", "Library/Application Support"),
)
"""Folders in which programs keep what is theirs: the variable that names one, and the default below the home."""
_VERSIONED = (".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout")
"""What stands at the top of a tree under version control."""


def program(records: Iterable[Mapping[str, Any]], path: Path | None, env: Mapping[str, str] | None = None) -> str:
    """The listed program that owns a log with these records at this path; "" if none does.

    `path`: None for a stream, of which rows alone count. `env`: the environment (default: the process's own).
    """
    for record in records:
        if name := of_row(record):
            return name
    if path is None:
        return ""
    places = _places(path)
    for one in PROGRAMS:
        bases = [(_folder(variable, default, env), inside) for variable, default, inside in one.folders]
        folders = [os.path.join(base, inside) for base, inside in bases if base]
        if any(_parts(place, folder) for place in places for folder in folders):
            return one.name
        if any(_has_companion(one, place) for place in places):
            return one.name
    return ""


def among_programs_files(path: Path, env: Mapping[str, str] | None = None) -> bool:
    """Whether a log is below a folder in which programs keep their own files, and not in a tree under version control.

    These are the hidden folders of the home, and the folders of XDG and of macOS for data, state and config; ctxkit's
    own in them are the user's.
    """
    home = _home(env)
    bases = [folder for variable, default in _BASES if (folder := _folder(variable, default, env))]
    for place in _places(path):
        parts = _parts(place, home)
        hidden = len(parts) > 1 and parts[0].startswith(".")
        inside = [found for base in bases if (found := _parts(place, base))]
        own = any(found[0] == "ctxkit" for found in inside)
        if (hidden or inside) and not own and not _is_versioned(place, home):
            return True
    return False


def _parts(place: str, base: str) -> list[str]:
    """The folders and the name of a path, from a folder on that it is below; none if it is not."""
    for one in dict.fromkeys((os.path.normpath(base), os.path.realpath(base))):
        if place.startswith(one.rstrip(os.sep) + os.sep):
            return place[len(one) :].strip(os.sep).split(os.sep)
    return []


def _places(path: Path) -> list[str]:
    """The path as it was named, and where links lead: a program may reach its file by either."""
    return list(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))


def _home(env: Mapping[str, str] | None) -> str:
    found = (os.environ if env is None else env).get("HOME", "")
    return found if os.path.isabs(found) else pwd.getpwuid(os.getuid()).pw_dir


def _folder(variable: str, default: str, env: Mapping[str, str] | None) -> str:
    """The folder that a variable names, else the default below the home; "" if neither names one."""
    named = (os.environ if env is None else env).get(variable, "") if variable else ""
    if os.path.isabs(named):
        return named
    return os.path.join(_home(env), default) if default else ""


def _has_companion(one: ChatProgram, place: str) -> bool:
    """Whether the program's other file is beside a file that has a name of its own, and says what only it says."""
    folder, name = os.path.split(place)
    if not any(fnmatchcase(name, pattern) for pattern in one.files):
        return False
    try:
        fd = os.open(os.path.join(folder, one.companion), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return re.search(utf8(one.says), os.read(fd, COMPANION), re.MULTILINE) is not None
    except OSError:
        return False
    finally:
        os.close(fd)


def _is_versioned(place: str, home: str) -> bool:
    """Whether a path is in a tree under version control that begins below the home: one that holds the home itself says
    nothing of what programs put there.
    """
    inside = (folder for folder in _above(place) if not _parts(home, folder) and folder != os.path.normpath(home))
    return any(os.path.lexists(os.path.join(folder, one)) for folder in inside for one in _VERSIONED)


def _above(place: str) -> Iterator[str]:
    """The folders above a path, the nearest first."""
    while (folder := os.path.dirname(place)) != place:
        yield folder
        place = folder
