"""Reads a config file (regular, bounded, UTF-8, TOML): what it sets, on which line, and whose file it is.

Pipeline: `config.py` overrides its settings with those of a file, `log_config.py` changes one key of it. For any
content the result is a `TomlFile`, or one clear error in bounded time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxkit.errors import BadConfig, NoPermission, ReadFailed, reason_of
from ctxkit.settings.keys import KeyPath, is_key

LARGEST = 1 << 20
"""The largest config file, in bytes; a hostile one is not read further."""

_HEADER = re.compile(r"""\s*\[{1,2}((?:"[^"]*"|'[^']*'|[^\]"'])+)\]""")


class TomlFile:
    """A config file as it was read: its text (line ends as `\\n`, no BOM), the user id of its owner, and its bytes; the
    last two are None for a text that no file holds yet.
    """

    def __init__(self, path: Path, text: str, owner: int | None = None, raw: bytes | None = None) -> None:
        self.path = path
        self.text = text
        self.owner = owner
        self.raw = raw
        self._lines: dict[str, int] | None = None

    def table(self) -> dict[str, Any]:
        """Its tables. Raises BadConfig, which names the line."""
        return _parsed(self.path, self.text)

    def entries(self) -> list[tuple[KeyPath, Any]]:
        """The path and value of everything that it sets. Raises BadConfig, which names the line."""
        return list(flat(self.table()))

    def line(self, name: str) -> int:
        """The line of `name`, else of the table that it is in; 1 if it is written in another way."""
        if self._lines is None:
            self._lines = lines(self.text)
        while name not in self._lines and "." in name:
            name = name.rpartition(".")[0]
        return self._lines.get(name, 1)

    def place(self, name: str) -> str:
        """File and line of `name`: the origin of its value."""
        return f"{self.path}:{self.line(name)}"

    def stranger(self, base: Path | None) -> str:
        """Why a folder's file is not used: another user may have written it, or a link on the way leads out of `base`
        (None: it may lead anywhere). Else "".
        """
        if self.owner not in (None, 0, os.geteuid()):
            return "belongs to another user"
        return f"a link that leads out of {base}" if base is not None and leads_out(self.path, base) else ""


def leads_out(file: Path, base: Path) -> bool:
    """Whether a link on the way to `file` leads out of the folder `base`."""
    return not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(base))


def read(file: Path) -> TomlFile | None:
    """The content of `file`; None if it does not exist.

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
        return TomlFile(file, raw.decode("utf-8-sig").replace("\r\n", "\n"), found.st_uid, raw)
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


def _parsed(file: Path, text: str) -> dict[str, Any]:
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
            path = ".".join(filter(None, (table, _dotted(line.split("=", 1)[0]))))
        else:
            continue
        found[path] = number
    return found


def header(line: str) -> str | None:
    """The dotted name of a table, if the line is a table's header; else None."""
    found = _HEADER.match(line)
    return None if found is None else _dotted(found[1])


def _dotted(path: str) -> str:
    """A key as written in a file, without its quotes and blanks."""
    return ".".join(_unquoted(part) for part in path.strip().split("."))


def _unquoted(part: str) -> str:
    return part.strip().strip("\"'").replace('\\"', '"').replace("\\\\", "\\")


def flat(table: dict[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """The path and value of everything that is set. A known key ends a path, even if its value is a table."""
    for part, value in table.items():
        here = (*path, part)
        if isinstance(value, dict) and value and len(here) < 4 and not is_key(here):
            yield from flat(value, here)
        else:
            yield here, value
