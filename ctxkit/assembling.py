"""Assembling: the texts that config and caller put around a context, read from their files.

Pipeline: `OpenedLog.assembled` -> here -> `core/assembly.py`, which says where they stand. Config of a cloned folder
may name files inside that folder only (`store/keys.py`); here links are followed too, and none leads out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ctxkit.core import assembly
from ctxkit.core.assembly import Assembled, Assembly
from ctxkit.errors import BadConfig, NoPermission, NoSuchLog, ReadFailed, Usage

if TYPE_CHECKING:
    from ctxkit.opened import OpenedLog

LARGEST = 1 << 20
"""Bytes of a file that is put into every context; a larger one is a mistake."""

HINT = "--no-assembly goes without"


def assemble(log: OpenedLog, own: str | None = None) -> Assembly:
    """What config puts around the context of `log`, and the status of its threads.

    `own`: the caller's words behind that status; None: those of the file `assembly.status`. Raises BadConfig for a file
    that is missing, larger than LARGEST bytes or no text, NoPermission, ReadFailed.
    """
    lead = []
    system = log.config["assembly.system"]
    if system.strip():
        lead.append(Assembled("system", "system", system))
    for name in log.config["assembly.docs"]:
        lead += [Assembled("docs", "system", text, name) for text in _configured(log, "assembly.docs", name)]
    words = [assembly.status(log.state(), log.lens(), log.text)]
    source = ""
    if own is None and log.config["assembly.status"]:
        source = log.config["assembly.status"]
        words += _configured(log, "assembly.status", source)
    elif own is not None:
        words.append(own)
    text = "\n\n".join(word for word in words if word.strip())
    return Assembly(tuple(lead), Assembled("status", "user", text, source) if text else None)


def _configured(log: OpenedLog, key: str, name: str) -> Iterator[str]:
    """The text of a file that config names; none, and a notice, where it is empty or a link leads out of the folder."""
    where = f"{log.config.origin(key)}: {key}: {name}"
    if not name or "\0" in name:
        raise BadConfig(f"{where}: no name of a file: nothing was printed", HINT)
    folder = log.opening.path.resolve().parent if log.opening.path else Path.cwd()
    path = PurePosixPath(name)
    elsewhere = path.is_absolute() or ".." in path.parts or path.parts[:1] == ("~",)  # not from a folder's own config
    found = Path(os.path.realpath(folder / Path(name).expanduser() if elsewhere else folder / name))
    if not elsewhere and not found.is_relative_to(folder):
        log.noticed.append(f"{where}: a link leads out of the log's folder: ignored")
        return
    try:
        text = _text_of(found)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadConfig(f"{where}: no such file: nothing was printed", HINT) from error
    except PermissionError as error:
        raise NoPermission(f"{where}: permission denied: nothing was printed", HINT) from error
    except OSError as error:
        raise ReadFailed(f"{where}: {(error.strerror or str(error)).lower()}: nothing was printed", HINT) from error
    except ValueError as error:
        raise BadConfig(f"{where}: {error}: nothing was printed", HINT) from error
    if text.strip():
        yield text
    else:
        log.noticed.append(f"{where}: is empty: left out")


def words_of(name: str) -> str:
    """The text of a file or pipe that the caller named.

    Raises NoSuchLog, NoPermission, ReadFailed; Usage for what is no text.
    """
    where = f"--status {name}"
    try:
        with open(name, "rb") as stream:
            return decoded(stream.read(LARGEST + 1))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoSuchLog(f"{where}: no such file: nothing was printed", "a file with text, or -") from error
    except PermissionError as error:
        raise NoPermission(f"{where}: permission denied: nothing was printed") from error
    except OSError as error:
        raise ReadFailed(f"{where}: {(error.strerror or str(error)).lower()}: nothing was printed") from error
    except ValueError as error:
        raise Usage(f"{where}: {error}: nothing was printed", "a file with text, or -") from error


def decoded(raw: bytes) -> str:
    """The text of these bytes. Raises ValueError for what is too large, or no text."""
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"no text: not UTF-8 (byte {error.start})") from error
    if "\0" in text:
        raise ValueError("no text: it holds NUL")
    return text.replace("\r\n", "\n").rstrip("\n")


def _text_of(path: Path) -> str:
    """The text of a regular file. A pipe is not waited for. Raises OSError, ValueError."""
    if path.is_dir():
        raise ValueError("not a regular file, but a folder")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a regular file")
        return decoded(stream.read(LARGEST + 1))
