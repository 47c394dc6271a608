"""Drafts: texts that people edit, each in a folder of its own in the sidecar, only for its owner.

They are never in a shared folder for temporary files. The files that an editor puts beside a draft (swap files,
backups) are removed with it. A draft is removed once its change is durable, and stays if the change failed.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import compact
from ctxkit.errors import CannotCreate, NoPermission, ReadFailed, WriteFailed, reason_of
from ctxkit.store import atomic
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.sidecar import Sidecar

FOLDER, NAME = "drafts", "draft.txt"


class Draft:
    """One draft, on disk. `path`: the file for the editor."""

    def __init__(self, sidecar: Sidecar, text: str) -> None:
        """Writes the draft durably, whole or not at all. Raises CannotCreate, NoPermission."""
        self._new = not os.path.lexists(sidecar.folder)
        self._within = sidecar.subfolder(FOLDER)
        self._folder = self._within / f"{compact(time.time())}-{os.urandom(4).hex()}"
        self.path = self._folder / NAME
        try:
            _sweep(self._within)
            os.mkdir(self._folder, 0o700)
            sync_folder(self._within)
            atomic.create(self.path, [utf8(text)])
        except (OSError, WriteFailed) as error:
            self.remove()
            failed = error.__cause__ if isinstance(error, WriteFailed) else error  # a draft must be durable
            reason = (getattr(failed, "strerror", "") or str(failed)).lower()
            kind = NoPermission if isinstance(error, PermissionError) else CannotCreate
            text = f"{self._folder}: cannot create: {reason}: nothing was changed"
            raise kind(text, "--sidecar DIR names another folder") from error
        except BaseException:
            self.remove()
            raise

    def write(self, text: str) -> None:
        """Replace the text as a whole. Raises CannotCreate, NoPermission."""
        atomic.replace(self.path, utf8(text))

    def read(self) -> bytes:
        """The content now; empty if the editor removed the file. Raises ReadFailed."""
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):  # an editor may put anything in its place
                raise ReadFailed(f"{self.path}: not a regular file: nothing was changed")
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            text = f"{self.path}: {reason_of(error)}: nothing was changed"
            raise ReadFailed(text) from error

    def remove(self) -> None:
        """Remove the draft, the files beside it, and a sidecar that was created for it and has nothing else in it."""
        _remove(self._folder)
        if self._new and not os.path.lexists(self._within):
            _leave_if_empty(self._within.parent)


def left(sidecar: Sidecar) -> list[Path]:
    """The existing drafts, the oldest first: those of open editors, and those of edits that failed."""
    within = sidecar.folder / FOLDER
    if sidecar.ignored or sidecar.leads_out(within):
        return []
    try:
        found = sorted(within / name / NAME for name in os.listdir(within))
    except OSError:
        return []
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


def discard(sidecar: Sidecar, path: Path) -> bool:
    """Remove a draft of this sidecar that was applied by its path; returns whether there is such a draft."""
    found = next((one for one in left(sidecar) if os.path.realpath(one) == os.path.realpath(path)), None)
    if found is not None:
        _remove(found.parent)
    return found is not None


def _remove(folder: Path) -> None:
    _clear(folder)
    _leave_if_empty(folder.parent)


def _clear(folder: Path) -> None:
    """Delete a folder as far as possible; no link is followed."""
    import shutil

    with suppress(OSError):  # `ignore_errors` does not ignore all
        shutil.rmtree(folder, ignore_errors=True)


def _leave_if_empty(folder: Path) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return  # something else is in it


def _sweep(within: Path) -> None:
    """Remove the folders of killed processes that had not written their draft yet."""
    for name in os.listdir(within):
        folder = within / name
        try:
            old = os.lstat(folder).st_mtime < time.time() - atomic.STALE
        except OSError:
            continue
        if old and not os.path.lexists(folder / NAME):
            _clear(folder)
