"""Which config files of folders this user said on this machine: wrote with ctxkit, or accepted.

Pipeline: `config.py` asks before a folder's file counts in full; `init`, `config set` and `config accept` note it here.
A clone, a copy, a pull or an edit by hand brings another path or other bytes: such a file is not noted. A note is a
small file of the user's own state folder, one for each path, so that no two processes change the same one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadConfig, CannotCreate, CtxkitError, reason_of
from ctxkit.settings.keys import OWNED_LINE, OWNER
from ctxkit.settings.tomlread import TomlFile, read
from ctxkit.store.private import make_private, user_state

if TYPE_CHECKING:
    from ctxkit.store.sidecar import Sidecar

_OWNED = re.compile(rf"""^[ \t]*{OWNER}[ \t]*=[ \t]*(["'])ctxkit\1""", re.M)

FOLDER = "config"
"""The folder of the notes, in the user's state folder."""
_SIZE = 65
"""Bytes of a digest in hexadecimal digits, and its line end."""
VARIABLE = "CTXKIT_ACCEPT_CONFIG"
"""Set, and not to 0: every config file counts as if it was accepted, for a job in which
nobody can type `config LOG accept`."""


def accept_line(log: str | os.PathLike[str] | None, sidecar: str | os.PathLike[str] | None) -> str:
    """The command that accepts the config files of a log (None: one that is no file)."""
    words = ["ctxkit", "config", "-" if log is None else os.fsdecode(log), "accept"]
    return shlex.join(words if sidecar is None else [*words, "--sidecar", os.fsdecode(sidecar)])


def note_of(file: Path, env: Mapping[str, str]) -> Path:
    """The note about the config file at this path, links followed; it may not exist."""
    return user_state(env) / FOLDER / _digest(os.fsencode(os.path.realpath(file)))


def is_said(file: Path, content: bytes, env: Mapping[str, str]) -> bool:
    """Whether this user said these bytes of `file`. A note that cannot be read says nothing."""
    if env.get(VARIABLE, "") not in ("", "0"):
        return True
    try:
        fd = os.open(note_of(file, env), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # never waits
    except OSError:
        return False
    try:
        return os.read(fd, _SIZE) == _digest(content).encode("ascii") + b"\n"
    except OSError:
        return False
    finally:
        os.close(fd)


def note(file: Path, content: bytes, env: Mapping[str, str]) -> None:
    """Note that this user said these bytes of `file`. Raises CannotCreate, NoPermission."""
    from ctxkit.store import atomic  # slow to import, and most commands note nothing

    kept = note_of(file, env)
    try:
        make_private(kept.parent)
    except OSError as error:
        raise CannotCreate(f"{kept.parent}: cannot create: {reason_of(error)}: {file} is not accepted") from error
    path = os.fsencode(os.path.realpath(file))  # for a person who looks: only the name of the note is compared
    atomic.replace(kept, _digest(content).encode("ascii") + b"\n" + path + b"\n")


def write(sidecar: Sidecar, text: str, env: Mapping[str, str]) -> str:
    """Write a sidecar's config for this user, and note it; returns why it was not noted, "" if it was.

    It is not noted if the file before held keys that nobody here said: a change of one key says nothing of the others.
    Raises CannotCreate, NoPermission of the config; that of the note is returned, for the config is there.
    """
    file = sidecar.config_path
    before = read(file)
    noted = before is None or before.raw is None or not _sets_keys(before) or is_said(file, before.raw, env)
    sidecar.write_config(text)
    if not noted:
        return f"{file}: was not accepted before, so it still is not"
    try:
        note(file, utf8(text), env)
    except CtxkitError as error:
        return error.message
    return ""


def _sets_keys(file: TomlFile) -> bool:
    """Whether a file sets any key, known or not; one that cannot be read may."""
    try:
        return any(path != (OWNER,) and value != {} for path, value in file.entries())
    except BadConfig:
        return True


def is_own(sidecar: Sidecar) -> bool:
    """Whether the sidecar's config says that the log is the user's (`OWNED_LINE`); not if it cannot be read."""
    try:
        found = read(sidecar.config_path)
    except CtxkitError:  # whoever loads the config reports it
        return False
    return found is not None and _OWNED.search(found.text.partition("\n[")[0]) is not None


def own(sidecar: Sidecar, env: Mapping[str, str]) -> None:
    """Note in the config that the log is the user's. Raises CannotCreate, NoPermission, BadConfig, ReadFailed."""
    if not is_own(sidecar):
        before = read(sidecar.config_path)
        write(sidecar, f"{OWNED_LINE}\n{'' if before is None else before.text}", env)


def _digest(content: bytes) -> str:
    from hashlib import sha256  # slow to import, and most folders have no config

    return sha256(content).hexdigest()
