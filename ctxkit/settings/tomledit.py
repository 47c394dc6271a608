"""Changes one key of a config file's text; comments, order and formatting of everything else stay.

Pipeline: `log_config.py` reads a file under the sidecar's lock, changes its text here, and replaces it. A line that
`init` wrote commented out is filled in. The result is always read again and compared with the wanted settings: a file
that cannot be changed safely is not changed.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from ctxkit.settings.keys import KeyPath, is_table
from ctxkit.settings.tomlread import header

_COMMENTED = re.compile(
    r"""(\s*)\#\s?([\w-]+)\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]\#]*\]|[^\s\#"'\[]+)([ \t]*(?:\#.*)?)""", re.VERBOSE
)
"""A commented-out line: its indent, its key, and the text after its value."""


class CannotEdit(ValueError):
    """The file is TOML, but this key cannot be changed without changing something else."""


def with_key(text: str, path: KeyPath, value: Any) -> str:
    """`text` with `path` set to `value`. Raises CannotEdit."""
    wanted = _wanted(text, path, value)
    for made in (_uncommented(text, path, value), _set(text, path, value)):
        if made is not None and _holds(made, wanted):
            return made
    raise CannotEdit


def without_key(text: str, path: KeyPath) -> str:
    """`text` without `path`; the header of an agent, or of a table that nobody knows, goes with its last key. Raises
    CannotEdit.
    """
    made = _unset(text, path)
    if made is None or not _holds(made, _wanted(text, path, None)) or _has(made, path):
        raise CannotEdit
    return made


def toml(value: Any) -> str:
    """One value as it is written in a file."""
    import tomlkit

    return str(tomlkit.item(value).as_string())


def _wanted(text: str, path: KeyPath, value: Any) -> dict[str, Any]:
    import tomllib

    found = tomllib.loads(text)
    at: Any = found
    for part in path[:-1]:
        at = at.setdefault(part, {}) if isinstance(at, dict) else None
        if not isinstance(at, dict):
            raise CannotEdit
    if value is None:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = deepcopy(value)
    return found


def _holds(text: str, wanted: dict[str, Any]) -> bool:
    import tomllib

    try:
        return bool(_pruned(tomllib.loads(text)) == _pruned(wanted))
    except tomllib.TOMLDecodeError:
        return False


def _has(text: str, path: KeyPath) -> bool:
    import tomllib

    at: Any = tomllib.loads(text)
    for part in path:
        if not isinstance(at, dict) or part not in at:
            return False
        at = at[part]
    return True


def _pruned(table: Any) -> Any:
    """The settings without empty tables, in a form that compares types too, as 1 is not true."""
    if not isinstance(table, dict):
        return [type(table).__name__, repr(table)]
    inner = {key: _pruned(value) for key, value in table.items()}
    return {key: value for key, value in inner.items() if value != {}}


def _uncommented(text: str, path: KeyPath, value: Any) -> str | None:
    """The text with the commented-out line of this key filled in; None if there is no such line."""
    table = ""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        above = header(line.lstrip("# "))
        if above is not None:
            table = above if line.lstrip()[:1] == "[" else "#"
            continue
        found = _COMMENTED.fullmatch(line)
        if found and ".".join(filter(None, (table, found[2]))) == ".".join(path):
            lines[i] = f"{found[1]}{found[2]} = {toml(value)}{found[3]}"
            return "\n".join(lines)
    return None


def _set(text: str, path: KeyPath, value: Any) -> str | None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        at: Any = document
        for depth, part in enumerate(path[:-1], 1):
            if part not in at:
                at[part] = tomlkit.table(is_super_table=depth < len(path) - 1)
            at = at[part]
        at[path[-1]] = value
        return _spaced(text, document.as_string())
    except (TOMLKitError, TypeError, KeyError, ValueError, RecursionError):
        return None


def _spaced(before: str, after: str) -> str:
    """The text `after` a change, with a blank line before a table that was added at the end."""
    if after.startswith(before) and before.strip():
        more = after[len(before) :].lstrip("\n")
        if more.startswith("["):
            return f"{before.rstrip()}\n\n{more}"
    return after


def _unset(text: str, path: KeyPath) -> str | None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    known = is_table(path[:-1]) and path[0] != "agents"  # the header of an unknown table is a mistake by itself
    try:
        document = tomlkit.parse(text)
        tables: list[Any] = [document]
        for part in path[:-1]:
            tables.append(tables[-1][part])
        del tables[-1][path[-1]]
        for depth in range(len(path) - 1, 0, -1):
            if known or len(tables[depth]) or (path[0] == "agents" and "#" in tables[depth].as_string()):
                break
            del tables[depth - 1][path[depth - 1]]
        made = str(document.as_string())
        return made if text.endswith("\n\n") else re.sub(r"\n+\Z", "\n", made)
    except (TOMLKitError, TypeError, KeyError, ValueError, RecursionError, AttributeError):
        return None
