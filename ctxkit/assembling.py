"""Assembling: the texts, and the definitions of tools, that config and caller put around a context: read from files.

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
from ctxkit.core.jsontext import loads
from ctxkit.errors import BadConfig, BadTools, CtxkitError, NoPermission, NoSuchLog, ReadFailed, Usage
from ctxkit.formats.columns import Columns

if TYPE_CHECKING:
    from ctxkit.opened import OpenedLog
    from ctxkit.tokens.tools import Tool

LARGEST = 1 << 20
"""Bytes of a file that is put into every context; a larger one is a mistake."""

HINT = "--no-assembly goes without"
TOOLS_HINT = "a JSON list of definitions as a provider takes them, or an object with `tools`"


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
    words = [assembly.status(log.state(), log.lens(), log.text)] if _threaded(log) else []
    source = ""
    if own is None and log.config["assembly.status"]:
        source = log.config["assembly.status"]
        words += _configured(log, "assembly.status", source)
    elif own is not None:
        words.append(own)
    text = "\n\n".join(word for word in words if word.strip())
    return Assembly(tuple(lead), Assembled("status", "user", text, source) if text else None)


def _threaded(log: OpenedLog) -> bool:
    """Whether there may be threads to tell of: columns know without a look at each message."""
    messages = log.messages
    return not isinstance(messages, Columns) or bool(messages.threads or log.state().board.items or log.lens_agent)


def configured_tools(log: OpenedLog) -> list[Tool]:
    """The tool definitions in the file that config names; none where it names none. Raises as `assemble` does."""
    name = log.config["tools"]
    for text in _configured(log, "tools", name, TOOLS_HINT) if name else ():
        try:
            return _definitions(text)
        except ValueError as error:
            where = f"{log.config.origin('tools')}: tools: {name}"
            raise BadConfig(f"{where}: {error}: nothing was printed", TOOLS_HINT) from error
    return []


def tools_in(text: str, where: str, after: str = "") -> list[Tool]:
    """The tool definitions in the text of a file that the caller named; `after` as of `words_of`. Raises BadTools."""
    try:
        return _definitions(text)
    except ValueError as error:
        raise BadTools(f"{where}: {error}{after}", TOOLS_HINT) from error


def _definitions(text: str) -> list[Tool]:
    """Raises ValueError."""
    from ctxkit.tokens.tools import definitions

    try:
        value = loads(text.encode("utf-8"))
    except ValueError as error:
        raise ValueError("no JSON" if str(error) != "nested too deeply" else str(error)) from error
    return definitions(value)


def _configured(log: OpenedLog, key: str, name: str, hint: str = HINT) -> Iterator[str]:
    """The text of a file that config names; none, and a notice, where it is empty or a link leads out of the folder."""
    where = f"{log.config.origin(key)}: {key}: {name}"
    if not name or "\0" in name:
        raise BadConfig(f"{where}: no name of a file: nothing was printed", hint)
    folder = log.opening.path.resolve().parent if log.opening.path else Path.cwd()
    path = PurePosixPath(name)
    elsewhere = path.is_absolute() or ".." in path.parts or path.parts[:1] == ("~",)  # not from a folder's own config
    found = Path(os.path.realpath(folder / os.path.expanduser(name) if elsewhere else folder / name))
    if not elsewhere and not found.is_relative_to(folder):
        log.noticed.append(f"{where}: a link leads out of the log's folder: ignored")
        return
    try:
        text = _text_of(found)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadConfig(f"{where}: no such file: nothing was printed", hint) from error
    except PermissionError as error:
        raise NoPermission(f"{where}: permission denied: nothing was printed", hint) from error
    except OSError as error:
        raise ReadFailed(f"{where}: {(error.strerror or str(error)).lower()}: nothing was printed", hint) from error
    except ValueError as error:
        raise BadConfig(f"{where}: {error}: nothing was printed", hint) from error
    if text.strip():
        yield text
    else:
        log.noticed.append(f"{where}: is empty: left out")


def words_of(
    name: str, option: str = "--status", after: str = ": nothing was printed", refused: type[CtxkitError] = Usage,
    largest: int = LARGEST,
) -> str:  # fmt: skip
    """The text of a file or pipe that the caller named with `option`; `after`: what did not happen where it fails;
    `largest`: its bytes.

    Raises NoSuchLog, NoPermission, ReadFailed; `refused` for what is no text.
    """
    where, hint = f"{option} {name}", "a file with text, or -"
    try:
        with open(name, "rb") as stream:
            return decoded(stream.read(largest + 1), largest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoSuchLog(f"{where}: no such file{after}", hint) from error
    except PermissionError as error:
        raise NoPermission(f"{where}: permission denied{after}") from error
    except OSError as error:
        raise ReadFailed(f"{where}: {(error.strerror or str(error)).lower()}{after}") from error
    except ValueError as error:
        raise refused(f"{where}: {error}{after}", hint) from error


def decoded(raw: bytes, largest: int = LARGEST) -> str:
    """The text of these bytes. Raises ValueError for what is too large, or no text."""
    if len(raw) > largest:
        raise ValueError(f"larger than {largest:,} bytes")
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
