"""Configuration: every key's value and where it comes from.

Pipeline: `Log` and the commands ask it for defaults of new decisions and views; it never changes what old ops
mean. Order: flag > environment > sidecar > nearest ctxkit.toml up the tree > user config > default. Keys: `keys.py`.
A folder's own files may be a stranger's: what must not be theirs is named in `notices` and ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.errors import BadConfig, NoPermission, ReadFailed, Usage
from ctxkit.store.keys import KEYS, Key

PREFIX = "CTXKIT_"
LARGEST = 1 << 20
"""Bytes; a config file is never larger, and a hostile one is not read further."""

_TABLE = {key.name: key for key in KEYS}
_AGENT = _TABLE["agents.NAME.window"]
_ON_OFF = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class Setting(NamedTuple):
    """A value, and its origin as people read it: `flag`, `CTXKIT_NOW`, `path:line`, `default`."""

    value: Any
    origin: str


class Config:
    """The settings in force. `config["window.min"]` is a value: durations in seconds (0 = off), percent as numbers."""

    def __init__(self) -> None:
        self.settings = {key.name: _default(key) for key in KEYS if key is not _AGENT}
        self.agents: dict[str, Setting] = {}
        self.notices: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.settings[name].value

    def origin(self, name: str) -> str:
        """Where the value of `name` comes from."""
        return self.settings[name].origin

    def agent_window(self, agent: str) -> int | None:
        """The window of one agent in seconds, 0 = off; None where none is set for it."""
        return self.agents[agent].value if agent in self.agents else None

    def set_flags(self, flags: Mapping[str, str]) -> None:
        """Lay what was typed on the command line over everything else: key -> text."""
        for name, text in flags.items():
            self._set(_key(name), name, _typed(_key(name), text), "flag", f"{name} on the command line")
        self._check()

    def _set(self, key: Key, name: str, value: Any, origin: str, place: str) -> None:
        try:
            setting = Setting(key.read(value), origin)
        except (ValueError, OverflowError) as error:
            raise BadConfig(f"{place}: {name} must be {error}", f"it is {_brief(value)}; {key.comment}") from error
        if key is _AGENT:
            self.agents[name.split(".", 1)[1].rsplit(".", 1)[0]] = setting
        else:
            self.settings[name] = setting

    def _check(self) -> None:
        """Values that must fit each other."""
        for low, high in (("window.min", "window.max"), ("status.yellow", "status.red")):
            if self[low] > self[high]:
                raise BadConfig(f"{self.origin(low)}: {low} is above {high} ({self.origin(high)})", "swap or raise it")


def load(
    sidecar_file: Path | None, folder: Path, env: Mapping[str, str], user_file: Path | None, *, strict: bool = False
) -> Config:
    """The config for a log in `folder`. Files that are not there are skipped.

    Raises BadConfig (file, line, nearest known key), NoPermission, ReadFailed; with `strict` also where a
    folder's own file sets a key that counts only from flags, environment and user config.
    """
    config = Config()
    around = (at / "ctxkit.toml" for at in (folder, *folder.absolute().parents))
    up = next(filter(_is_file, around), None)
    for file, own in ((user_file, True), (up, False), (sidecar_file, False)):
        if file is not None:
            _lay(config, file, own=own, strict=strict)
    for key in KEYS:
        variable = PREFIX + key.name.upper().replace(".", "_")
        if key is not _AGENT and env.get(variable):
            config._set(key, key.name, _typed(key, env[variable]), variable, variable)
    config._check()
    return config


def profile(name: str) -> str:
    """The text of a new sidecar's config.toml: every key with its comment, those of the profile set.

    `session` sets nothing; `persona` and `bot` have windows (8h, 24h) that slide with the clock. Raises Usage.
    """
    profiles = {"session": {}, "persona": {"now": "wall", "window.default": "8h"}}
    profiles["bot"] = {"now": "wall", "window.default": "24h"}
    if name not in profiles:
        raise Usage(f"no profile {name}", f"there are {', '.join(profiles)}")
    lines = [f"# ctxkit config of the log beside this folder, profile {name}. Uncomment a line to change it."]
    table = ""
    for key in KEYS:
        if key.trust == "never":
            continue
        head, _, leaf = key.name.rpartition(".")
        if head != table:
            table = head
            lines += ["", f"{'# ' if key is _AGENT else ''}[{head}]"]
        is_set = key.name in profiles[name]
        shown = profiles[name].get(key.name, key.example if key.default in (None, "") and key.example else key.default)
        lines.append(f"{'' if is_set else '# '}{leaf} = {_toml(shown)}  # {key.comment}")
    never = ", ".join(key.name for key in KEYS if key.trust == "never")
    return "\n".join([*lines, "", f"# Only in the user config, the environment or flags: {never}", ""])


def _default(key: Key) -> Setting:
    return Setting(None if key.default is None else key.read(key.default), "default")


def _lay(config: Config, file: Path, *, own: bool, strict: bool) -> None:
    """Lay one file over `config`."""
    text = _text_of(config, file, own=own)
    for name, value in _leaves(_parsed(file, text)):
        place = f"{file}:{_line_of(text, name)}"
        key = _key(name, place)
        if not own and not (isinstance(value, dict) or key.counts_from_folder(_checkable(key, value))):
            notice = f"{place}: {name} counts only from flags, environment and user config"
            if strict:
                raise BadConfig(notice, "remove it, or leave out --strict")
            config.notices.append(f"{notice}: ignored")
            continue
        config._set(key, name, value, place, place)


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except PermissionError:  # a folder above the log may be closed to us: what is in it is not ours to follow
        return False
    except OSError as error:
        raise ReadFailed(f"{file}: {error.strerror}", "nothing was changed") from error


def _checkable(key: Key, value: Any) -> Any:
    """A value of the right type for the question of trust; one of the wrong type is an error further on."""
    try:
        return key.read(value)
    except (ValueError, OverflowError):
        return "" if key.trust == "inside" else value


def _text_of(config: Config, file: Path, *, own: bool) -> str:
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if not own and os.fstat(stream.fileno()).st_uid not in (0, os.geteuid()):
                config.notices.append(f"{file}: belongs to another user: ignored")
                return ""
            raw = stream.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise BadConfig(f"{file}: larger than {LARGEST:,} bytes", "a config file is small")
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except PermissionError as error:
        raise NoPermission(f"{file}: cannot be read", "change its mode or owner") from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"{file}: not UTF-8 (byte {error.start})", "TOML is UTF-8") from error
    except OSError as error:
        raise ReadFailed(f"{file}: {error.strerror}", "nothing was changed") from error


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
        raise BadConfig(f"{file}:{line}: not TOML ({what})", 'text stands in quotes: now = "wall"') from error
    except (RecursionError, ValueError) as error:  # nesting and digits without end
        raise BadConfig(
            f"{file}: not TOML that can be read", "it is nested too deep, or holds too large a number"
        ) from error


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted name and value of everything set. A known key ends a name even where its value is a table."""
    for part, value in table.items():
        name = prefix + part
        if isinstance(value, dict) and name not in _TABLE and _agent(name) is None and prefix.count(".") < 3:
            yield from _leaves(value, name + ".")
            if not value and not any(known.startswith(name + ".") for known in _TABLE) and prefix != "agents.":
                yield name, value
        else:
            yield name, value


def _agent(name: str) -> str | None:
    found = re.fullmatch(r"agents\.(.+)\.window", name, re.S)
    return found[1] if found else None


def _key(name: str, place: str = "") -> Key:
    if name in _TABLE and name != _AGENT.name:
        return _TABLE[name]
    if _agent(name) is not None:
        return _AGENT

    import difflib

    start = f"{place}: " if place else ""
    below = [known for known in _TABLE if known.startswith(name + ".")]
    if below:
        raise BadConfig(f"{start}{name} is a table", f"its keys: {', '.join(below)}")
    near = difflib.get_close_matches(name, _TABLE, 1, 0.5)
    leaf = [known for known in _TABLE if known.rpartition(".")[2] == name.rpartition(".")[2]]
    hint = f"the nearest key is {(near or leaf)[0]}" if near or leaf else "ctxkit config LOG show lists all keys"
    raise BadConfig(f"{start}unknown key {name[:80]}", hint)


def _line_of(text: str, name: str) -> int:
    """The line that sets `name` (or its table): tomllib keeps no lines. 1 where it is written in some other way."""
    table, found = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        header = re.match(r"\s*\[+\s*(.+?)\s*\]+\s*(?:#.*)?$", line)
        if header:
            table = _dotted(header[1])
            path = table
        elif "=" in line:
            path = ".".join(filter(None, (table, _dotted(line.split("=", 1)[0]))))
        else:
            continue
        if name == path or name.startswith(path + "."):  # a table stands before its keys
            found = number
    return found


def _dotted(path: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in path.split("."))


def _typed(key: Key, text: str) -> Any:
    """Text from the environment or a flag as the value a file would hold; the wrong type is found by `read`."""
    if key.kind == "switch":
        return _ON_OFF.get(text.lower(), text)
    if key.kind == "texts":
        return [part.strip() for part in text.split(",") if part.strip()]
    if key.kind in ("number", "percent") and re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return int(text)
    return text


def _toml(value: Any) -> str:
    """A default or example as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _brief(value: Any) -> str:
    shown = "a table" if isinstance(value, dict) else repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"
