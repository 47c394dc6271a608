"""Reads a config file (regular, bounded, UTF-8, TOML), and finds the line on which each key is set.

Pipeline: `config.py` overrides its settings with those of a file, `tomledit.py` changes one key of it. For any content
the result is the text, or one clear error in bounded time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.errors import BadConfig, NoPermission, ReadFailed, reason_of

LARGEST = 1 << 20
"""The largest config file, in bytes; a hostile one is not read further."""

_HEADER = re.compile(r"""\s*\[{1,2}((?:"[^"]*"|'[^']*'|[^\]"'])+)\]""")


class TomlText(NamedTuple):
    """The text of a file (line ends as `\\n`, no BOM), the user id of its owner, and its bytes."""

    text: str
    owner: int
    raw: bytes


def read(file: Path) -> TomlText | None:
    """The text of `file`; None if it does not exist.

    A pipe or a device is refused before it is opened. Raises BadConfig, NoPermission, ReadFailed.
    """
    try:
        _refuse_other_kinds(file, os.stat(file).st_mode)
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as stream:
            found = os.fstat(stream.fileno())
            _refuse_other_kinds(file, found.st_mode)
            raw = stream.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise BadConfig(f"{file}: larger than {LARGEST:,} bytes", "a config file is small")
        return TomlText(raw.decode("utf-8-sig").replace("\r\n", "\n"), found.st_uid, raw)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise NoPermission(f"{file}: cannot be read", "change its mode or owner") from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"{file}: not UTF-8 (byte {error.start})", "TOML is UTF-8") from error
    except OSError as error:
        raise ReadFailed(f"{file}: {reason_of(error)}", "nothing was changed") from error


def _refuse_other_kinds(file: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "not a regular file"
        raise ReadFailed(f"{file}: not a config file: it is {kind}", "nothing was changed; move it away")


def parse(file: Path, text: str) -> dict[str, Any]:
    """The tables of a config file. Raises BadConfig, which names the line."""
    if not text.strip():
        return {}

    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        what = re.sub(r" ?\(at .*\)$", "", str(error)).lower()
        raise BadConfig(f"{file}:{line}: not TOML ({what})", 'put text in quotes: now = "wall"') from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number with too many digits
        raise BadConfig(
            f"{file}: not TOML that can be read", "it is nested too deep, or holds too large a number"
        ) from error


def lines(text: str) -> dict[str, int]:
    """Dotted name of each key and table -> the line that sets it (tomllib keeps no lines). Linear in the text."""
    table = ""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        path = header(line)
        if path is not None:
            table = path
        elif "=" in line and not line.lstrip().startswith("#"):
            path = ".".join(filter(None, (table, dotted(line.split("=", 1)[0]))))
        else:
            continue
        found[path] = number
    return found


def header(line: str) -> str | None:
    """The dotted name of a table, if the line is a table's header; else None."""
    found = _HEADER.match(line)
    return None if found is None else dotted(found[1])


def line_of(known: dict[str, int], name: str) -> int:
    """The line of `name`, else of the table that it is in; 1 if it is written in another way."""
    while name not in known and "." in name:
        name = name.rpartition(".")[0]
    return known.get(name, 1)


def dotted(path: str) -> str:
    """A key as written in a file, without its quotes and blanks."""
    return ".".join(_unquoted(part) for part in path.strip().split("."))


def _unquoted(part: str) -> str:
    return part.strip().strip("\"'").replace('\\"', '"').replace("\\\\", "\\")


def flat(table: dict[str, Any], ends: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and value of everything that is set. `ends(path)`: whether it is a known key, even if it is a table."""
    for part, value in table.items():
        here = (*path, part)
        if isinstance(value, dict) and value and len(here) < 4 and not ends(here):
            yield from flat(value, ends, here)
        else:
            yield here, value
