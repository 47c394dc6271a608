"""Reads the files with texts and tool definitions that config and caller put around a context.

Pipeline: `Log.assembled` -> here -> `core/assembly.py`, which decides their places. Config of a cloned folder may only
name files inside that folder (`store/keys.py`); links are checked here, and none may lead out of it. The texts of an
agent come before those of the log if the log is seen as that agent (`Config.for_agent`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ctxkit.core import assembly
from ctxkit.core.assembly import Assembled, Assembly, AssemblySources
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadConfig, BadTools, CtxkitError, NoPermission, NoSuchLog, ReadFailed, Usage, reason_of
from ctxkit.formats.columns import Columns
from ctxkit.store.config import key_of
from ctxkit.store.keys import COMMAND, FILE, Key

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog
    from ctxkit.tokens.tools import Tool

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

HINT = "--no-assembly goes without"
TOOLS_HINT = "a JSON list of definitions as a provider takes them, or an object with `tools`"


def assemble(log: OpenLog, own: str | None = None) -> Assembly:
    """What config puts around the context of `log`, and the status of its threads.

    `own`: the caller's text after that status; None: that of the file `assembly.status`. Raises BadConfig for a file
    that is missing, larger than LARGEST bytes or not text, NoPermission, ReadFailed. For a log that is only read
    (`log.looks`) such a file is left out, and named in `log.noticed`.
    """
    found = log.sources if log.sources is not None and own is None else read_sources(log, own)
    words = [assembly.status(log.state(), log.projection(), log.text)] if _threaded(log) else []
    text = "\n\n".join(word for word in [*words, *found.words] if word.strip())
    made = Assembly(found.lead, Assembled("status", "user", text, found.source) if text else None, found.notes)
    if log.redactor is None or not log.hides:
        return made
    return msgspec.convert(log.redactor.value(msgspec.to_builtins(made)), Assembly)


def read_sources(log: OpenLog, own: str | None = None) -> AssemblySources:
    """What config and caller put around the context of `log`, but for the status of its threads, as it is now.

    A caller that needs the same more than once sets it as `log.sources`. `own`, errors: as for `assemble`.
    """
    lead = []
    system = log.config["assembly.system"]
    if system.startswith(FILE) and log.config.source("assembly.system")[0] != "assembly.system":
        files = _configured(log, "assembly.system", system.removeprefix(FILE))
        lead += [Assembled("system", "system", text, source) for source, text in files]
    elif system.strip():
        lead.append(Assembled("system", "system", system))
    for name in log.config["assembly.docs"]:
        lead += [Assembled("docs", "system", text, source) for source, text in _configured(log, "assembly.docs", name)]
    notes = Assembled("memory", "user", log.memory) if log.memory else None
    words = list(_processes(log))
    source = ""
    if own is None and log.config["assembly.status"]:
        source = log.config["assembly.status"]
        words += (text for _, text in _configured(log, "assembly.status", source))
    elif own is not None:
        words.append(own)
    if log.config["memory.status"]:
        words.append(log.memory_line())
    return AssemblySources(tuple(lead), tuple(words), source, notes)


def _processes(log: OpenLog) -> Iterator[str]:
    """What the config has about processes, for the status: the output of a command, or the text of a file."""
    asked = log.config["status.processes"]
    if not asked:
        return
    if not asked.startswith(COMMAND):
        yield from (f"Processes:\n{text}" for _, text in _configured(log, "status.processes", asked))
        return
    from ctxkit.logfile.status_command import output

    found = output(asked.removeprefix(COMMAND).strip())
    if found.fault:
        _notice(log, f"{log.config.origin('status.processes')}: status.processes: {found.fault}")
    yield f"Processes: not known ({found.fault})" if found.fault else f"Processes:\n{found.text}"


def _threaded(log: OpenLog) -> bool:
    """Whether there may be threads; `Columns` need no look at each message."""
    messages = log.messages
    if not isinstance(messages, Columns) or messages.threads or log.lens_agent:
        return True
    return any(item.message.get("thread") is not None for item in log.state().board.items.values())


def configured_tools(log: OpenLog) -> list[Tool]:
    """The tool definitions in the file that config names, if any. Raises as `assemble` does."""
    name = log.config["tools"]
    for _, text in _configured(log, "tools", name, TOOLS_HINT) if name else ():
        try:
            return _definitions(text)
        except ValueError as error:
            where = f"{log.config.origin('tools')}: tools: {name}"
            raise BadConfig(f"{where}: {error}: nothing was printed", TOOLS_HINT) from error
    return []


def tools_in(text: str, where: str, after: str = "") -> list[Tool]:
    """The tool definitions in the text of a file that the caller named; `after` as in `words_of`. Raises BadTools."""
    try:
        return _definitions(text)
    except ValueError as error:
        raise BadTools(f"{where}: {error}{after}", TOOLS_HINT) from error


def _definitions(text: str) -> list[Tool]:
    """Raises ValueError."""
    from ctxkit.tokens.tools import definitions

    try:
        value = loads(utf8(text))
    except ValueError as error:
        raise ValueError("no JSON" if str(error) != "nested too deeply" else str(error)) from error
    return definitions(value)


def _configured(log: OpenLog, key: str, name: str, hint: str = HINT) -> Iterator[tuple[str, str]]:
    """The files that a value of config names, each with its text; none, and a notice, if one is empty or leads out.

    What cannot be read is raised or, for a log that is only read, noticed and left out.
    """
    key, setting = log.config.source(key)
    where = f"{setting.origin}: {key}: {name}"

    def notice(text: str) -> None:
        _notice(log, text)

    try:
        found = configured_files(folder_of(log), name, several=key_of(key).several)
    except CtxkitError as error:
        if not log.looks:
            raise _after(error, where, hint) from error
        notice(f"{where}: {error.message}: left out")
        return
    for text in found.left_out:
        notice(f"{where}: {text}")
    for source, path in found.files:
        place = where if source == name else f"{where}: {source}"
        try:
            text = _text(path)
        except CtxkitError as error:
            if not log.looks and source == name:
                raise _after(error, where, hint) from error
            notice(f"{place}: {error.message}: left out")
            continue
        if text.strip():
            yield source, text
        else:
            notice(f"{place}: is empty: left out")


def _notice(log: OpenLog, text: str) -> None:
    if text not in log.noticed:  # one command may assemble more than once
        log.noticed.append(text)


def _after(error: CtxkitError, where: str, hint: str) -> CtxkitError:
    return type(error)(f"{where}: {error.message}: nothing was printed", hint)


class ConfiguredFiles(NamedTuple):
    """The files that a value of config names, each with its name in the context, and what is left out of a folder;
    `unlisted`: the folders among these that cannot be listed, and why.
    """

    files: list[tuple[str, Path]]
    left_out: list[str]
    unlisted: Sequence[str] = ()


def folder_of(log: OpenLog) -> Path:
    """The folder that paths of a log's config are relative to."""
    if log.folder is not None:
        return log.folder
    return log.opening.path.resolve().parent if log.opening.path else Path.cwd()


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


def _text(path: Path) -> str:
    """The text of a file that config names. Raises BadConfig, NoPermission, ReadFailed; their message has no path."""
    try:
        return _text_of(path)
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
                    _text(path)
            yield from found.unlisted if below else ()
        except CtxkitError as error:
            yield f"{name}: {error.message}"


def words_of(
    name: str, option: str = "--status", after: str = ": nothing was printed", refused: type[CtxkitError] = Usage,
    largest: int = LARGEST,
) -> str:  # fmt: skip
    """The text of a file or pipe that the caller named with `option`; `after`: the end of the error message, which says
    what did not happen; `largest`: its size in bytes.

    Raises NoSuchLog, NoPermission, ReadFailed; `refused` for what is not text.
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
        raise ReadFailed(f"{where}: {reason_of(error)}{after}") from error
    except ValueError as error:
        raise refused(f"{where}: {error}{after}", hint) from error


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


def _text_of(path: Path) -> str:
    """The text of a regular file. A pipe is not waited for. Raises OSError, ValueError."""
    if path.is_dir():
        raise ValueError("not a regular file, but a folder")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a regular file")
        return decoded(stream.read(LARGEST + 1))
