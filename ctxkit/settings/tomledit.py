"""Changes one key of a config file's text; comments, order and formatting of everything else stay.

Pipeline: `log_config.py` reads a file under the sidecar's lock, changes its text here, and replaces it. A line that
`init` wrote commented out is filled in. The result is always read again and compared with the wanted settings: a file
that cannot be changed safely is not changed.
"""

from __future__ import annotations

import re
from typing import Any

from ctxkit.settings.keys import KeyPath, is_key
from ctxkit.settings.tomlread import flat, header

_COMMENTED = re.compile(
    r"""(\s*)\#\s?([\w-]+)\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]\#]*\]|[^\s\#"'\[]+)([ \t]*(?:\#.*)?)""", re.VERBOSE
)
"""A commented-out line: its indent, its key, and the text after its value."""


class CannotEdit(ValueError):
    """The file is TOML, but this key cannot be changed without changing something else."""


def with_key(text: str, path: KeyPath, value: Any) -> str:
    """`text` with `path` set to `value`. Raises CannotEdit."""
    wanted = _others(text, path) | {path: repr(value)}
    for made in (_uncommented(text, path, value), _set(text, path, value)):
        if made is not None and _settings(made) == wanted:
            return made
    raise CannotEdit


def without_key(text: str, path: KeyPath) -> str:
    """`text` without `path`; the header of an agent, or of a table that nobody knows, goes with its last key. Raises
    CannotEdit.
    """
    made = _unset(text, path)
    if made is None or made == text or _settings(made) != _others(text, path):
        raise CannotEdit
    return made


def toml(value: Any) -> str:
    """One value as it is written in a file."""
    import tomlkit

    return str(tomlkit.item(value).as_string())


def _settings(text: str) -> dict[KeyPath, str] | None:
    """What a text sets, without empty tables; types are told apart, as 1 is not true. None if it is not TOML."""
    import tomllib

    try:
        return {path: repr(value) for path, value in flat(tomllib.loads(text)) if value != {}}
    except tomllib.TOMLDecodeError:
        return None


def _others(text: str, path: KeyPath) -> dict[KeyPath, str]:
    """What a text sets besides `path` and what is below it."""
    return {other: value for other, value in (_settings(text) or {}).items() if other[: len(path)] != path}


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

    known = is_key(path) and path[0] != "agents"  # the table of an unknown key may be a mistake by itself
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
